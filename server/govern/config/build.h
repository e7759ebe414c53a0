// From a message that fits the schema to a Config that makes sense.
//
// Names must exist, numbers be in range, alternatives be chosen; where the engine has rules of its
// own it is asked. Whatever is wrong is said at its place in the file, all of it. The result is of
// use only if nothing was wrong, neither here nor while the message was read.

#pragma once

#include <headgate/v1/config.pb.h>

#include "absl/time/time.h"
#include "server/govern/config/config.h"
#include "server/govern/config/findings.h"
#include "server/govern/config/load.h"

namespace headgate::config {

struct BuildOptions {
  OtherFiles other_files = OtherFiles::kIgnored;
  absl::Time now = absl::InfinitePast();  // what has expired by then is warned of
};

Config BuildConfig(const v1::Config& proto, Findings& findings, const BuildOptions& options);

}  // namespace headgate::config
