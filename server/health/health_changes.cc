#include "server/health/health_changes.h"

#include <utility>

namespace headgate::health {

using engine::HealthStatus;

template <typename State>
std::optional<State> HealthChanges::Tell(ByName<State>& told, std::string_view name, State first,
                                         State state, Now now) {
  auto known = told.find(name);
  if (known == told.end()) {
    known = told.emplace(std::string(name), Told<State>{.state = first}).first;
  }
  Told<State>& last = known->second;
  if (last.state == state) return std::nullopt;
  const int64_t between_ns = absl::ToInt64Nanoseconds(kBetween);
  if (last.at_ns.has_value() && now.monotonic_ns - *last.at_ns < between_ns) return std::nullopt;
  last.at_ns = now.monotonic_ns;
  return std::exchange(last.state, state);
}

std::optional<HealthStatus> HealthChanges::OfProfile(std::string_view profile, HealthStatus status,
                                                     Now now) {
  return Tell(profiles_, profile, status, status, now);
}

bool HealthChanges::OfServer(std::string_view server, bool answers, Now now) {
  return Tell(servers_, server, true, answers, now).has_value();
}

std::string_view NameOf(HealthStatus status) {
  switch (status) {
    case HealthStatus::kUnmonitored:
      return "unmonitored";
    case HealthStatus::kWarming:
      return "warming";
    case HealthStatus::kHealthy:
      return "healthy";
    case HealthStatus::kStale:
      return "stale";
  }
  return "";
}

}  // namespace headgate::health
