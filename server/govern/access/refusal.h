// That somebody may not do something, and why.
//
// Plain data.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headgate::access {

// What is counted: headgate_access_denied_total{reason}.
enum class RefusalReason : uint8_t {
  kUnauthenticated,  // nobody that is known
  kIdentity,         // speaks for an identity that it is not granted
  kTag,              // claims a tag, or a segment, that is protected
  kOverrides,        // whichever of the grants for them is missing
  kLogs,
  kStatus,
  kPermit,  // reports a permit that is not its own, or none
  kCosts,
  kForgive,
  kServers,
  kAgent,
};
inline constexpr size_t kRefusalReasons = 11;

using RefusalCounts = std::array<uint64_t, kRefusalReasons>;  // by reason

// "unauthenticated", "identity", "tag", "overrides", "logs", "status", "permit", "costs",
// "forgive", "servers" or "agent".
std::string_view ReasonLabel(RefusalReason reason);

struct Refusal {
  RefusalReason reason = RefusalReason::kUnauthenticated;
  // UPPER_SNAKE_CASE, for programs: "IDENTITY_NOT_GRANTED".
  const char* code = "";
  std::string caller = {};   // its name; empty: not known
  std::string missing = {};  // what would have to be granted, or presented
  std::string field = {};    // of the request; empty: it is about none
  std::string text = {};     // for a person, one line, of bounded length
};

// Text of a caller's for a message: escaped, at most 100 bytes of it, in single quotes.
std::string Quoted(std::string_view text);

}  // namespace headgate::access
