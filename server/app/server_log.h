// The server's log: one line for each event, on standard error, as text or as a JSON object with
// `ts` (RFC 3339, UTC), `level`, `event` and each field under its own name.
//
// Text from outside (names in a configuration, messages of a database) is escaped, so that nobody
// can write lines of their own.
//
// Nobody waits for a line to be written: up to 1,024 of them wait for whoever reads standard error.
// Beyond that the oldest are dropped, and a line says how many. Thread-safe.
//
//   SetUpLog("info", LogFormat::kText);
//   LogInfo("configuration loaded", {{"path", path}, {"version", absl::StrCat(version)}});

#pragma once

#include <unistd.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace headgate::app {

enum class LogFormat : uint8_t { kText, kJson };

// No field is named as one of the first three.
using LogField = std::pair<std::string_view, std::string_view>;
using LogFields = absl::Span<const LogField>;

// Call it once; before that, nothing is written. Levels: "debug", "info", "warning" or "error";
// anything else is "info". `file` is an open descriptor, to be left open.
//
// What gRPC itself says is of level debug, since our own errors say it too; of level info if the
// environment has GRPC_VERBOSITY.
void SetUpLog(std::string_view level, LogFormat format, int file = STDERR_FILENO);

// Whether what was said is written or dropped, after so long at most. Without it the last lines
// are lost when the process ends.
bool FlushLog(absl::Duration limit);

void LogInfo(std::string_view event, LogFields fields = {});
void LogWarning(std::string_view event, LogFields fields = {});
void LogError(std::string_view event, LogFields fields = {});

}  // namespace headgate::app
