#include "server/serve/rpc/access_status.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::rpc {
namespace {

grpc::StatusCode CodeOf(const access::Refusal& refusal) {
  return refusal.reason == access::RefusalReason::kUnauthenticated
             ? grpc::StatusCode::UNAUTHENTICATED
             : grpc::StatusCode::PERMISSION_DENIED;
}

std::string TextOf(const access::Refusal& refusal) {
  return refusal.field.empty() ? refusal.text : absl::StrCat(refusal.field, ": ", refusal.text);
}

}  // namespace

grpc::Status ToGrpcStatus(const access::Refusal& refusal) {
  google::rpc::Status status;
  status.set_code(static_cast<int>(CodeOf(refusal)));
  status.set_message(TextOf(refusal));
  google::rpc::ErrorInfo info;
  info.set_reason(refusal.code);
  info.set_domain("headgate");
  auto& metadata = *info.mutable_metadata();
  if (!refusal.caller.empty()) metadata["caller"] = refusal.caller;
  metadata["missing"] = refusal.missing;
  status.add_details()->PackFrom(info);
  return {CodeOf(refusal), status.message(), status.SerializeAsString()};
}

void FillError(const access::Refusal& refusal, std::string_view path, v1::Error& error) {
  error.set_code(static_cast<int>(CodeOf(refusal)));
  error.set_message(TextOf(refusal));
  error.set_field(refusal.field.empty() ? std::string(path)
                                        : absl::StrCat(Sv(path), ".", refusal.field));
}

}  // namespace headgate::rpc
