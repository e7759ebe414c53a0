#include "client/proxy/wire/startup.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/proxy/wire/big_endian.h"
#include "common/strings.h"

namespace headgate::proxy {
namespace {

// In place of a version, as that of a cancel request.
constexpr uint32_t kSslCode = 80'877'103;
constexpr uint32_t kGssCode = 80'877'104;
constexpr uint32_t kMajorVersion = 3;

constexpr size_t kHeaderBytes = 8;  // length and code
constexpr size_t kMinKeyBytes = 4, kMaxKeyBytes = 256;

absl::Status BadLayout() {
  return absl::InvalidArgumentError(
      "invalid startup packet layout: expected terminator as last byte");
}

// What stands up to the next zero, which is passed as well; none: there is no zero.
std::optional<std::string_view> TakeText(std::string_view& bytes) {
  const size_t end = bytes.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view text = bytes.substr(0, end);
  bytes.remove_prefix(end + 1);
  return text;
}

absl::Status ReadParameters(std::string_view body, Startup& startup) {
  for (;;) {
    const std::optional<std::string_view> name = TakeText(body);
    if (!name.has_value()) return BadLayout();
    if (name->empty()) break;
    const std::optional<std::string_view> value = TakeText(body);
    if (!value.has_value()) return BadLayout();
    startup.parameters.emplace_back(*name, *value);
  }
  if (!body.empty()) return BadLayout();
  if (startup.Parameter("user").empty()) {
    return absl::UnauthenticatedError("no PostgreSQL user name specified in startup packet");
  }
  return absl::OkStatus();
}

absl::Status ReadCancelKey(std::string_view body, Startup& startup) {
  const size_t secret = body.size() < sizeof(uint32_t) ? 0 : body.size() - sizeof(uint32_t);
  if (secret < kMinKeyBytes || secret > kMaxKeyBytes) {
    return absl::InvalidArgumentError("invalid length of a cancel request");
  }
  startup.key = {.process = ReadUint32(body), .secret = std::string(body.substr(4))};
  return absl::OkStatus();
}

absl::Status ReadBody(uint32_t code, std::string_view body, Startup& startup) {
  switch (code) {
    case kCancelCode:
      startup.kind = Startup::Kind::kCancel;
      return ReadCancelKey(body, startup);
    case kSslCode:
    case kGssCode:
      startup.kind = code == kSslCode ? Startup::Kind::kSslRequest : Startup::Kind::kGssRequest;
      if (body.empty()) return absl::OkStatus();
      return absl::InvalidArgumentError("invalid length of a request for encryption");
    default:
      break;
  }
  if (code >> 16 != kMajorVersion) {
    return absl::UnimplementedError(absl::StrCat("unsupported frontend protocol ", code >> 16, ".",
                                                 code & 0xffff, ": this proxy relays 3.x"));
  }
  return ReadParameters(body, startup);
}

}  // namespace

std::string_view Startup::Parameter(std::string_view name) const {
  std::string_view value;
  for (const auto& [key, found] : parameters) {
    if (key == name) value = found;
  }
  return value;
}

bool Startup::IsReplication() const {
  const std::string value = absl::AsciiStrToLower(Sv(Parameter("replication")));
  return !value.empty() && value != "false" && value != "off" && value != "no" && value != "0";
}

absl::StatusOr<std::optional<Startup>> ReadStartup(std::string_view bytes) {
  if (bytes.size() < sizeof(uint32_t)) return std::nullopt;
  const uint32_t size = ReadUint32(bytes);
  if (size < kHeaderBytes || size > kMaxStartupBytes) {
    return absl::InvalidArgumentError("invalid length of startup packet");
  }
  if (bytes.size() < size) return std::nullopt;
  Startup startup{.size = size, .parameters = {}, .key = {}};
  const absl::Status read = ReadBody(ReadUint32(bytes, sizeof(uint32_t)),
                                     bytes.substr(kHeaderBytes, size - kHeaderBytes), startup);
  if (!read.ok()) return read;
  return startup;
}

}  // namespace headgate::proxy
