// Lease: leave to do many small pieces of work, each of which is decided in this process.
//
// A Check costs a round trip. A job that works row by row holds a lease instead: an amount that was
// charged in advance, which it spends piece by piece; a thread of the lease's own asks for the next
// one before it is spent, and gives back what was not. All of that is one budget's as if each piece
// had been asked, and the throttle log counts each piece. Use it for work of more than about a
// hundred pieces a second; for less, CheckOrWait is exact and simpler.
//
// Guarantees:
// - No more is admitted than was granted, for any number of threads; no piece begins when the time
//   of its lease is over. A pause or a shut gate therefore reaches a holder within that time, and
//   mostly in milliseconds: a second thread waits for orders while anything is held.
// - Admit never blocks for longer than a lock, and makes no call.
// - While Headgate is unreachable, what is held is spent until its time is over. Then pieces are
//   admitted at the safe rate that the server has reserved for this holder, which all holders
//   together keep to; when `safe_time` is over, OnUnreachable decides each piece as it decides a
//   Check. With rate: auto or max_concurrency, or while it stands in line, a holder has no such
//   rate.
// - Close, or the destructor, gives back what is left.
//
// Thread-safe. It may be destroyed after its client, which closes it. After a fork the child must
// leave it alone.
//
//   auto lease = client->NewLease({.identity = "backfill-orders:etl"});
//   if (!lease.ok()) return lease.status();
//   for (const Row& row : rows) {
//     if (absl::Status turn = (*lease)->Wait(1, absl::Minutes(10)); !turn.ok()) return turn;
//     Write(row);
//   }

#ifndef HEADGATE_LEASE_H_
#define HEADGATE_LEASE_H_

#include <headgate/check.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headgate::client {

namespace internal {
class LeaseRunner;
}

struct LeaseOptions {
  std::string identity = {};  // who works; empty: the client's own
  std::string target = {};    // which database cluster; empty: the client's own
  std::string pattern = {};   // what kind of work
  std::map<std::string, std::string> tags = {};
  // What one piece costs, as far as is known: the smallest amount that is asked for. 0: it is
  // learnt from the pieces.
  double piece = 0;
  // For how long one lease is spent: 100 ms to 10 s. What an operator orders takes so long at most,
  // where the server cannot tell it at once.
  absl::Duration time = absl::Seconds(1);
  // For how long to go on at a safe rate where Headgate cannot be reached: at most a minute. A
  // holder that dies is charged its safe rate for so long. 0: not at all.
  absl::Duration safe_time = absl::Seconds(10);
};

// What became of a piece.
struct Admission {
  bool admitted = false;
  Reason reason = Reason::kNone;
  // Where it was refused: when it may be worth to ask again. Absent: never at this cost.
  std::optional<absl::Duration> retry_after = {};
  bool local = false;       // Headgate is unreachable: this is what OnUnreachable says
  absl::Status error = {};  // why no lease is to be had at all; OK: it is refused for now
  explicit operator bool() const { return admitted; }
};

struct LeaseStats {
  int64_t admitted = 0;  // pieces, out of what the server granted
  // By the server, by a lease, or because there was no room in it: what the throttle log has, too.
  // What OnUnreachable refuses, and what ends without anybody deciding, is not among them.
  int64_t refused = 0;
  int64_t safe = 0;   // of those admitted, at a safe rate
  int64_t local = 0;  // admitted besides, without Headgate and at no rate that it knows of
  double spent = 0;   // the sum of the estimates of those admitted
  double held = 0;    // what may be spent now
};

class Lease {
 public:
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  // Whether one piece of this cost may be done now. The cost is from 0 to kMaxCost.
  Admission Admit(double cost = 1);
  // Waits for its turn. DeadlineExceeded after max_wait (which may be infinite), FailedPrecondition
  // if the refusal is one that waiting will not change, Cancelled when `stop` is requested or the
  // lease is closed, or the server's error where no lease is to be had.
  absl::Status Wait(double cost, absl::Duration max_wait, const std::stop_token& stop = {});
  // A piece that was admitted is done, and really took something else than its estimate, where
  // `done` says so. InvalidArgument as of Client::Report. Only a budget with max_concurrency has to
  // be told of each: its pieces are done one after the other.
  absl::Status Settle(double estimate, const WorkDone& done = {});
  // Gives back what is left, and refuses from now on.
  void Close();
  LeaseStats stats() const;

 private:
  friend class Client;
  explicit Lease(std::shared_ptr<internal::LeaseRunner> runner);

  const std::shared_ptr<internal::LeaseRunner> runner_;
};

}  // namespace headgate::client

#endif  // HEADGATE_LEASE_H_
