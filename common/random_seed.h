// The one place where chance enters a process. What needs random numbers takes a seed as an
// argument; who composes the process draws it here.
//
// Thread-safe.
//
//   const absl::StatusOr<uint64_t> seed = RandomSeed();

#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

namespace headgate {

// 64 bits from the kernel, fit for keying hashes. Unavailable where the kernel gives none, as under
// a filter of system calls.
absl::StatusOr<uint64_t> RandomSeed();

}  // namespace headgate
