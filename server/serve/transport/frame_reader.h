// FrameReader: where the frames of an HTTP/2 connection begin and end, in one direction, as its
// bytes come in parts of any size. It keeps nothing of them but the head of a frame.
//
// Thread-compatible. Some nanoseconds for each frame, and none for what is in it.
//
//   while (!bytes.empty()) {
//     switch (reader.Next(bytes)) {
//       case FrameReader::Found::kNothing: break;  // a part of a head
//       case FrameReader::Found::kHead: ... reader.head(), reader.IsAtEnd() if it is empty ...
//       case FrameReader::Found::kPart: ... reader.part(), reader.IsAtEnd() ...
//     }
//   }

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headgate::transport {

// RFC 9113, 4.1.
struct FrameHead {
  // Those that matter here.
  static constexpr uint8_t kData = 0;
  static constexpr uint8_t kHeaders = 1;
  static constexpr uint8_t kReset = 3;
  static constexpr uint8_t kContinuation = 9;
  static constexpr uint8_t kEndStream = 0x1;
  static constexpr uint8_t kEndHeaders = 0x4;
  static constexpr uint8_t kHasPriority = 0x20;

  uint32_t size = 0;  // bytes, without the head
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
};

class FrameReader {
 public:
  enum class Found { kNothing, kHead, kPart };

  // Takes what it found off the bytes, of which there are some.
  Found Next(std::string_view& bytes);

  const FrameHead& head() const { return head_; }
  // Of what is in the frame, until the next call.
  std::string_view part() const { return part_; }
  bool IsAtEnd() const { return left_ == 0; }

 private:
  static constexpr size_t kHeadBytes = 9;

  std::array<uint8_t, kHeadBytes> bytes_of_head_ = {};
  size_t head_bytes_ = 0;  // of them, so many have come
  FrameHead head_;
  uint32_t left_ = 0;  // bytes that are still to come of what is in the frame
  std::string_view part_;
};

}  // namespace headgate::transport
