// What the databases that a configuration names say when they are asked: for `headgate config
// check`, before a server is started with it.
//
// A database that is not reached from here, or whose secret is not here, says nothing: the file may
// be meant for another machine. One that answers, and is a pooler, refuses the role or is the wrong
// server, is a warning.
//
// Blocks for about `timeout`, however many there are and whatever they do. Thread-safe.
//
//   for (const std::string& warning : AskDatabases(config, absl::Seconds(2), clock)) ...

#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "server/govern/config/config.h"

namespace headgate::app {

// One line each, without control characters, such as "target main, primary: ...", in the
// configuration's order.
std::vector<std::string> AskDatabases(const config::Config& config, absl::Duration timeout,
                                      Clock& clock);

}  // namespace headgate::app
