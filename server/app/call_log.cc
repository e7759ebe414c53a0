#include "server/app/call_log.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace headgate::app {

using grpc::StatusCode;

void CallLog::OnFailed(const Call& call, const grpc::Status& status) {
  const StatusCode code = status.error_code();
  const std::string message = status.error_message();
  const Fields fields = {{"code", transport::CodeName(static_cast<size_t>(code))},
                         {"error", message}};
  switch (code) {
    case StatusCode::CANCELLED:
      return;
    case StatusCode::INTERNAL:
    case StatusCode::UNKNOWN:
    case StatusCode::DATA_LOSS:
      return WriteLine(failed_, LogError, "call failed", call, fields);
    case StatusCode::RESOURCE_EXHAUSTED:
      return WriteLine(full_, LogWarning, "call refused", call, fields);
    default:
      return WriteLine(refused_, LogInfo, "call refused", call, fields);
  }
}

void CallLog::OnSlow(const Call& call, absl::Duration took) {
  const std::string seconds = absl::StrCat(absl::ToDoubleSeconds(took));
  WriteLine(slow_, LogWarning, "slow call", call, {{"seconds", seconds}});
}

void CallLog::OnUnguarded(const Call& call, transport::Encryption encryption) {
  const bool is_tls = encryption == transport::Encryption::kTls;
  LogError(
      "headers are not bounded",
      {{"encryption", is_tls ? "tls" : "none"},
       {"peer", call.peer},
       {"error", "what gRPC reads is not seen, as it was built in another way than is known"}});
}

void CallLog::OnChange(const Call& call, std::string_view event, Fields fields) {
  WriteLine(changes_, LogInfo, event, call, fields);
}

void CallLog::WriteLine(LogLineLimit& limit, Write write, std::string_view event, const Call& call,
                        Fields fields) {
  const std::optional<int64_t> before = limit.Admit(clock_.Read().monotonic_ns);
  if (!before.has_value()) return;
  const std::string suppressed = absl::StrCat(*before);
  std::vector<LogField> all(fields.begin(), fields.end());
  all.insert(all.end(),
             {{"method", call.method}, {"request_id", call.request_id}, {"peer", call.peer}});
  if (*before > 0) all.emplace_back("suppressed", suppressed);
  write(event, all);
}

int64_t CallLog::suppressed() const {
  int64_t sum = 0;
  for (const LogLineLimit* limit : {&failed_, &full_, &refused_, &slow_, &changes_}) {
    sum += limit->suppressed();
  }
  return sum;
}

}  // namespace headgate::app
