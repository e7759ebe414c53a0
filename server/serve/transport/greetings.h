// Greetings: the connections that are at the handshake of TLS, of which there are so many at most.
//
// Where another one comes, that goes which has been at it longest: an honest one takes some
// milliseconds, and who dawdles makes room.
//
// Thread-compatible. Adding one takes microseconds.
//
//   if (auto longest = greetings.Add(fd, is_over)) End(*longest);

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace headgate::transport {

class Greetings {
 public:
  // Becomes true when the handshake is over, or the connection closed.
  using IsOver = std::shared_ptr<const std::atomic<bool>>;

  explicit Greetings(size_t most) : most_(most) {}

  // Who is to go for the new one; it is none of them any more.
  std::optional<int> Add(int fd, IsOver is_over);
  // As of the last Add.
  size_t count() const { return under_way_.size(); }

 private:
  const size_t most_;
  std::vector<std::pair<int, IsOver>> under_way_;  // the longest first
};

}  // namespace headgate::transport
