#include "client/agent/yield_plan.h"

#include <algorithm>
#include <tuple>

namespace headgate::agent {
namespace {

using Leaders = YieldPlan::Leaders;

Leaders LeadersOf(absl::Span<const BatchSession> sessions) {
  Leaders leaders;
  for (const BatchSession& session : sessions) leaders[session.pid] = session.pid;
  for (const BatchSession& session : sessions) {
    if (leaders.contains(session.leader)) leaders[session.pid] = session.leader;
  }
  return leaders;
}

// Whom those that are no batch work wait for, at once or through others, and one of who waits.
absl::flat_hash_map<int, int> AwaitedBy(absl::Span<const LockWait> waits, const Leaders& leaders) {
  absl::flat_hash_map<int, const LockWait*> wait_of;
  for (const LockWait& wait : waits) wait_of[wait.pid] = &wait;
  absl::flat_hash_map<int, int> awaited;
  for (const LockWait& wait : waits) {
    if (leaders.contains(wait.pid)) continue;
    std::vector<const LockWait*> open = {&wait};
    while (!open.empty()) {
      const LockWait* const next = open.back();
      open.pop_back();
      for (const int blocker : next->blockers) {
        if (!awaited.try_emplace(blocker, wait.pid).second) continue;
        if (const auto found = wait_of.find(blocker); found != wait_of.end()) {
          open.push_back(found->second);
        }
      }
    }
  }
  return awaited;
}

}  // namespace

bool YieldPlan::AsksProcessorTime(const BatchSession& session) const {
  if (session.holds && session.wants()) return true;
  const auto found = hungers_.find(session.pid);
  return session.holds && found != hungers_.end() && found->second.is_raised;
}

bool YieldPlan::Starves(const BatchSession& session, int64_t now_ns) {
  const auto found = hungers_.find(session.pid);
  const bool is_known =
      found != hungers_.end() && found->second.began_us == session.began_us && session.holds;
  const bool is_raised = is_known && found->second.is_raised;
  // It has to want a processor all the time, as far as is seen.
  if (!session.holds || (!is_raised && !session.wants())) {
    hungers_.erase(session.pid);
    return false;
  }
  if (!session.ran_ns.has_value()) return is_raised;
  const Hunger fresh = {
      .began_us = session.began_us, .since_ns = now_ns, .ran_ns = *session.ran_ns};
  Hunger& hunger = hungers_[session.pid];
  if (!is_known) hunger = fresh;
  const int64_t ran_ns = *session.ran_ns - hunger.ran_ns;
  if (is_raised) {
    // Who leads workers, and runs nothing itself, would never have had it.
    if (ran_ns < kReliefNs && now_ns - hunger.since_ns < kLongestReliefNs) return true;
    hunger = fresh;
    return false;
  }
  if (ran_ns >= kLeastRunNs) hunger = fresh;
  if (now_ns - hunger.since_ns < kStarvedAfterNs) return false;
  hunger = fresh;
  hunger.is_raised = true;
  return true;
}

void YieldPlan::NoteWanting(absl::Span<const BatchSession> sessions, const Leaders& leaders,
                            int64_t now_ns) {
  for (const BatchSession& session : sessions) {
    if (session.wants()) wanted_at_ns_[leaders.at(session.pid)] = now_ns;
  }
  absl::erase_if(wanted_at_ns_, [&](const auto& one) {
    return now_ns - one.second > kWantedLatelyNs || !leaders.contains(one.first);
  });
}

// Whoever is relieved is so until it wants nothing any more; who comes in its place wants to run
// now, if there is such a one, and comes after who was relieved last.
void YieldPlan::Relieve(const Now& now) {
  if (!now.relieves) return relieved_.clear();
  absl::erase_if(relieved_, [this](int leader) { return !wanted_at_ns_.contains(leader); });
  std::vector<std::tuple<bool, bool, int>> order;
  for (const auto& [leader, wanted_at_ns] : wanted_at_ns_) {
    if (relieved_.contains(leader)) continue;
    order.emplace_back(wanted_at_ns < now.monotonic_ns, leader <= last_relieved_, leader);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [is_past, is_before, leader] : order) {
    if (relieved_.size() >= most_relieved_) return;
    relieved_.insert(leader);
    last_relieved_ = leader;
  }
}

std::vector<Assignment> YieldPlan::Decide(absl::Span<const BatchSession> sessions,
                                          absl::Span<const LockWait> waits, const Now& now) {
  const Leaders leaders = LeadersOf(sessions);
  const absl::flat_hash_map<int, int> awaited = AwaitedBy(waits, leaders);
  // By leader.
  absl::flat_hash_map<int, int> waiters;
  absl::flat_hash_set<int> starving;
  for (const BatchSession& session : sessions) {
    const int leader = leaders.at(session.pid);
    if (const auto found = awaited.find(session.pid); found != awaited.end()) {
      waiters.try_emplace(leader, found->second);
    }
    if (Starves(session, now.monotonic_ns)) starving.insert(leader);
  }
  absl::erase_if(hungers_, [&](const auto& hunger) { return !leaders.contains(hunger.first); });
  NoteWanting(sessions, leaders, now.monotonic_ns);
  Relieve(now);
  std::vector<Assignment> assignments;
  assignments.reserve(sessions.size());
  for (const BatchSession& session : sessions) {
    Assignment& made =
        assignments.emplace_back(Assignment{.pid = session.pid, .began_us = session.began_us});
    const int leader = leaders.at(session.pid);
    if (const auto found = waiters.find(leader); found != waiters.end()) {
      made.rank = Rank::kRaisedForWaiter;
      made.waiter = found->second;
    } else if (starving.contains(leader)) {
      made.rank = Rank::kRaisedForStarving;
    } else if (relieved_.contains(leader)) {
      made.rank = Rank::kRaisedForFloor;
    }
  }
  return assignments;
}

}  // namespace headgate::agent
