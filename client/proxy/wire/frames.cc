#include "client/proxy/wire/frames.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/proxy/wire/big_endian.h"
#include "client/proxy/wire/messages.h"

namespace headgate::proxy {

size_t Frames::LookedAt(char type) const {
  if (sender_ == Sender::kClient) {
    return type == kQuery || type == kParse ? kMaxStatementBytes : 0;
  }
  switch (type) {
    case kReadyForQuery:
      return 1;
    case kAuthentication:
      return 4;
    case kBackendKeyData:
      return kMaxKeyDataBytes;
    case kCommandComplete:
      return kMaxCommandBytes;
    default:
      return 0;
  }
}

absl::StatusOr<std::optional<Frame>> Frames::Next(std::string_view bytes) const {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  const uint32_t length = ReadUint32(bytes, 1);
  // PostgreSQL has it signed.
  if (length < sizeof(uint32_t) || length > uint32_t{INT32_MAX}) {
    return absl::InvalidArgumentError(
        absl::StrCat("invalid message length ", length, " of a message of type ",
                     static_cast<int>(static_cast<uint8_t>(bytes[0]))));
  }
  Frame frame{.type = bytes[0], .size = size_t{1} + length, .body = {}};
  const size_t looked_at = std::min(frame.size - kHeaderBytes, LookedAt(frame.type));
  if (bytes.size() - kHeaderBytes < looked_at) return std::nullopt;
  frame.body = bytes.substr(kHeaderBytes, looked_at);
  return frame;
}

}  // namespace headgate::proxy
