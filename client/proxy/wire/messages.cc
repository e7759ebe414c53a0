#include "client/proxy/wire/messages.h"

#include "client/proxy/wire/big_endian.h"

namespace headgate::proxy {
namespace {

constexpr size_t kMinKeyDataBytes = 8;

// A message of this type, around its body.
std::string Message(char type, std::string_view body) {
  std::string message(1, type);
  AppendUint32(static_cast<uint32_t>(sizeof(uint32_t) + body.size()), message);
  message.append(body);
  return message;
}

// Zeros end fields, so none is inside of one.
void AddField(char code, std::string_view text, std::string& body) {
  body.push_back(code);
  body.append(text.substr(0, text.find('\0')));
  body.push_back('\0');
}

}  // namespace

std::optional<TransactionStatus> StatusOfReady(std::string_view body) {
  if (body.size() != 1) return std::nullopt;
  const auto status = static_cast<TransactionStatus>(body[0]);
  switch (status) {
    case TransactionStatus::kIdle:
    case TransactionStatus::kInTransaction:
    case TransactionStatus::kFailed:
      return status;
  }
  return std::nullopt;
}

std::optional<CancelKey> KeyOf(std::string_view body) {
  if (body.size() < kMinKeyDataBytes || body.size() > kMaxKeyDataBytes) return std::nullopt;
  return CancelKey{.process = ReadUint32(body),
                   .secret = std::string(body.substr(sizeof(uint32_t)))};
}

std::string_view StatementOf(char type, std::string_view body) {
  if (type == kParse) {
    // After the prepared statement's name.
    const size_t end = body.find('\0');
    if (end == std::string_view::npos) return {};
    body.remove_prefix(end + 1);
  } else if (type != kQuery) {
    return {};
  }
  return body.substr(0, body.find('\0'));
}

std::string ErrorResponse(const ErrorFields& fields) {
  std::string body;
  const std::string_view severity = fields.ends_session ? "FATAL" : "ERROR";
  AddField('S', severity, body);
  AddField('V', severity, body);  // the same, in no language
  AddField('C', fields.sqlstate, body);
  AddField('M', fields.message, body);
  if (!fields.detail.empty()) AddField('D', fields.detail, body);
  if (!fields.hint.empty()) AddField('H', fields.hint, body);
  body.push_back('\0');
  return Message(kErrorResponse, body);
}

std::string ReadyForQuery(TransactionStatus status) {
  const char body = static_cast<char>(status);
  return Message(kReadyForQuery, std::string_view(&body, 1));
}

std::string CancelRequest(const CancelKey& key) {
  std::string request;
  AppendUint32(static_cast<uint32_t>(3 * sizeof(uint32_t) + key.secret.size()), request);
  AppendUint32(kCancelCode, request);
  AppendUint32(key.process, request);
  request.append(key.secret);
  return request;
}

std::string_view SqlStateOf(const absl::Status& refused) {
  switch (refused.code()) {
    case absl::StatusCode::kUnimplemented:
      return "0A000";
    case absl::StatusCode::kUnauthenticated:
      return "28000";
    default:
      return "08P01";
  }
}

}  // namespace headgate::proxy
