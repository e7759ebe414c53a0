// PollSchedule: when one server is polled, what it is asked then, and when its work is sampled.
//
// - A poll starts `interval` after the one before it; a poll that took long is followed by a rest
//   as long as itself, so that a saturated server is not polled all the time. Where every signal
//   has an `every`, the shortest of them is the interval.
// - Without a Check for `idle_after`, and with nobody who waits for the target, polls are
//   `idle_interval` apart, as they are where there is nothing to ask. The first Check after that is
//   answered by a poll at once.
// - After the n-th failure in a row the next try follows within min(5 s, interval x 2^(n-1)), drawn
//   from the upper half of that so that many monitors don't try in step. CheckActivity doesn't
//   change it.
// - A signal with an `every` is asked by the poll nearest to its time, again if that poll fails.
// - Work is sampled when it is wanted, but not while idle, nor between a failure and the next
//   successful poll. A poll that is due comes first.
//
// Pure: no threads, no clock; times are monotonic nanoseconds, the jitter comes from the seed.
// Thread-compatible.
//
//   switch (schedule.NextStep(now_ns).step) {
//     case PollSchedule::Step::kPoll: {
//       PollSchedule::Poll poll = schedule.BeginPoll(now_ns);
//       ... ask ...
//       schedule.EndPoll(poll, PollSchedule::Result::kOk, started_ns, ended_ns);
//     }

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/time/time.h"
#include "server/observe/health/profile.h"
#include "server/observe/health/signal_catalog.h"

namespace headgate::health {

class PollSchedule {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  static constexpr absl::Duration kMaxBackoff = absl::Seconds(5);

  enum class Step : uint8_t { kWait, kPoll, kWork };
  struct Next {
    Step step = Step::kWait;
    int64_t at_ns = 0;  // of kWait: when to ask again
  };

  enum class Samples : uint8_t { kSignals, kSignalsAndWork };
  struct Options {
    uint64_t seed = 0;  // of the jitter
    Samples samples = Samples::kSignals;
  };

  enum class Result : uint8_t { kOk, kFailed };

  // What one poll asks.
  struct Poll {
    uint64_t plan = 0;
    std::vector<size_t> places;         // of `queries` in the plan
    std::vector<PlannedQuery> queries;  // may be empty: the poll only tells whether it is there
  };

  // The first poll and sample of work are due at once. `now_ns` counts as a Check.
  PollSchedule(const PollingSpec& polling, std::vector<PlannedQuery> queries,
               const Options& options, int64_t now_ns);

  // Another plan takes over: all of it is due at once, and the work too, unless the server is
  // failing. CheckActivity and failures go on.
  void Replan(const PollingSpec& polling, std::vector<PlannedQuery> queries, int64_t now_ns);

  // Somebody asks for the target.
  void NoteChecks(int64_t now_ns);
  // Whether somebody who asked before waits for the target now: as if they asked all the time.
  void NoteAwaited(bool awaited, int64_t now_ns);

  Next NextStep(int64_t now_ns) const;

  // EndPoll returns false for a poll of an older plan: its readings mean nothing any more.
  Poll BeginPoll(int64_t now_ns) const;
  bool EndPoll(const Poll& poll, Result result, int64_t started_ns, int64_t ended_ns);

  // When the work is wanted next, if this server's is sampled; kNever: not now. Who says so of the
  // plan before is not heard: the new one wants the work at once.
  void WantWork(uint64_t plan, int64_t at_ns);
  // The connection broke while work was sampled: the next poll finds out what it is.
  void WorkFailed(int64_t now_ns);

  // Changes with each Replan.
  uint64_t plan() const { return plan_version_; }
  // Consecutive failures.
  int failures() const { return failures_; }
  // When the next poll starts, by how much later than usual that is, and how long polls take.
  int64_t next_poll_ns() const { return next_poll_ns_; }
  int64_t grace_ns() const { return grace_ns_; }
  int64_t poll_time_ns() const { return poll_time_ns_; }
  // Between the starts of polls, at present.
  absl::Duration interval() const { return interval_; }

 private:
  struct Planned {
    PlannedQuery query;
    int64_t due_ns = 0;
  };

  bool Idle(int64_t now_ns) const;
  absl::Duration Interval(int64_t now_ns) const;
  void Fail(int64_t ended_ns);

  PollingSpec polling_;
  std::vector<Planned> plan_;
  uint64_t plan_version_ = 0;
  absl::Duration shortest_every_;  // zero: something is asked at every poll
  const Options options_;
  uint64_t draws_ = 0;

  int64_t last_check_ns_;
  bool awaited_ = false;
  int64_t next_poll_ns_;
  int64_t work_at_ns_ = kNever;
  bool work_suspended_ = false;
  int failures_ = 0;
  absl::Duration interval_;
  int64_t grace_ns_ = 0;
  int64_t poll_time_ns_ = 0;
};

}  // namespace headgate::health
