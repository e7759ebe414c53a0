#include "server/observe/health/target_watch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "server/observe/health/signal_catalog.h"

namespace headgate::health {
namespace {

// In status; configuration keeps standbys from having this name.
constexpr char kPrimary[] = "primary";

std::vector<std::string> ConnectionNames(const MonitorSpec& spec) {
  std::vector<std::string> names = {kPrimary};
  for (const StandbySpec& standby : spec.standbys) {
    if (standby.has_connection) names.push_back(standby.name);
  }
  return names;
}

}  // namespace

TargetWatch::TargetWatch(MonitorSpec spec, const PollSchedule::Options& options, Now now) {
  Plans plans = PlansFor(spec);
  const std::vector<std::string> names = ConnectionNames(spec);
  for (size_t i = 0; i < names.size(); ++i) {
    PollSchedule::Options own = options;
    if (i > 0) own = {.seed = CombineHash(options.seed, i)};
    connections_.push_back(
        {.name = names[i],
         .schedule = PollSchedule(spec.polling, std::move(plans[i]), own, now.monotonic_ns)});
  }
  sample_.servers.resize(names.size());
  Rebuild(std::move(spec));
}

TargetWatch::Plans TargetWatch::PlansFor(const MonitorSpec& spec) {
  std::vector<ProfileSpec> profiles;
  for (const WatchedProfile& profile : spec.profiles) profiles.push_back(profile.spec);
  QueryPlan all = QueriesFor(profiles, spec.standbys);
  Plans plans = {std::move(all.primary)};
  for (size_t i = 0; i < spec.standbys.size(); ++i) {
    if (spec.standbys[i].has_connection) plans.push_back(std::move(all.standbys[i]));
  }
  return plans;
}

TargetWatch::Definitions TargetWatch::Define(const MonitorSpec& spec) {
  Definitions definitions;
  const auto add = [&definitions](std::string instance, const SignalSpec& signal,
                                  const std::string& of) {
    for (const auto& known : definitions) {
      if (known.first == instance) return;
    }
    definitions.emplace_back(std::move(instance), absl::StrCat(of, "\n", signal.sql));
  };
  for (const WatchedProfile& profile : spec.profiles) {
    for (const SignalSpec& signal : profile.spec.signals) {
      if (signal.scope == Scope::kPrimary) add(signal.name, signal, "");
      for (const StandbySpec& standby : spec.standbys) {
        if (!HasInstance(signal.scope, standby)) continue;
        const bool on_primary = signal.scope == Scope::kStandbyOnPrimary;
        add(InstanceName(signal.name, standby.name), signal,
            on_primary ? absl::StrCat(standby.application_name, "\n", standby.client_address, "\n",
                                      standby.slot)
                       : "");
      }
    }
  }
  return definitions;
}

absl::Status TargetWatch::Reconfigure(MonitorSpec spec, Now now) {
  if (spec.target != spec_.target || ConnectionNames(spec) != ConnectionNames(spec_)) {
    return absl::FailedPreconditionError("the target's connections are others");
  }
  Plans plans = PlansFor(spec);
  for (size_t i = 0; i < connections_.size(); ++i) {
    connections_[i].schedule.Replan(spec.polling, std::move(plans[i]), now.monotonic_ns);
  }
  const Definitions before = std::move(definitions_);
  Rebuild(std::move(spec));
  for (const auto& definition : before) {
    const bool same =
        std::find(definitions_.begin(), definitions_.end(), definition) != definitions_.end();
    if (!same) sample_.instances.erase(definition.first);
  }
  return absl::OkStatus();
}

void TargetWatch::Rebuild(MonitorSpec spec) {
  const std::vector<HealthGate> before = std::move(gates_);
  gates_.clear();
  for (const WatchedProfile& profile : spec.profiles) {
    HealthGate& gate = gates_.emplace_back(profile, spec.standbys);
    for (const HealthGate& old : before) {
      if (old.profile() == profile.spec.name) gate.Resume(old);
    }
  }
  definitions_ = Define(spec);
  spec_ = std::move(spec);
}

void TargetWatch::NoteChecks(Now now) {
  for (Connection& connection : connections_) connection.schedule.NoteChecks(now.monotonic_ns);
}

void TargetWatch::NoteAwaited(bool awaited, Now now) {
  for (Connection& connection : connections_) {
    connection.schedule.NoteAwaited(awaited, now.monotonic_ns);
  }
}

void TargetWatch::EndPoll(size_t connection, const PollSchedule::Poll& poll,
                          const absl::StatusOr<std::vector<Reading>>& result, int64_t started_ns,
                          Now ended) {
  Connection& polled = connections_[connection];
  const auto outcome = result.ok() ? PollSchedule::Result::kOk : PollSchedule::Result::kFailed;
  if (!polled.schedule.EndPoll(poll, outcome, started_ns, ended.monotonic_ns)) return;
  polled.polled = true;
  polled.status = result.status();
  if (result.ok()) {
    sample_.servers[connection].sampled_at_ns = started_ns;
    for (const PlannedQuery& planned : poll.queries) {
      Record(connection, planned, *result, started_ns);
    }
  }
}

void TargetWatch::Record(size_t connection, const PlannedQuery& planned,
                         absl::Span<const Reading> readings, int64_t started_ns) {
  const std::string& signal = planned.query.signal;
  std::vector<std::string> instances;
  for (const StandbySpec& standby : planned.query.of) {
    instances.push_back(InstanceName(signal, standby.name));
  }
  if (instances.empty()) {
    instances.push_back(connection == 0 ? signal
                                        : InstanceName(signal, connections_[connection].name));
  }
  for (std::string& name : instances) {
    const auto answer =
        std::find_if(readings.begin(), readings.end(),
                     [&name](const Reading& reading) { return reading.instance == name; });
    const auto [known, first] = sample_.instances.try_emplace(name);
    TargetSample::Instance& instance = known->second;
    const bool was_pending =
        !first && !instance.reading.value.has_value() && instance.reading.error.empty();
    const bool was_handed = std::exchange(instance.is_handed, false);
    if (answer != readings.end()) {
      instance.reading = *answer;
    } else if (was_handed) {
      continue;  // a rate, which takes a second sample
    } else {
      instance.reading = {
          .instance = name, .value = std::nullopt, .error = was_pending ? "no answer" : ""};
    }
    instance.sampled_at_ns = started_ns;
    instance.next_sample_at_ns = started_ns + absl::ToInt64Nanoseconds(planned.every);
  }
}

int64_t TargetWatch::Evaluate(Now now, HealthSink& sink) {
  for (size_t i = 0; i < connections_.size(); ++i) {
    const PollSchedule& schedule = connections_[i].schedule;
    sample_.servers[i].grace_ns = schedule.grace_ns();
    sample_.servers[i].next_sample_at_ns = schedule.next_poll_ns() + schedule.poll_time_ns();
  }
  for (const Connection& connection : connections_) {
    if (connection.polled) {
      sink.OnServer(spec_.target, connection.name, connection.status, now);
      sink.OnNote(spec_.target, connection.name, connection.note);
    }
  }
  sink.OnNotes(spec_.target, Notes(), now);
  int64_t valid_until_ns = HealthGate::kNever;
  for (HealthGate& gate : gates_) {
    const HealthGate::Verdict& verdict = gate.Update(sample_, now);
    valid_until_ns = std::min(valid_until_ns, verdict.valid_until_ns);
    sink.OnHealth(spec_.target, gate.profile(), verdict.health, now);
  }
  return valid_until_ns;
}

HandedSample TargetWatch::Hand(Now now) const {
  HandedSample handed;
  for (size_t i = 0; i < connections_.size(); ++i) {
    const int64_t sampled_at_ns = sample_.servers[i].sampled_at_ns;
    if (sampled_at_ns == 0) continue;
    handed.servers.push_back({connections_[i].name, now.monotonic_ns - sampled_at_ns});
  }
  for (const auto& [name, instance] : sample_.instances) {
    // One that is pending is nothing to go on; one that is missing shuts the gate.
    if (!instance.reading.value.has_value() && instance.reading.error.empty()) continue;
    handed.instances.push_back({instance.reading, now.monotonic_ns - instance.sampled_at_ns});
  }
  return handed;
}

void TargetWatch::Adopt(const HandedSample& handed, Now now) {
  const auto at = [now](int64_t age_ns) {
    return std::max<int64_t>(now.monotonic_ns - std::max<int64_t>(age_ns, 0), 1);
  };
  bool is_any_new = false;
  for (const HandedSample::Server& server : handed.servers) {
    for (size_t i = 0; i < connections_.size(); ++i) {
      if (connections_[i].name != server.name || sample_.servers[i].sampled_at_ns != 0) continue;
      sample_.servers[i].sampled_at_ns = at(server.age_ns);
      is_any_new = true;
    }
  }
  if (!is_any_new) return;
  for (const HandedSample::Instance& from : handed.instances) {
    const auto [known, is_new] = sample_.instances.try_emplace(from.reading.instance);
    if (!is_new) continue;
    known->second = {.reading = from.reading, .sampled_at_ns = at(from.age_ns), .is_handed = true};
  }
}

ServerSnapshot TargetWatch::ServerOf(size_t connection) const {
  const Connection& of = connections_[connection];
  ServerSnapshot server;
  server.name = of.name;
  server.reachable = of.status.ok();
  if (!of.status.ok()) server.error = of.status.ToString();
  server.note = of.note;
  server.sampled_at_ns = sample_.servers[connection].sampled_at_ns;
  server.poll_time = absl::Nanoseconds(of.schedule.poll_time_ns());
  server.poll_interval = of.schedule.interval();
  return server;
}

// Reachable as long as the primary sees all of it that it is asked for.
ServerSnapshot TargetWatch::UnconnectedServer(const StandbySpec& standby) const {
  ServerSnapshot server = ServerOf(0);
  server.name = standby.name;
  server.note.clear();
  for (const WatchedProfile& profile : spec_.profiles) {
    for (const SignalSpec& signal : profile.spec.signals) {
      if (signal.scope != Scope::kStandbyOnPrimary || !server.reachable) continue;
      const auto known = sample_.instances.find(InstanceName(signal.name, standby.name));
      if (known == sample_.instances.end() || known->second.reading.value.has_value()) continue;
      server.reachable = false;
      server.error = known->second.reading.error;
    }
  }
  return server;
}

std::vector<std::string> TargetWatch::Notes() const {
  std::vector<std::string> notes;
  for (const auto& [name, definition] : definitions_) {
    const auto known = sample_.instances.find(name);
    if (known == sample_.instances.end()) continue;
    const std::string& note = known->second.reading.note;
    if (note.empty() || std::ranges::find(notes, note) != notes.end()) continue;
    notes.push_back(note);
  }
  return notes;
}

TargetSnapshot TargetWatch::Snapshot() const {
  TargetSnapshot snapshot;
  snapshot.name = spec_.target;
  snapshot.notes = Notes();
  snapshot.servers.push_back(ServerOf(0));
  size_t connection = 0;
  for (const StandbySpec& standby : spec_.standbys) {
    snapshot.servers.push_back(standby.has_connection ? ServerOf(++connection)
                                                      : UnconnectedServer(standby));
    snapshot.servers.back().set_aside_until = standby.set_aside_until;
  }
  for (const auto& [name, definition] : definitions_) {
    SignalSnapshot& signal = snapshot.signals.emplace_back();
    signal.instance = name;
    const auto known = sample_.instances.find(name);
    if (known == sample_.instances.end()) {
      signal.error = "not asked yet";
      continue;
    }
    signal.value = known->second.reading.value;
    signal.error = known->second.reading.error;
    signal.sampled_at_ns = known->second.sampled_at_ns;
  }
  for (const HealthGate& gate : gates_) {
    snapshot.profiles.push_back({.profile = gate.profile(),
                                 .health = gate.verdict().health,
                                 .signal = gate.verdict().signal,
                                 .since_ns = gate.verdict().since_ns});
  }
  return snapshot;
}

}  // namespace headgate::health
