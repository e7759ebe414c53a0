// The server's log: one line for each event, on standard error.
//
// Text from outside (names in a configuration, messages of a database) is escaped, so that nobody
// can write lines of their own. Thread-safe.
//
//   SetUpLog("info");
//   LogInfo("configuration loaded", {{"path", path}, {"version", absl::StrCat(version)}});

#ifndef HEADGATE_SERVER_APP_LOG_H_
#define HEADGATE_SERVER_APP_LOG_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace headgate::app {

using LogFields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Call it once. Levels: "debug", "info", "warning" or "error"; anything else is "info".
//
// What gRPC itself says is of level debug, since our own errors say it too; of level info if the
// environment has GRPC_VERBOSITY.
void SetUpLog(std::string_view level);

void LogInfo(std::string_view event, LogFields fields = {});
void LogWarning(std::string_view event, LogFields fields = {});
void LogError(std::string_view event, LogFields fields = {});

}  // namespace headgate::app

#endif  // HEADGATE_SERVER_APP_LOG_H_
