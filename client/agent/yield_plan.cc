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
    if (ran_ns < kReliefNs) return true;
    hunger = fresh;
    return false;
  }
  if (ran_ns >= kLeastRunNs) hunger = fresh;
  if (now_ns - hunger.since_ns < kStarvedAfterNs) return false;
  hunger = fresh;
  hunger.is_raised = true;
  return true;
}

// Those that want to run, and then others, which may want to before the next look; of each the ones
// after who was relieved last.
void YieldPlan::Relieve(absl::Span<const BatchSession> sessions, const Leaders& leaders) {
  std::vector<const BatchSession*> order;
  for (const BatchSession& session : sessions) {
    if (leaders.at(session.pid) == session.pid) order.push_back(&session);
  }
  const auto key = [this](const BatchSession* session) {
    return std::make_tuple(!session->wants(), session->pid <= last_relieved_, session->pid);
  };
  const size_t count = std::min(kMostRelieved, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](const auto* a, const auto* b) { return key(a) < key(b); });
  order.resize(count);
  for (const BatchSession* session : order) relieved_.insert(session->pid);
  if (count > 0) last_relieved_ = order.back()->pid;
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
  if (!now.relieves) {
    relieved_.clear();
  } else if (relieved_.empty()) {
    Relieve(sessions, leaders);
  }
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
