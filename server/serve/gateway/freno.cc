#include "server/serve/gateway/freno.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/url_text.h"
#include "common/utf8.h"
#include "server/serve/gateway/http_answer.h"
#include "server/serve/json/json_writer.h"
#include "server/serve/transport/error_status.h"

namespace headgate::gateway {
namespace {

constexpr std::string_view kPrefix = "/check/";

// Up to the next '/', which is taken too.
std::string_view TakePart(std::string_view& path) {
  const std::string_view part = path.substr(0, path.find('/'));
  path.remove_prefix(part.size());
  if (!path.empty()) path.remove_prefix(1);
  return part;
}

int StatusOf(const grpc::Status& status, const v1::Decision& decision) {
  constexpr int kGoOn = 200, kForbidden = 417, kNotNow = 429;
  if (!status.ok()) return HttpStatusOf(status);
  if (decision.verdict() == v1::VERDICT_ALLOWED) return kGoOn;
  const bool is_forbidden =
      decision.reason() == v1::REASON_DENY_RULE || decision.reason() == v1::REASON_REJECT_RATIO;
  return is_forbidden ? kForbidden : kNotNow;
}

}  // namespace

bool ReadFrenoPath(std::string_view path, v1::CheckRequest& check) {
  if (!path.starts_with(kPrefix)) return false;
  path.remove_prefix(kPrefix.size());
  const std::optional<std::string> app = DecodeUrl(TakePart(path));
  const std::string_view store_type = TakePart(path);
  const std::optional<std::string> store = DecodeUrl(TakePart(path));
  const bool has_all = app.has_value() && store.has_value() && !app->empty() && !store->empty() &&
                       !store_type.empty() && path.empty();
  if (!has_all) return false;
  check.Clear();
  check.set_identity(*app);
  check.set_target(*store);
  check.set_estimated_cost(0);
  check.set_validate_only(true);
  return true;
}

grpc::Status ValidateFreno(const v1::CheckRequest& check) {
  constexpr std::string_view kNoText = "is not printable UTF-8";
  if (FindBadByte(check.identity())) return transport::FieldError("identity", kNoText);
  if (FindBadByte(check.target())) return transport::FieldError("target", kNoText);
  return grpc::Status();
}

void FillFrenoAnswer(const grpc::Status& status, const v1::Decision& decision,
                     http::Response& response) {
  response.status = StatusOf(status, decision);
  if (decision.has_retry_after()) response.retry_after_s = WholeSeconds(decision.retry_after());
  const std::string& message = status.ok() ? decision.message() : status.error_message();
  absl::StrAppend(&response.body, "{\"StatusCode\":", response.status, ",\"Value\":");
  json::AppendNumber(status.ok() ? decision.health().pressure() : 0, response.body);
  response.body += ",\"Threshold\":1,\"Message\":";
  json::AppendText(message, response.body);
  response.body += "}";
}

}  // namespace headgate::gateway
