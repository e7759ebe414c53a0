// The bytes of a snapshot.
//
//   header, 80 bytes:  magic  version  header size  body size  checksum of the body
//                      wall time  monotonic time  boot id  probe of the hash  checksum of the
//                      header
//   body:              seed, policy, dice; clocks; ledgers; permits; holders; requests; patterns;
//                      reported debts; what the controllers of auto budgets learnt
//
// Little-endian, without padding; checksums are XXH3 with 64 bits. Each list is a count and its
// items. A version is read only by the release that writes it: what the numbers mean belongs to the
// engine, and a guess at a debt is worth less than a clean start. Permits that are leases say so in
// what they teach: a release that knows no leases refuses a file that has any.
//
// Decode believes nothing: counts are held against the bytes that are there before memory is taken,
// and engine::Validate has the last word. Pure functions, but for the buffer that Encode reuses.
//
//   Encoded encoded;
//   Encode(state, boot, encoded);
//   absl::StatusOr<Decoded> decoded = Decode(encoded.bytes);

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/decide/engine/saved_state.h"

namespace headgate::snapshot {

inline constexpr uint32_t kFormatVersion = 4;
inline constexpr size_t kHeaderBytes = 80;

// Which start of the machine a monotonic time belongs to. All zeros: not known, like no other.
using BootId = std::array<uint8_t, 16>;

struct Encoded {
  std::string bytes;
  // A hash of what a restart would bring back: it is the same while nothing has happened that
  // matters. Clocks count only where somebody owes or holds something.
  uint64_t fingerprint = 0;
};
void Encode(const engine::SavedState& state, const BootId& boot, Encoded& encoded);

// Makes the header of what Encode made agree with its body again, and say that it is of this
// version: for tests, which alter the body.
void Seal(std::string& bytes, uint32_t version = kFormatVersion);

struct Decoded {
  engine::SavedState state;
  BootId boot = {};
};
// What is wrong with a file that begins with these bytes (all of its header, or of the file) and
// has so many, as Decode says it: for whoever would rather not read the rest then.
absl::Status CheckHeader(std::string_view begins_with, uint64_t file_bytes);
// DataLoss: cut short or altered. FailedPrecondition: not of this version. InvalidArgument: sound,
// but no engine has saved this.
absl::StatusOr<Decoded> Decode(std::string_view bytes);

}  // namespace headgate::snapshot
