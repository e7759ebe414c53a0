#include "server/observe/health/poll_schedule.h"

#include <algorithm>
#include <utility>

#include "common/hash.h"

namespace headgate::health {
namespace {

int64_t ToNs(absl::Duration duration) { return absl::ToInt64Nanoseconds(duration); }

}  // namespace

PollSchedule::PollSchedule(const PollingSpec& polling, std::vector<PlannedQuery> queries,
                           const Options& options, int64_t now_ns)
    : options_(options), last_check_ns_(now_ns), next_poll_ns_(now_ns) {
  Replan(polling, std::move(queries), now_ns);
}

void PollSchedule::Replan(const PollingSpec& polling, std::vector<PlannedQuery> queries,
                          int64_t now_ns) {
  polling_ = polling;
  ++plan_version_;
  plan_.clear();
  shortest_every_ = queries.empty() ? polling.idle_interval : absl::InfiniteDuration();
  for (PlannedQuery& query : queries) {
    shortest_every_ = std::min(shortest_every_, query.every);
    plan_.push_back({.query = std::move(query), .due_ns = now_ns});
  }
  interval_ = Interval(now_ns);
  WantWork(plan_version_, now_ns);
  if (failures_ == 0) next_poll_ns_ = now_ns;
}

void PollSchedule::WantWork(uint64_t plan, int64_t at_ns) {
  if (plan != plan_version_) return;
  if (options_.samples == Samples::kSignalsAndWork) work_at_ns_ = at_ns;
}

bool PollSchedule::Idle(int64_t now_ns) const {
  return !awaited_ && absl::Nanoseconds(now_ns - last_check_ns_) >= polling_.idle_after;
}

absl::Duration PollSchedule::Interval(int64_t now_ns) const {
  const absl::Duration awake = std::max(polling_.interval, shortest_every_);
  return Idle(now_ns) ? std::max(awake, polling_.idle_interval) : awake;
}

void PollSchedule::NoteChecks(int64_t now_ns) {
  const bool woken = Idle(now_ns);
  last_check_ns_ = std::max(last_check_ns_, now_ns);
  if (!woken) return;
  interval_ = Interval(now_ns);
  WantWork(plan_version_, now_ns);
  if (failures_ == 0) next_poll_ns_ = std::min(next_poll_ns_, now_ns);
}

void PollSchedule::NoteAwaited(bool awaited, int64_t now_ns) {
  // They asked until now: whoever was waited for is idle only `idle_after` from here on.
  if (awaited || awaited_) NoteChecks(now_ns);
  awaited_ = awaited;
}

PollSchedule::Next PollSchedule::NextStep(int64_t now_ns) const {
  if (now_ns >= next_poll_ns_) return {.step = Step::kPoll};
  const bool work = !work_suspended_ && failures_ == 0 && !Idle(now_ns);
  if (work && now_ns >= work_at_ns_) return {.step = Step::kWork};
  return {.at_ns = work ? std::min(next_poll_ns_, work_at_ns_) : next_poll_ns_};
}

PollSchedule::Poll PollSchedule::BeginPoll(int64_t now_ns) const {
  Poll poll;
  poll.plan = plan_version_;
  // The nearest poll, not the one after.
  const int64_t until_ns = now_ns + ToNs(polling_.interval) / 2;
  for (size_t i = 0; i < plan_.size(); ++i) {
    if (plan_[i].due_ns > until_ns) continue;
    poll.places.push_back(i);
    poll.queries.push_back(plan_[i].query);
  }
  return poll;
}

bool PollSchedule::EndPoll(const Poll& poll, Result result, int64_t started_ns, int64_t ended_ns) {
  if (poll.plan != plan_version_) {
    next_poll_ns_ = ended_ns;
    return false;
  }
  if (result == Result::kFailed) {
    Fail(ended_ns);
    return true;
  }
  for (const size_t place : poll.places) {
    plan_[place].due_ns = started_ns + ToNs(plan_[place].query.every);
  }
  if (failures_ > 0 || work_suspended_) WantWork(plan_version_, ended_ns);
  failures_ = 0;
  work_suspended_ = false;
  interval_ = Interval(ended_ns);
  poll_time_ns_ = ended_ns - started_ns;
  const int64_t interval_ns = ToNs(interval_);
  next_poll_ns_ =
      std::max(started_ns + interval_ns, ended_ns + std::min(poll_time_ns_, interval_ns));
  grace_ns_ = std::max<int64_t>(0, next_poll_ns_ - started_ns - ToNs(polling_.interval));
  return true;
}

void PollSchedule::Fail(int64_t ended_ns) {
  constexpr int kMaxDoublings = 16;
  const int doublings = std::min(failures_, kMaxDoublings);
  ++failures_;
  const absl::Duration most = std::min(kMaxBackoff, polling_.interval * (int64_t{1} << doublings));
  constexpr int64_t kSteps = 1024;
  const auto drawn = static_cast<int64_t>(CombineHash(options_.seed, ++draws_) % kSteps);
  next_poll_ns_ = ended_ns + ToNs(most / 2 + most / 2 * drawn / kSteps);
}

void PollSchedule::WorkFailed(int64_t now_ns) {
  work_suspended_ = true;
  next_poll_ns_ = std::min(next_poll_ns_, now_ns);
}

}  // namespace headgate::health
