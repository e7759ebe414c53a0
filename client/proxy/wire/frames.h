// One direction of a session after its first packet: where messages begin and end.
//
// Messages are relayed and not rebuilt: of each, only type and length are read, and the beginning
// of what is asked for. So a row of a gigabyte passes through a buffer of any size, and a message
// that this does not know passes unread.
//
// Thread-compatible. Borders are found in what is buffered: at a border `Next` looks at the message
// that begins there, and the caller may hold it back; then `Pass` counts what was passed on.
//
//   while (!buffered.empty()) {
//     if (frames.left() == 0) {
//       absl::StatusOr<std::optional<Frame>> frame = frames.Next(buffered);
//       if (!frame.ok() || !frame->has_value()) break;  // an error, or more bytes are needed
//       ... may it pass? ...
//       frames.Begin(**frame);
//     }
//     const std::string_view passed = frames.Pass(buffered);
//     ... send it ...
//   }

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace headgate::proxy {

enum class Sender : uint8_t { kClient, kServer };

struct Frame {
  char type = 0;
  size_t size = 0;        // with its type and length
  std::string_view body;  // the beginning, as much as is looked at; a view into what was buffered
};

class Frames {
 public:
  static constexpr size_t kHeaderBytes = 5;
  // Of a statement's text, for its tags and its pattern.
  static constexpr size_t kMaxStatementBytes = 16'384;
  // The most that a caller has to buffer before it is told what begins there.
  static constexpr size_t kMaxLookedAt = kHeaderBytes + kMaxStatementBytes;

  explicit Frames(Sender sender) : sender_(sender) {}

  // Bytes of the message under way that are yet to be passed; 0: at a border.
  size_t left() const { return left_; }
  // At a border: the message that begins there; none: more bytes are needed to tell.
  // InvalidArgument: no message has such a length.
  absl::StatusOr<std::optional<Frame>> Next(std::string_view bytes) const;
  void Begin(const Frame& frame) { left_ = frame.size; }
  // Takes what is there of the message under way, and returns it.
  std::string_view Pass(std::string_view& bytes) {
    const std::string_view passed = bytes.substr(0, std::min(left_, bytes.size()));
    bytes.remove_prefix(passed.size());
    left_ -= passed.size();
    return passed;
  }

 private:
  // How much of such a message's body is looked at.
  size_t LookedAt(char type) const;

  const Sender sender_;
  size_t left_ = 0;
};

}  // namespace headgate::proxy
