// LeaseHolder: the decisions of one who holds leases: which piece may be done, when to ask for the
// next lease, for how much, and what to say of the one before.
//
// It holds two at most: the current one, and the next. Pieces are taken from the current one until
// it is spent or over, then from the next. The next one is asked for when half of the current one
// is used, of its amount or of its time, and when a piece finds no room. Its size is half as much
// again as what is used in a lease's time, less what is left; so a holder that stops has little
// out, and one that used up a lease early gets twice as much. One of which nothing was used is
// given back, and none is asked for until there is work again.
//
// The time of a lease counts from when it was asked for, or when it had waited in line: the
// server's began later.
//
// A lease that came with a safe rate, and is over while nobody can be reached, is kept: pieces are
// admitted at that rate, from a quarter of its time after its end on. The server charges it until
// the lease is returned, so it is returned only when somebody has answered, or the rate's time is
// over. An ask that is made while there is such a lease waits in line no longer than until its end:
// afterwards, who has no answer yet knows that nobody answers.
//
// lease_holder.cc has what becomes of pieces and of leases that are over, lease_asks.cc what is
// asked for and learnt.
//
// Thread-compatible, no I/O and no clock: times are monotonic nanoseconds. Chance comes from the
// jitter that it is given.
//
//   Admission admission = holder.Admit(cost, now_ns);
//   if (auto ask = holder.NextAsk(now_ns)) ... send it, then holder.OnAnswer(answer, now_ns) ...
//   for (const PermitReport& report : holder.TakeReturns()) ... send it ...
//   holder.OnState(state, now_ns);  // an order that takes leases back

#pragma once

#include <headgate/check.h>
#include <headgate/lease.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/jitter.h"
#include "client/refused_pieces.h"
#include "client/told_work.h"

namespace headgate::client::internal {

class LeaseHolder {
 public:
  // The options are valid; the jitter outlives this.
  LeaseHolder(const LeaseOptions& options, Jitter& jitter)
      : options_(options), jitter_(jitter), piece_(options.piece > 0 ? options.piece : 1) {}

  // A piece that waits is counted once, when it is admitted or gives up.
  enum class Refusal : uint8_t { kCounts, kWaits };
  Admission Admit(double cost, int64_t now_ns, Refusal refusal = Refusal::kCounts);
  // Headgate is unreachable and no lease is left: somebody else has to decide.
  bool IsAlone(int64_t now_ns) {
    return unreachable_ && !HasCurrent(now_ns) && SafeLease(now_ns) == nullptr;
  }
  // What was decided so; there is still work to do. The server is not told of it.
  void CountAlone(double cost, bool admitted);
  // A piece is done.
  void Settle(double estimate, const WorkDone& done);

  // Somebody waits for room for a piece of this cost, or has gone.
  void AddWaiter(double cost) { ++waiters_[cost]; }
  void RemoveWaiter(double cost) {
    const auto found = waiters_.find(cost);
    if (found != waiters_.end() && --found->second == 0) waiters_.erase(found);
  }
  bool HasWaiters() const { return !waiters_.empty(); }

  // The Check to send now; none: there is nothing to ask, or one is under way. What is returned
  // with it is not among TakeReturns any more. Its max_wait is the most that it may have.
  std::optional<CheckRequest> NextAsk(int64_t now_ns);
  // What became of it.
  void OnAnswer(const Answer& answer, int64_t now_ns);
  void OnError(const absl::Status& status, bool unreachable, int64_t now_ns);
  // An order: what was granted in any other state than this one is given back, and what is granted
  // in another by an answer that is under way. What was denied may be had now.
  void OnState(uint64_t state, int64_t now_ns);
  // Whether nothing is held, and nothing is to be had: no order matters.
  bool IsIdle() const {
    return closed_ || (held_.empty() && !asking_ && !wanted_ && waiters_.empty());
  }
  bool is_asking() const { return asking_; }
  // When to look again whether something is to be asked or returned, if nothing happens before.
  int64_t NextLook(int64_t now_ns) const;

  // Leases that are over go back, and counts that none takes with it in time go alone: refusals
  // that the answer to an ask has not explained within a lease's time had no room.
  void RetireOver(int64_t now_ns);
  // All go back, and nothing is admitted any more.
  void Close();
  std::vector<PermitReport> TakeReturns() { return std::exchange(returns_, {}); }

