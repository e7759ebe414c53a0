#include "server/serve/web/readiness.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace headgate::web {
namespace {

constexpr size_t kMaxNamed = 5;

// The targets that are measured and were never sampled; empty: none.
std::string Unsampled(const std::vector<health::TargetSnapshot>& targets) {
  std::vector<std::string> names;
  for (const health::TargetSnapshot& target : targets) {
    // The primary comes first; without one nothing is measured.
    if (target.servers.empty() || target.servers.front().sampled_at_ns != 0) continue;
    names.push_back(absl::StrCat("'", target.name, "'"));
  }
  const size_t more = names.size() > kMaxNamed ? names.size() - kMaxNamed : 0;
  names.resize(names.size() - more);
  std::string text = absl::StrJoin(names, ", ");
  if (more > 0) absl::StrAppend(&text, " and ", more, " more");
  return text;
}

}  // namespace

std::string_view NameOf(Readiness::State state) {
  switch (state) {
    case Readiness::State::kStarting:
      return "starting";
    case Readiness::State::kReady:
      return "ready";
    case Readiness::State::kDegraded:
      return "degraded";
    case Readiness::State::kDraining:
      return "draining";
  }
  return "";
}

Readiness::Readiness(Clock& clock, absl::Duration ready_after)
    : clock_(clock), started_ns_(clock.Read().monotonic_ns), ready_after_(ready_after) {}

void Readiness::Serve(Targets targets, Sharing sharing) {
  MutexLock lock(&mutex_);
  targets_ = std::move(targets);
  sharing_ = std::move(sharing);
}

void Readiness::Drain() {
  MutexLock lock(&mutex_);
  draining_ = true;
  targets_ = nullptr;
  sharing_ = nullptr;
}

Readiness::View Readiness::Read() {
  MutexLock lock(&mutex_);
  if (draining_) return {State::kDraining, "the server is stopping"};
  if (targets_ == nullptr) return {State::kStarting, "the configuration is not in force yet"};
  View sharing = sharing_ == nullptr ? View{State::kReady, ""} : sharing_();
  if (was_ready_ || !sharing.ready()) return sharing;
  const std::string unsampled = Unsampled(targets_());
  if (unsampled.empty()) {
    was_ready_ = true;
    return sharing;
  }
  const absl::Duration since = absl::Nanoseconds(clock_.Read().monotonic_ns - started_ns_);
  if (since < ready_after_) {
    return {State::kStarting, absl::StrCat("waiting for the first sample of target ", unsampled)};
  }
  return {State::kDegraded,
          absl::StrCat("no sample of target ", unsampled, " within ",
                       absl::FormatDuration(ready_after_),
                       "; until there is one, Checks on it get what on_stale says")};
}

void Readiness::Collect(Exposition& out) {
  const State now = Read().state;
  auto ready =
      out.Gauge("headgate_ready",
                "1 for the state that the server is in: starting, ready, degraded (a target "
                "was never sampled, or the store of several servers does not answer, or keeps no "
                "states) or draining.");
  for (const State state : {State::kStarting, State::kReady, State::kDegraded, State::kDraining}) {
    ready.Set({{"state", NameOf(state)}}, state == now ? 1 : 0);
  }
}

}  // namespace headgate::web
