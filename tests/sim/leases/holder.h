// Holder: a job that works by leases, with the C++ SDK's real LeaseHolder, and what the SDK does
// around it: calls with deadlines that are repeated under one request id, and returns that are sent
// until somebody has taken them.
//
// Thread-compatible.
//
//   Holder holder(world, {.identity = "h1:a:etl"});
//   holder.Start();
//   holder.Die();

#pragma once

#include <headgate/check.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/jitter.h"
#include "client/lease_holder.h"
#include "tests/sim/leases/cluster.h"
#include "tests/sim/leases/holder_reference.h"
#include "tests/sim/leases/link.h"
#include "tests/sim/leases/observer.h"
#include "tests/sim/leases/timeline.h"

namespace headgate::leases {

struct HolderNature {
  std::string identity;
  int team = 0;
  int target = 0;
  double least_piece = 1, largest_piece = 1;
  int pieces_at_once = 1;                        // that it tries
  absl::Duration pause = absl::Milliseconds(5);  // between two tries
  absl::Duration time = absl::Seconds(1);        // of a lease
  bool waits_in_line = true;
  // For how long it would go on where nobody answers. The clock of one that does is never set.
  absl::Duration safe_time = absl::ZeroDuration();
};

class Holder {
 public:
  Holder(Timeline& timeline, Cluster& cluster, Observer& observer, HolderNature nature,
         Broken broken);

  void Start();
  // Its process is gone, with all that it knew; another one begins.
  void Die();
  // It gives back what it has, and begins anew.
  void Close();
  // Nothing of it happens for so long.
  void Stall(absl::Duration time);
  // Forwards or backwards, if it can be.
  void SetClock(absl::Duration by);
  Link& link() { return link_; }

  // In all its lives.
  int64_t admitted() const { return admitted_; }

 private:
  struct Call {
    uint64_t number = 0;
    client::CheckRequest ask;
    int64_t asked_at_ns = 0;  // by its own clock
    absl::Duration max_wait = absl::ZeroDuration();
  };

  int64_t Clock() const;
  void Tick();
  void Work();
  bool TryPiece(double cost, client::internal::LeaseHolder::Refusal refusal);
  void FinishPieces();
  void Hear(const client::PermitReport& report);
  void Begin(client::CheckRequest ask);
  void Attempt(uint64_t number);
  void GiveUp(uint64_t number);
  void Arrived(uint64_t number, const Reply& reply);
  void Failed(const absl::Status& status, bool unreachable);
  void Deliver(const client::PermitReport& report);
  void SendReport(uint64_t number);
  void Renew();
  // What happens while it stands still happens after that.
  bool Postpone(const std::function<void()>& what);

  Timeline& timeline_;
  Cluster& cluster_;
  Observer& observer_;
  const HolderNature nature_;
  const Broken broken_;
  Chance chance_;
  Link link_;

  std::unique_ptr<client::internal::Jitter> jitter_;
  std::unique_ptr<client::internal::LeaseHolder> holder_;
  std::unique_ptr<HolderReference> reference_;
  std::optional<Call> call_;
  std::map<uint64_t, client::PermitReport> unsent_;
  std::vector<std::pair<SharedLease, double>> under_way_;  // pieces, with their estimates
  double waits_for_ = 0;                                   // a piece of this cost; 0: nothing
  uint64_t numbers_ = 0;                                   // of calls and reports
  int64_t stalled_until_ns_ = 0;
  int64_t clock_offset_ns_ = 1'000'000'000;
  int64_t set_back_until_ns_ = 0;
  int64_t admitted_ = 0;
};

}  // namespace headgate::leases
