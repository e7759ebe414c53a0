// The bytes of one target's state, as an owner writes it for the next one (engine/saved_target.h).
//
// Little-endian, with a version and a checksum, as format.h has it for the state of all. Decode
// believes nothing: what it returns is sound, or it says what is wrong.
//
// Version 2 has at its end what the controller of the target's auto budgets learnt, version 3 after
// it the safe rates of leases, whose permits say that they are some. The oldest is written that can
// say what there is, and all are read. So a newer release reads an older one's, and an older one a
// newer's only where there is nothing that it does not know: else it takes the target over as one
// whose state is damaged.
//
// Pure functions.
//
//   std::string bytes = EncodeTarget(saved);
//   absl::StatusOr<engine::SavedTarget> read = DecodeTarget(bytes);

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/decide/engine/saved_target.h"

namespace headgate::snapshot {

inline constexpr uint32_t kTargetFormatVersion = 3;

std::string EncodeTarget(const engine::SavedTarget& saved);

// DataLoss: cut short or altered. FailedPrecondition: of another version. InvalidArgument: sound,
// but no engine has saved this.
absl::StatusOr<engine::SavedTarget> DecodeTarget(std::string_view bytes);

}  // namespace headgate::snapshot
