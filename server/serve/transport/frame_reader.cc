#include "server/serve/transport/frame_reader.h"

#include <algorithm>

namespace headgate::transport {

FrameReader::Found FrameReader::Next(std::string_view& bytes) {
  if (left_ > 0) {
    part_ = bytes.substr(0, left_);
    bytes.remove_prefix(part_.size());
    left_ -= static_cast<uint32_t>(part_.size());
    return Found::kPart;
  }
  const size_t some = std::min(kHeadBytes - head_bytes_, bytes.size());
  std::copy_n(bytes.begin(), some, bytes_of_head_.begin() + static_cast<ptrdiff_t>(head_bytes_));
  bytes.remove_prefix(some);
  head_bytes_ += some;
  if (head_bytes_ < kHeadBytes) return Found::kNothing;
  head_bytes_ = 0;
  const auto& b = bytes_of_head_;
  head_.size = uint32_t{b[0]} << 16 | uint32_t{b[1]} << 8 | b[2];
  head_.type = b[3];
  head_.flags = b[4];
  // The highest bit is reserved.
  head_.stream = (uint32_t{b[5]} & 0x7f) << 24 | uint32_t{b[6]} << 16 | uint32_t{b[7]} << 8 | b[8];
  left_ = head_.size;
  return Found::kHead;
}

}  // namespace headgate::transport
