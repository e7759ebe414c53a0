#include "server/observe/health/health_changes.h"

#include <algorithm>
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

std::optional<HealthChanges::Gate> HealthChanges::OfGate(std::string_view profile, const Gate& gate,
                                                         Now now) {
  return Tell(gates_, profile, {}, gate, now);
}

bool HealthChanges::OfServer(std::string_view server, bool answers, Now now) {
  return Tell(servers_, server, true, answers, now).has_value();
}

std::vector<std::string> HealthChanges::OfNotes(const std::vector<std::string>& notes, Now now) {
  std::vector<std::string> gone;
  for (const auto& [note, told] : notes_) {
    if (std::ranges::find(notes, note) == notes.end()) gone.push_back(note);
  }
  for (const std::string& note : gone) Tell(notes_, note, false, false, now);
  std::vector<std::string> news;
  for (const std::string& note : notes) {
    if (Tell(notes_, note, false, true, now).has_value()) news.push_back(note);
  }
  return news;
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
