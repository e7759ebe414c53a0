#include "common/random_seed.h"

#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"

namespace headgate {

absl::StatusOr<uint64_t> RandomSeed() {
  uint64_t seed = 0;
  if (getentropy(&seed, sizeof(seed)) == 0) return seed;
  const absl::Status why = absl::ErrnoToStatus(errno, "getentropy");
  return absl::UnavailableError(why.message());
}

}  // namespace headgate
