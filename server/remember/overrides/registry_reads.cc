// What the registry tells those who only read: it writes nothing, whatever has expired meanwhile.

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/remember/overrides/registry.h"
#include "server/remember/overrides/rules.h"

namespace headgate::overrides {

std::vector<Override> Registry::List(const ListQuery& query) {
  const Now now = clock_.Read();
  const Told told = ReadTold();
  std::vector<Override> found;
  const auto end = told.in_force->rend();
  for (auto it = told.in_force->rbegin(); it != end && found.size() < query.most; ++it) {
    const Override& override = it->second;
    if (query.before_id != 0 && override.id >= query.before_id) continue;
    if (query.selector.has_value() && override.selector != *query.selector) continue;
    if (override.AppliesAt(now.wall())) found.push_back(override);
  }
  return found;
}

Exemptions Registry::ListExemptions(const std::string& target, size_t most) {
  const absl::Time wall = clock_.Read().wall();
  const Told told = ReadTold();
  Exemptions found;
  const auto add = [&](std::string name) {
    if (found.count++ < most) found.rules.push_back(std::move(name));
  };
  if (told.base != nullptr) {
    for (const engine::RuleSpec& rule : told.base->rules) {
      const bool holds = target.empty() || rule.match.target.empty() || rule.match.target == target;
      const bool exempts = std::holds_alternative<engine::ExemptAction>(rule.action);
      if (exempts && holds && wall < rule.expires_at) add(rule.name);
    }
  }
  for (const auto& [id, override] : *told.in_force) {
    const bool holds = Overlap(override.selector, {.target = target});
    const bool exempts = override.kind == Kind::kExempt && override.AppliesAt(wall);
    if (exempts && holds) add(RuleName(override));
  }
  return found;
}

absl::StatusOr<std::vector<Event>> Registry::Events(const EventQuery& query) {
  MutexLock lock(&mutex_);
  absl::StatusOr<std::vector<Event>> events = store_->ReadEvents(query);
  absl::StatusOr<std::vector<Event>> unwritten = events;
  if (events.ok()) unwritten = Unwritten(query, *events);
  if (!unwritten.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the events cannot be read: ", unwritten.status().message()));
  }
  if (unwritten->empty()) return events;
  std::move(events->begin(), events->end(), std::back_inserter(*unwritten));
  if (unwritten->size() > query.most) unwritten->resize(query.most);
  return unwritten;
}

absl::StatusOr<std::vector<Event>> Registry::Unwritten(const EventQuery& query,
                                                       const std::vector<Event>& written) {
  std::vector<Event> events;
  const std::vector<const Override*> expired = Expired(clock_.Read());
  if (expired.empty()) return events;
  const absl::StatusOr<std::vector<Event>> newest = store_->ReadEvents({.most = 1});
  if (!newest.ok()) return newest.status();
  int64_t id = newest->empty() ? 0 : newest->front().id;
  for (const Override* override : expired) {
    ++id;
    // Another server may have written it, or ended the override before, of which this one has not
    // heard.
    const auto ends_it = [&](const Event& event) {
      return event.override.id == override->id &&
             (event.kind == EventKind::kExpired || event.kind == EventKind::kDeleted);
    };
    if (std::any_of(written.begin(), written.end(), ends_it)) continue;
    if (query.override_id != 0 && query.override_id != override->id) continue;
    if (query.before_id != 0 && id >= query.before_id) continue;
    if (override->expires_at < query.from || override->expires_at >= query.to) continue;
    events.push_back({.id = id,
                      .happened_at = override->expires_at,
                      .kind = EventKind::kExpired,
                      .override = *override,
                      .actor = "",
                      .reason = "",
                      .change = ""});
  }
  std::reverse(events.begin(), events.end());
  return events;
}

Registry::State Registry::GetState() {
  const absl::Time wall = clock_.Read().wall();
  const Told told = ReadTold();
  State state;
  state.is_loaded = told.is_loaded;
  state.revision = told.revision;
  for (auto it = told.in_force->rbegin(); it != told.in_force->rend(); ++it) {
    if (!it->second.AppliesAt(wall)) continue;
    ++state.in_force;
    if (it->second.IsStop()) state.stops.push_back(it->second);
  }
  MutexLock lock(&state_mutex_);
  state.status = status_;
  state.restored = restored_;
  return state;
}

}  // namespace headgate::overrides
