// What happens to the servers of the simulation.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/leases/cluster.h"
#include "tests/sim/leases/cluster_server.h"

namespace headgate::leases {
namespace {

constexpr absl::Duration kCopies = absl::Seconds(1);
// A cluster's lease is 3 s, and copies are made each quarter of it.
constexpr absl::Duration kStores = absl::Milliseconds(750);
constexpr absl::Duration kClusterLease = absl::Seconds(3);

int64_t Nanoseconds(absl::Duration duration) { return absl::ToInt64Nanoseconds(duration); }

}  // namespace

std::unique_ptr<engine::Engine> Cluster::NewEngine() const {
  engine::EngineOptions options;
  options.seed = 7;
  options.permit_seed = timeline_.chance().Next();
  options.max_permits = 2048;
  options.max_permit_share = 1;
  options.max_patterns = 64;
  return std::make_unique<engine::Engine>(options);
}

void Cluster::End(Server& server) {
  server.engine = nullptr;
  server.lines = nullptr;
}

void Cluster::StartProcess(Server& server) {
  server.process = timeline_.Count();
  server.engine = NewEngine();
  server.lines = std::make_unique<line::WaitingLines>(
      line::LineOptions{}, [&server](const auto& request, Now now, auto& answer) {
        return server.engine->Check(request, now, answer);
      });
  server.lines->SetWake([&server] { server.line_due_ns = 0; });
  server.engine->AttachLine(server.lines.get());
}

void Cluster::Open(Server& server) {
  const absl::Status installed = server.engine->Install(policy_.Compile(), NowOf(server));
  if (!installed.ok()) timeline_.Violate(std::string(installed.message()));
  for (size_t i = 0; i < kTargets.size(); ++i) SetHealth(server, i);
  server.line_due_ns = 0;
  server.copy_due_ns = server.store_due_ns = timeline_.now_ns();
}

void Cluster::StartEmpty(Server& server) {
  StartProcess(server);
  Open(server);
}

void Cluster::StartFromCopy(Server& server) {
  StartProcess(server);
  Chance& chance = timeline_.chance();
  const int64_t since_ns = timeline_.now_ns() - server.copied_ns;
  // Not all of the time need be known to have passed.
  const double known = chance.Happens(0.3) ? chance.Unit() : 1;
  const auto elapsed_ns = static_cast<int64_t>(known * static_cast<double>(since_ns));
  if (broken_ != Broken::kRestore) {
    const absl::Status restored = server.engine->Restore(server.copy, NowOf(server), elapsed_ns);
    if (!restored.ok()) return timeline_.Violate(std::string(restored.message()));
  }
  if (&server == servers_[0].get()) {
    observer_.GoOnFrom(
        kAlone, server.expected,
        {.knows = Observer::Knows::kOnlyTheCopy,
         .elapsed = known < 1 ? Observer::Elapsed::kNotAll : Observer::Elapsed::kKnown,
         .elapsed_ns = elapsed_ns});
    observer_.SetHealth(kAlone, speeds_[kAlone], gates_shut_[kAlone]);
  }
  Open(server);
}

void Cluster::Copy(Server& server) {
  server.copy_due_ns = timeline_.now_ns() + Nanoseconds(kCopies);
  server.engine->Save(NowOf(server), server.copy);
  server.copied_ns = timeline_.now_ns();
  if (&server == servers_[0].get()) server.expected = observer_.Save(kAlone);
}

void Cluster::Store(Server& server) {
  server.store_due_ns = timeline_.now_ns() + Nanoseconds(kStores);
  if (stored_[kShared]->owner == &server) StoreTarget(kShared, Final::kNo);
}

void Cluster::StoreTarget(size_t target, Final is_final) {
  Stored& stored = *stored_[target];
  Server& owner = *stored.owner;
  const std::array<std::string, 1> names = {std::string(kTargets[target])};
  absl::StatusOr<engine::SavedTarget> saved =
      std::move(owner.engine->SaveTargets(names, NowOf(owner)).front());
  if (!saved.ok()) return timeline_.Violate(std::string(saved.status().message()));
  stored.state = *std::move(saved);
  stored.is_final = is_final == Final::kYes;
  stored.expected = observer_.Save(static_cast<int>(target));
  stored.smaller_bursts = policy_.smaller_bursts();
}

void Cluster::DrainLine(Server& server) {
  const Now now = NowOf(server);
  while (server.lines->Advance(now) <= now.monotonic_ns) {
  }
}

void Cluster::HandOver() {
  Stored& stored = *stored_[kShared];
  Server& owner = *stored.owner;
  StoreTarget(kShared, Final::kYes);
  stored.owner = nullptr;
  // Who waits there has to ask again.
  owner.lines->AskAgain();
  DrainLine(owner);
  (void)owner.engine->AdoptTarget(kTargets[kShared], nullptr, engine::Unsaved::kNothing,
                                  NowOf(owner));
  timeline_.After(timeline_.chance().Between(absl::Milliseconds(5), absl::Milliseconds(200)),
                  [this] { TakeUp(); });
}

void Cluster::TakeUp() {
  Stored& stored = *stored_[kShared];
  Server* server = servers_[static_cast<size_t>(1 + timeline_.chance().Pick(2))].get();
  if (server->engine == nullptr) {
    timeline_.After(absl::Milliseconds(100), [this] { TakeUp(); });
    return;
  }
  const absl::Status adopted = server->engine->AdoptTarget(
      kTargets[kShared], broken_ == Broken::kHandover ? nullptr : &stored.state,
      stored.is_final ? engine::Unsaved::kNothing : engine::Unsaved::kUpToBurst, NowOf(*server));
  if (!adopted.ok()) return timeline_.Violate(std::string(adopted.message()));
  // Where a burst has become smaller, that is what is taken to be owed.
  const bool counts_all = !stored.is_final && stored.smaller_bursts == policy_.smaller_bursts();
  observer_.GoOnFrom(
      kShared, stored.expected,
      {.knows = counts_all ? Observer::Knows::kThatBucketsAreFull : Observer::Knows::kOnlyTheCopy,
       .elapsed = Observer::Elapsed::kNotAll});
  observer_.SetHealth(kShared, speeds_[kShared], gates_shut_[kShared]);
  stored.owner = server;
  stored.is_final = false;
  ++moves_;
}

Cluster::Server* Cluster::PickRunning() {
  Server& server =
      *servers_[static_cast<size_t>(timeline_.chance().Pick(static_cast<int>(servers_.size())))];
  return server.engine == nullptr ? nullptr : &server;
}

void Cluster::StopOne() {
  Server* const server = PickRunning();
  if (server == nullptr) return;
  if (stored_[kShared]->owner == server) HandOver();
  server->lines->Close(absl::UnavailableError("stops"), NowOf(*server));
  DrainLine(*server);
  Copy(*server);
  End(*server);
  ++restarts_;
  timeline_.After(timeline_.chance().Between(absl::Milliseconds(20), absl::Seconds(1)),
                  [this, server] { StartFromCopy(*server); });
}

void Cluster::KillOne() {
  Server* const server = PickRunning();
  if (server == nullptr) return;
  End(*server);
  ++kills_;
  timeline_.After(timeline_.chance().Between(absl::Milliseconds(20), absl::Seconds(1)),
                  [this, server] { StartFromCopy(*server); });
  if (stored_[kShared]->owner != server) return;
  stored_[kShared]->owner = nullptr;
  timeline_.After(kClusterLease + absl::Milliseconds(100), [this] { TakeUp(); });
}

void Cluster::MoveTarget() {
  if (OwnerOf(kShared) != nullptr) HandOver();
}

void Cluster::ChangePolicy() {
  policy_.Change(timeline_.chance());
  observer_.SetPolicy(policy_);
  for (const auto& server : servers_) {
    if (server->engine == nullptr) continue;
    const absl::Status installed = server->engine->Install(policy_.Compile(), NowOf(*server));
    if (!installed.ok()) timeline_.Violate(std::string(installed.message()));
  }
}

void Cluster::ChangeHealth() {
  Chance& chance = timeline_.chance();
  const auto target = static_cast<size_t>(chance.Pick(static_cast<int>(kTargets.size())));
  // A sixteenth is exact in the clocks' arithmetic.
  speeds_[target] = chance.Happens(0.4) ? 1 : chance.Happens(0.2) ? 0 : chance.Pick(17) / 16.0;
  gates_shut_[target] = chance.Happens(0.1);
  observer_.SetHealth(static_cast<int>(target), speeds_[target], gates_shut_[target]);
  for (const auto& server : servers_) {
    if (server->engine != nullptr) SetHealth(*server, target);
  }
}

void Cluster::SetHealth(Server& server, size_t target) {
  const Now now = NowOf(server);
  const engine::Health health{.speed = speeds_[target],
                              .status = engine::HealthStatus::kHealthy,
                              .gate_shut = gates_shut_[target],
                              .signal = 0,
                              .sampled_at_ns = now.monotonic_ns,
                              .next_sample_at_ns = now.monotonic_ns + 100'000'000};
  const absl::Status set = server.engine->SetHealth(kTargets[target], "db", health, now);
  if (!set.ok()) timeline_.Violate(std::string(set.message()));
}

}  // namespace headgate::leases
