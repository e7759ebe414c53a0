// The built-in signals, and which server has to be asked for what a set of profiles watches.
//
// The catalog is the one list of names, units, default thresholds and periods: configuration takes
// its defaults from it, the PostgreSQL room has a query for each name, and docs/health.md explains
// them. Instances are named in one place, too, so that readings, answers and logs agree.
//
// Pure functions over immutable data: thread-safe.
//
//   const SignalInfo* info = FindSignal("active_backends");
//   if (info == nullptr) return UnknownSignal(...);
//   SignalSpec signal = {.name = ..., .scope = info->scope, .soft = info->soft, ...};

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/observe/health/probe.h"
#include "server/observe/health/profile.h"

namespace headgate::health {

// One built-in signal. Thresholds are defaults to start from.
struct SignalInfo {
  std::string_view name;
  std::string_view unit = {};  // of value and thresholds: "s", "bytes", empty: a plain number
  Scope scope = Scope::kPrimary;
  double soft = 0;
  double hard = 1;
  absl::Duration every = absl::ZeroDuration();  // zero: at every poll
  std::string_view description = {};            // one line
};

// In the order of the documentation.
absl::Span<const SignalInfo> AllSignals();

// Whether a standby has an instance of a signal of that scope. A cascading one is none of the
// primary's.
bool HasInstance(Scope scope, const StandbySpec& standby);

// Null if no built-in signal has that name.
const SignalInfo* FindSignal(std::string_view name);

// "replication_lag_seconds on standby-2". On the primary the instance has the signal's own name.
std::string InstanceName(std::string_view signal, std::string_view standby);

// The instances of a profile on a target with these standbys, in the order of its signals and then
// of the standbys.
std::vector<std::string> InstancesOf(const ProfileSpec& profile,
                                     absl::Span<const StandbySpec> standbys);

// The instances of a profile on several targets, each named once: what an engine's
// HealthProfileSpec lists. `standbys` has one element for each target.
std::vector<std::string> InstancesOnAll(const ProfileSpec& profile,
                                        absl::Span<const std::vector<StandbySpec>> standbys);

// The signal of standbys that are asked themselves which says how far they are behind the primary.
inline constexpr std::string_view kStandbyLagSignal = "standby_lag_seconds";

// One thing to ask a server, and how often.
struct PlannedQuery {
  SignalQuery query;
  absl::Duration every = absl::ZeroDuration();  // zero: at every poll
};

// What each server has to be asked for some profiles, each signal once.
struct QueryPlan {
  std::vector<PlannedQuery> primary;
  std::vector<std::vector<PlannedQuery>> standbys;  // one for each; empty without a connection
};

// A signal that several profiles watch is asked as often as the most eager of them wants. Profiles
// that give one name to different queries are not told apart: configuration refuses them.
// kStandbyLagSignal is asked of the primary too, as often: where it is itself. That is no instance.
QueryPlan QueriesFor(absl::Span<const ProfileSpec> profiles,
                     absl::Span<const StandbySpec> standbys);

}  // namespace headgate::health
