#include "server/serve/rpc/errors.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/serve/transport/error_status.h"

namespace headgate::rpc {
namespace {

using transport::Fault;

bool IsFieldByte(char c) {
  return absl::ascii_islower(static_cast<unsigned char>(c)) ||
         absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_' || c == '[' || c == ']' ||
         c == '.';
}

// "tags[2]" by the key of that tag.
void NameTag(absl::Span<const engine::Tag> tags, Fault& fault) {
  size_t place = 0;
  const std::string_view field = fault.field;
  if (!field.starts_with("tags[") || !field.ends_with("]")) return;
  if (!absl::SimpleAtoi(Sv(field.substr(5, field.size() - 6)), &place)) return;
  if (place < tags.size()) {
    fault.what = absl::StrCat("'", transport::Clip(tags[place].key), "': ", fault.what);
  }
  fault.field = "tags";
}

Fault Split(const absl::Status& status, const Subject& subject) {
  const std::string_view text(status.message().data(), status.message().size());
  size_t end = 0;
  while (end < text.size() && IsFieldByte(text[end])) ++end;
  Fault fault{"", std::string(text)};
  if (text.substr(end).starts_with(": ")) {
    fault = {std::string(text.substr(0, end)), std::string(text.substr(end + 2))};
    NameTag(subject.tags, fault);
  } else if (text.substr(0, end) == "identity") {
    fault.field = "identity";  // its errors are sentences
  }
  return fault;
}

std::string PathOf(const Fault& fault, const Subject& subject) {
  if (fault.field.empty() || subject.path.empty()) return fault.field;
  return absl::StrCat(Sv(subject.path), ".", fault.field);
}

std::string ReasonOf(absl::StatusCode code, const Fault& fault) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return "INVALID_FIELD";
    case absl::StatusCode::kNotFound:
      return absl::StrCat("UNKNOWN_", absl::AsciiStrToUpper(fault.field));
    case absl::StatusCode::kResourceExhausted:
      return fault.field.empty() ? "TOO_MANY_PERMITS" : "TOO_MANY_WATCHES";
    case absl::StatusCode::kFailedPrecondition:
      return "POLICY";
    case absl::StatusCode::kUnavailable:
      return "UNAVAILABLE";
    default:
      return "INTERNAL";
  }
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status, const Subject& subject) {
  Fault fault = Split(status, subject);
  const std::string reason = ReasonOf(status.code(), fault);
  fault.field = PathOf(fault, subject);
  return transport::MakeStatus(status.code(), reason, fault);
}

grpc::Status ChangeToGrpcStatus(const absl::Status& status) {
  if (absl::IsUnavailable(status)) {
    return transport::Failure(status.code(), "STORE", std::string(status.message()));
  }
  return ToGrpcStatus(status, {});
}

void FillError(const absl::Status& status, const Subject& subject, v1::Error& error) {
  const Fault fault = Split(status, subject);
  error.set_code(static_cast<int>(status.code()));
  error.set_message(transport::Clip(transport::Joined(fault)));
  error.set_field(PathOf(fault, subject));
}

grpc::Status OwnerChanged() {
  return transport::Failure(absl::StatusCode::kUnavailable, "OWNER_CHANGED",
                            "another server decides for this target from now on: ask again");
}

bool IsOwnerChanged(const grpc::Status& status) {
  static const std::string details = OwnerChanged().error_details();
  return status.error_details() == details;
}

}  // namespace headgate::rpc
