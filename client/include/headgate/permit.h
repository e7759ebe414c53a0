// Permit: leave to do one chunk of work. It tells Headgate what the work cost, by itself if need
// be.
//
// A permit reports exactly once: when Report is called, or else when it is destroyed, after an
// exception as well. What it reports by itself is its busy time, from the answer to the report, and
// no cost: that is right for every budget. Until then it holds its place in budgets that limit
// concurrency; the server takes that back after its permit_ttl.
//
// Reporting neither blocks nor fails for want of a connection: see Client::Report. A permit that
// outlives its Client does no harm, but is not reported any more, only counted as dropped.
//
// Thread-compatible; move-only. A permit that was moved from, like one made by default, holds
// nothing.
//
//   absl::StatusOr<Permit> permit = client->CheckOrWait({.estimated_cost = 500}, absl::Minutes(5));
//   if (!permit.ok()) return permit.status();
//   const int rows = CopyNextChunk();
//   permit->Report({.actual_cost = rows});  // the estimate was in rows, too

#ifndef HEADGATE_PERMIT_H_
#define HEADGATE_PERMIT_H_

#include <headgate/check.h>
#include <headgate/time_source.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace headgate::client {

namespace internal {
class Core;
}

class Permit {
 public:
  Permit() = default;
  ~Permit() { Settle(); }
  Permit(Permit&& other) noexcept;
  // Settles the permit that was held here before.
  Permit& operator=(Permit&& other) noexcept;

  // Without a cost the predicted one stands; without a busy time it is the time since the permit
  // was granted. Only the first call counts. InvalidArgument unless the cost is from 0 to kMaxCost
  // and the busy time finite and not below zero: the permit is then as it was.
  absl::Status Report(const WorkDone& done = {});
  // Reports nothing, now or later: what was predicted stays charged.
  void Dismiss() { core_ = nullptr; }

  // The answer that granted it; the advised size of the next chunk is there.
  const Answer& answer() const { return answer_; }
  // Given by the client itself, because Headgate was unreachable. There is nothing to report.
  bool local() const { return answer_.local; }
  // Since it was granted.
  absl::Duration Elapsed() const;

 private:
  friend class internal::Core;
  Permit(std::shared_ptr<internal::Core> core, Answer answer);

  void Settle() noexcept;

  std::shared_ptr<internal::Core> core_;  // null: nothing to report
  std::shared_ptr<TimeSource> time_;
  absl::Duration granted_at_;
  Answer answer_;
};

}  // namespace headgate::client

#endif  // HEADGATE_PERMIT_H_
