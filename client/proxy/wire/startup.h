// The first packet of a connection to PostgreSQL: a session, with what it says of itself, a cancel
// request, or the question whether the connection can be encrypted.
//
// Immutable plain data and a pure function. Errors are those that PostgreSQL itself has for such a
// packet; SqlStateOf (messages.h) says with which code.
//
//   absl::StatusOr<std::optional<Startup>> startup = ReadStartup(buffered);
//   if (startup.ok() && startup->has_value() && (*startup)->kind == Startup::Kind::kSession) ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace headgate::proxy {

// What a cancel request names a session by: from BackendKeyData.
struct CancelKey {
  uint32_t process = 0;
  std::string secret;  // 4 bytes, or up to 256 in protocol 3.2

  friend bool operator==(const CancelKey&, const CancelKey&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const CancelKey& key) {
    return H::combine(std::move(state), key.process, key.secret);
  }
};

struct Startup {
  enum class Kind : uint8_t { kSession, kCancel, kSslRequest, kGssRequest };

  Kind kind = Kind::kSession;
  size_t size = 0;  // of the packet, in bytes
  // Of a session: in the order in which they came; a later one of a name counts.
  std::vector<std::pair<std::string, std::string>> parameters;
  CancelKey key;  // of a cancel request

  // Empty where it is not there.
  std::string_view Parameter(std::string_view name) const;
  // A walsender's, physical or logical: what follows is not what this room knows.
  bool IsReplication() const;
};

// In place of a version, whose first half is 1234.
inline constexpr uint32_t kCancelCode = 80'877'102;
// The longest that PostgreSQL takes.
inline constexpr size_t kMaxStartupBytes = 10'000;

// What the buffered bytes begin with; none: more are needed. InvalidArgument: it is no such packet;
// Unimplemented: of another version of the protocol; Unauthenticated: it names no user.
absl::StatusOr<std::optional<Startup>> ReadStartup(std::string_view bytes);

}  // namespace headgate::proxy
