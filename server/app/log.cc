#include "server/app/log.h"

#include <grpc/support/log.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>

#include "server/app/json_members.h"
#include "server/app/text_line.h"

namespace headgate::app {
namespace {

// Set once, before the first line.
bool as_json = false;

void Log(spdlog::level::level_enum level, std::string_view event, LogFields fields) {
  if (!spdlog::should_log(level)) return;
  spdlog::log(level, "{}", as_json ? JsonMembers(event, fields) : TextLine(event, fields));
}

// Set once, before gRPC is told of LogOfGrpc.
spdlog::level::level_enum grpc_level = spdlog::level::debug;

// gRPC calls it with locks of its own held.
void LogOfGrpc(gpr_log_func_args* entry) { Log(grpc_level, "grpc", {{"message", entry->message}}); }

}  // namespace

void SetUpLog(std::string_view level, LogFormat format) {
  auto logger = std::make_shared<spdlog::logger>("headgate",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  as_json = format == LogFormat::kJson;
  logger->set_pattern(
      as_json ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v",
      spdlog::pattern_time_type::utc);
  const auto known = spdlog::level::from_str(std::string(level));
  logger->set_level(known == spdlog::level::off ? spdlog::level::info : known);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  if (std::getenv("GRPC_VERBOSITY") != nullptr) grpc_level = spdlog::level::info;
  gpr_set_log_function(LogOfGrpc);
}

void LogInfo(std::string_view event, LogFields fields) { Log(spdlog::level::info, event, fields); }
void LogWarning(std::string_view event, LogFields fields) {
  Log(spdlog::level::warn, event, fields);
}
void LogError(std::string_view event, LogFields fields) { Log(spdlog::level::err, event, fields); }

}  // namespace headgate::app
