#include "server/serve/transport/tls_greeting.h"

#include <algorithm>

namespace headgate::transport {
namespace {

constexpr uint8_t kApplicationData = 23;  // RFC 8446, 5.1; the same in TLS 1.2

}  // namespace

bool TlsGreeting::Receive(std::string_view bytes) {
  while (!has_ended_ && !bytes.empty()) {
    if (left_ > 0) {
      const size_t some = std::min(left_, bytes.size());
      bytes.remove_prefix(some);
      left_ -= some;
      continue;
    }
    head_[head_bytes_++] = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    if (head_bytes_ < kHeadBytes) continue;
    head_bytes_ = 0;
    left_ = size_t{head_[3]} << 8 | head_[4];
    has_ended_ = head_[0] == kApplicationData;
  }
  if (has_ended_) End();
  return true;
}

}  // namespace headgate::transport