  LeaseStats stats(int64_t now_ns) const;

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  struct Held {
    std::optional<uint64_t> permit_id;
    double amount = 0;
    double left = 0;
    int64_t pieces = 0;
    int64_t half_ns = 0, ends_ns = 0;
    double largest_piece = 0;
    double reject_ratio = 0;
    bool one_at_a_time = false;
    bool is_plain = false;                      // the permit of a server that knows no leases
    ToldWork::Predicted predicted = {};         // of one estimated unit
    double safe_rate = 0;                       // in a nanosecond
    int64_t safe_at_ns = 0, safe_until_ns = 0;  // what it has come to until then is in `safe_left`
    double safe_left = 0, safe_spent = 0;
    uint64_t state = 0;        // in which it was granted
    PieceCount admitted = {};  // what its pieces are counted as
  };
  struct Denial {
    Cause cause;
    int64_t until_ns = kNever;  // kNever: for good
    double least = 0;           // what was denied
  };

  bool HasCurrent(int64_t now_ns) const;
  // The one whose safe rate is spent where nobody answers, or will be when it is over. Null: none.
  Held* SafeLease(int64_t now_ns);
  Admission Take(Held& lease, double cost);
  // What a lease allows of a piece, its amount aside. None: it allows it.
  std::optional<Admission> RefusedBy(const Held& lease, double cost);
  Admission TakeSafely(Held& lease, double cost, int64_t now_ns);
  Admission Refuse(double cost, const Cause& cause, std::optional<absl::Duration> retry_after);
  // When counts go alone, if no lease takes them before.
  int64_t CountsDue(int64_t now_ns) const;
  void ReturnCounts();
  // There is no room for it.
  Admission RefuseForRoom(double cost, int64_t now_ns);
  void RetireFront();
  void ReturnSafe();
  void Return(const Held& lease);
  // For how long an ask may stand in line.
  absl::Duration MostWait(int64_t now_ns) const;
  // Those of another state.
  void RetireUnlike(uint64_t state);
  bool WantsAnother(int64_t now_ns) const;
  // The largest piece that waits does not fit into what is held.
  bool LacksRoomForWaiters(int64_t now_ns) const {
    return !waiters_.empty() && std::none_of(held_.begin(), held_.end(), [&](const Held& lease) {
      return now_ns < lease.ends_ns && lease.left >= waiters_.rbegin()->first;
    });
  }
  double PieceNeeded() const;
  double LeastNeeded() const;
  double MostWanted(double least, int64_t now_ns);

  const LeaseOptions options_;
  Jitter& jitter_;
  std::deque<Held> held_;     // the current one, and the next
  std::optional<Held> safe_;  // over, and kept for its safe rate
  std::map<double, int> waiters_;
  RefusedPieces refused_;
  std::vector<PermitReport> returns_;
  std::optional<Denial> denial_;
  Refusal refusal_ = Refusal::kCounts;  // of the piece that is looked at
  absl::Status error_;
  bool closed_ = false;
  bool unreachable_ = false;
  bool wanted_ = true;  // somebody asked for a piece since there was a lease
  double needed_ = 0;   // the largest piece that found no room since the last answer
  double piece_;        // the smallest amount to ask for
  bool asking_ = false;
  uint64_t state_ = 0;         // of the newest order
  bool is_overtaken_ = false;  // an order came since the ask was sent
  double asked_most_ = 0;
  double asked_least_ = 0;
  double asked_piece_ = 0;  // what was needed of that
  int64_t asked_at_ns_ = 0;
  int64_t ask_not_before_ns_ = 0;
  int failures_ = 0;
  double rate_ = 0;  // spent in a nanosecond
  double spent_since_ = 0;
  int64_t since_ns_ = 0;
  // What there is ever room for, as far as is known: see LeastNeeded.
  double most_of_least_ = std::numeric_limits<double>::infinity();
  bool ran_out_ = false;    // since the last ask
  bool was_whole_ = false;  // the last grant was all that had been asked for
  int64_t under_way_ = 0;   // pieces of a lease that allows one at a time
  ToldWork told_;
  ToldWork::Predicted predicted_;  // of one estimated unit, by the newest lease
  LeaseStats stats_;
};

}  // namespace headgate::client::internal
