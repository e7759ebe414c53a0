#include "server/observe/postgres/standby_lag.h"

#include <algorithm>
#include <cmath>

namespace headgate::postgres {

std::optional<absl::StatusOr<double>> StandbyLag::Read(const State& state, int64_t at_ns) {
  using Seconds = absl::StatusOr<double>;
  if (primary_ == nullptr) return Seconds(absl::UnavailableError("no primary to compare with"));
  const auto distance = primary_->DistanceTo(state.replayed, at_ns);
  if (!distance.ok()) {
    if (absl::IsNotFound(distance.status()) && Defer()) return std::nullopt;
    return Seconds(distance.status());
  }
  const WalTimeline::Age& age = distance->age;
  if (std::isfinite(age.at_most)) has_deferred_ = false;
  if (distance->bytes == 0) {
    if (state.is_fed) {
      fed_at_ns_ = at_ns;
      return 0.0;
    }
    if (!state.age.has_value() && !fed_at_ns_.has_value()) {
      return Seconds(absl::UnavailableError("it has replayed no transaction yet"));
    }
    double lag = std::max(0.0, state.age.value_or(HUGE_VAL));
    if (fed_at_ns_.has_value()) {
      lag = std::min(lag, static_cast<double>(at_ns - *fed_at_ns_) * 1e-9);
    }
    return lag;
  }
  const bool waits_for_more = state.is_fed && state.has_replayed;
  if (waits_for_more && std::isfinite(age.at_most)) return age.at_least;
  // It was behind when the primary was first looked at, and may just be on its way.
  if (waits_for_more && Defer()) return std::nullopt;
  if (state.age.has_value()) return std::clamp(*state.age, age.at_least, age.at_most);
  if (std::isfinite(age.at_most)) return age.at_least;
  return Seconds(absl::UnavailableError("it has replayed no transaction yet"));
}

bool StandbyLag::Defer() { return !std::exchange(has_deferred_, true); }

void StandbyLag::Clear() {
  fed_at_ns_.reset();
  has_deferred_ = false;
}

}  // namespace headgate::postgres
