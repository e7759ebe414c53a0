// TargetWatch: everything a TargetMonitor knows and decides, without its threads: when to ask which
// server, what was answered, and what each profile makes of it.
//
// Servers are numbered as connections: 0 is the primary, then the standbys that have a connection,
// in the order of the configuration. Other standbys are seen through the primary's eyes.
//
// Guarantees:
// - Nothing goes missing unseen: what a poll leaves out is pending, as a rate that takes a second
//   sample is, and an error if the next one leaves it out, too.
// - Reconfigure keeps the samples of what is still asked in the same way, the speed of profiles
//   that stay, and all connections; what is new does not count until it was asked for the first
//   time.
//
// Thread-compatible; reads no clock.
//
//   TargetWatch watch(spec, {.seed = seed}, now);
//   PollSchedule::Poll poll = watch.schedule(0).BeginPoll(now.monotonic_ns);
//   watch.EndPoll(0, poll, probe.Poll(...), started_ns, now);
//   int64_t again_at_ns = watch.Evaluate(now, sink);

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "server/observe/health/handed_sample.h"
#include "server/observe/health/health_gate.h"
#include "server/observe/health/health_sink.h"
#include "server/observe/health/monitor_spec.h"
#include "server/observe/health/poll_schedule.h"
#include "server/observe/health/probe.h"
#include "server/observe/health/snapshot.h"

namespace headgate::health {

class TargetWatch {
 public:
  // `options` are the primary's; each standby gets a jitter of its own and samples signals only.
  TargetWatch(MonitorSpec spec, const PollSchedule::Options& options, Now now);

  // FailedPrecondition if `spec` is another target's or has other connections: nothing changes
  // then.
  absl::Status Reconfigure(MonitorSpec spec, Now now);

  void NoteChecks(Now now);
  void NoteAwaited(bool awaited, Now now);

  size_t connections() const { return connections_.size(); }
  PollSchedule& schedule(size_t connection) { return connections_[connection].schedule; }

  // Takes the result of a poll that began with schedule(connection).BeginPoll.
  void EndPoll(size_t connection, const PollSchedule::Poll& poll,
               const absl::StatusOr<std::vector<Reading>>& result, int64_t started_ns, Now ended);

  // What the probe says of its connection, after a poll.
  void NoteServer(size_t connection, std::string note) {
    connections_[connection].note = std::move(note);
  }

  // Tells the sink of every server that was polled, and the health of every profile. Returns the
  // monotonic time from which on it is another one, if nothing happens before.
  int64_t Evaluate(Now now, HealthSink& sink);

  // What is known of servers that were sampled, for the target's next owner; and what its owner
  // before knew: that counts for servers that were not sampled yet.
  HandedSample Hand(Now now) const;
  void Adopt(const HandedSample& handed, Now now);

  // Without controllers.
  TargetSnapshot Snapshot() const;

 private:
  struct Connection {
    std::string name;
    PollSchedule schedule;
    bool polled = false;
    absl::Status status = absl::UnavailableError("not polled yet");
    std::string note = {};
  };
  using Plans = std::vector<std::vector<PlannedQuery>>;  // one for each connection
  // Instances that are asked for, and in which way.
  using Definitions = std::vector<std::pair<std::string, std::string>>;

  static Plans PlansFor(const MonitorSpec& spec);
  static Definitions Define(const MonitorSpec& spec);

  void Rebuild(MonitorSpec spec);
  void Record(size_t connection, const PlannedQuery& planned, absl::Span<const Reading> readings,
              int64_t started_ns);
  ServerSnapshot ServerOf(size_t connection) const;
  ServerSnapshot UnconnectedServer(const StandbySpec& standby) const;
  // What all readings have to say, each once.
  std::vector<std::string> Notes() const;

  MonitorSpec spec_;
  Definitions definitions_;
  std::vector<HealthGate> gates_;  // spec_.profiles[i]'s
  std::vector<Connection> connections_;
  TargetSample sample_;
};

}  // namespace headgate::health
