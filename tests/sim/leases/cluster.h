// Cluster: servers with the real Engine and its lines, and everything that happens to them: they
// stop and start, are killed, hand their target over and take it over, get other policies and other
// speeds.
//
// One server is alone, and decides for the target kAlone. What it saves when it stops the next
// process goes on from; of one that is killed that is a copy up to a second old. Two others share
// the target kShared: one hands it over, or is killed, and then somebody takes it over from a copy
// in the store and with full buckets, once as much time has passed as a lease of the store takes.
//
// Thread-compatible.
//
//   cluster.Ask(ask, [&](const Reply& reply) { ... });
//   cluster.Report(target, report, [&](Acknowledged acknowledged) { ... });

#pragma once

#include <headgate/check.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/decide/engine/engine.h"
#include "server/decide/line/waiting_lines.h"
#include "tests/sim/leases/model_policy.h"
#include "tests/sim/leases/observer.h"
#include "tests/sim/leases/timeline.h"

namespace headgate::leases {

// What each safeguard is for shows where it is missing.
enum class Broken : uint8_t {
  kNothing,
  kRestore,   // a server that stops does not save its state
  kHandover,  // who takes a target over gets no state
  kReturns,   // half of what was spent is given back besides
  kClock,     // a holder's clock runs at half the speed
};

struct Ask {
  AskedFor what;
  std::string request_id = {};
  std::optional<client::PermitReport> returned = {};
  absl::Duration time = absl::ZeroDuration();  // of the lease
  double safe_rate = 0;                        // that it would go on with, for so long
  absl::Duration safe_time = absl::ZeroDuration();
  absl::Duration max_wait = absl::ZeroDuration();  // zero: it does not wait
};

struct Reply {
  absl::Status status = {};  // Unavailable: nobody decides
  client::Answer answer = {};
  // Of what is admitted: what is known of it, and what the server said.
  SharedLease lease = {};
  std::shared_ptr<const engine::CheckAnswer> decided = {};
  uint64_t process = 0;  // which said it
};

class Cluster {
 public:
  using Replied = std::function<void(const Reply&)>;

  Cluster(Timeline& timeline, Observer& observer, Broken broken);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // `replied` is called once, or never where its server dies before.
  void Ask(const leases::Ask& ask, const Replied& replied);
  // Whether it has been taken, or is refused for good; else nobody has.
  bool Report(int target, const client::PermitReport& report);
  // Its answer could not be delivered.
  void Withdraw(const leases::Ask& ask, const Reply& reply);

  // What happens to servers; see above.
  void StopOne();
  void KillOne();
  void MoveTarget();
  void ChangePolicy();
  void ChangeHealth();
  int64_t restarts() const { return restarts_; }
  int64_t kills() const { return kills_; }
  int64_t moves() const { return moves_; }
  // Those who wait get what is due to them, and copies are made.
  void Advance();
  // When to call it again, if nothing happens before.
  int64_t NextDue() const;

 private:
  struct Server;
  class InLine;
  struct Stored;

  Now NowOf(const Server& server) const;
  std::unique_ptr<engine::Engine> NewEngine() const;
  // Any; null: it does not run.
  Server* PickRunning();
  Server* OwnerOf(int target);
  bool IsOwner(const Server& server, int target) const;
  void Settle(Server& server, const client::PermitReport& report);
  Reply ReplyTo(const Server& server, const leases::Ask& ask, const engine::CheckAnswer& answer);
  void End(Server& server);
  void Copy(Server& server);
  void Store(Server& server);
  static constexpr int kAlone = 0, kShared = 1;  // places in kTargets
  enum class Final : uint8_t { kNo, kYes };
  void StoreTarget(size_t target, Final is_final);
  // A new process: from its copy, or knowing nothing.
  void StartFromCopy(Server& server);
  void StartEmpty(Server& server);
  void StartProcess(Server& server);
  void Open(Server& server);
  void HandOver();
  void TakeUp();
  void DrainLine(Server& server);
  void SetHealth(Server& server, size_t target);

  Timeline& timeline_;
  Observer& observer_;
  const Broken broken_;
  ModelPolicy policy_;
  std::array<std::unique_ptr<Server>, 3> servers_;
  std::array<std::unique_ptr<Stored>, kTargets.size()> stored_;
  std::array<double, kTargets.size()> speeds_ = {1, 1};
  std::array<bool, kTargets.size()> gates_shut_ = {};
  int64_t restarts_ = 0, kills_ = 0, moves_ = 0;
};

}  // namespace headgate::leases
