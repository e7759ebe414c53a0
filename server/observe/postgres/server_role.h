// What a server of a replicated cluster is, and what is said where it is not what it should be.
//
// Pure: thread-safe.
//
//   if (IsStandby(role) != in_recovery) return WrongRole(role);
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace headgate::postgres {

enum class ServerRole : uint8_t { kPrimary, kStandby };

inline bool IsStandby(ServerRole role) { return role == ServerRole::kStandby; }

// FailedPrecondition, about a server that is the other one.
inline absl::Status WrongRole(ServerRole expected) {
  return absl::FailedPreconditionError(
      IsStandby(expected) ? "the server is a primary, where a standby is expected"
                          : "the server is a standby, where the primary is expected");
}

}  // namespace headgate::postgres
