// Overrides in words: what each does, to whom, by whom, and what ends it.
//
// Pure functions; thread-safe.

#pragma once

#include <headgate/v1/override_service.pb.h>

#include <string>

namespace headgate::cli {

// "PAUSE", "THROTTLE".
std::string KindText(v1::OverrideKind kind);
bool Throttles(const v1::Override& override);
// "paused", "throttled by 80 %".
std::string DoneText(const v1::Override& override);
// "pause", "throttle": the command.
std::string VerbText(v1::OverrideKind kind);
// "PAUSE", "THROTTLE 80 %".
std::string What(const v1::Override& override);
// Whether it is an emergency stop.
bool IsStop(const v1::Override& override);

// "job:etl", "segment vcopier", "etl on main", "everything".
std::string SelectorText(const v1::Selector& selector);
// "override 3 on etl (paused by bob: freeze)".
std::string Mention(const v1::Override& override);

// The command that ends this override and nothing else, for a shell. `connection` is as
// Globals::connection has it: how the server is reached.
std::string UndoText(const v1::Override& override, const std::string& connection);

}  // namespace headgate::cli
