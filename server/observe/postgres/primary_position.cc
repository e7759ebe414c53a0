#include "server/observe/postgres/primary_position.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace headgate::postgres {
namespace {

double InSeconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

bool Differ(const std::string& one, const std::string& other) {
  return !one.empty() && !other.empty() && one != other;
}

}  // namespace

void PrimaryPosition::Note(int64_t at_ns, WalPosition written) {
  const MutexLock lock(&mutex_);
  if (Differ(written.system, written_.system) || Differ(written.timeline, written_.timeline)) {
    times_.Clear();
  }
  status_ = absl::OkStatus();
  written_ = std::move(written);
  times_.Add(InSeconds(at_ns), written_.bytes);
}

void PrimaryPosition::Lose(const absl::Status& why) {
  const MutexLock lock(&mutex_);
  status_ =
      absl::UnavailableError(absl::StrCat("the primary's position is not known: ", why.message()));
}

absl::StatusOr<PrimaryPosition::Distance> PrimaryPosition::DistanceTo(const WalPosition& replayed,
                                                                      int64_t at_ns) const {
  const MutexLock lock(&mutex_);
  if (!status_.ok()) return status_;
  if (Differ(replayed.system, written_.system)) {
    return absl::FailedPreconditionError(
        absl::StrCat("it is of another cluster than the primary: system identifier ",
                     replayed.system, ", and not ", written_.system));
  }
  if (Differ(replayed.timeline, written_.timeline)) {
    return absl::FailedPreconditionError(absl::StrCat("it follows timeline ", replayed.timeline,
                                                      ", and the primary writes timeline ",
                                                      written_.timeline));
  }
  Distance distance{.bytes = std::max(0.0, written_.bytes - replayed.bytes), .age = {}};
  if (distance.bytes == 0) {
    distance.age.at_most = 0;
    return distance;
  }
  distance.age = times_.AgeBehind(replayed.bytes, InSeconds(at_ns));
  // The primary may have been asked after the standby was.
  distance.age.at_least = std::max(0.0, distance.age.at_least);
  distance.age.at_most = std::max(distance.age.at_least, distance.age.at_most);
  return distance;
}

}  // namespace headgate::postgres
