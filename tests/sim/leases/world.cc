#include "tests/sim/leases/world.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace headgate::leases {
namespace {

constexpr int kHoldersOfATeam = 3;  // on each target

}  // namespace

World::World(const WorldOptions& options)
    : timeline_(options.seed),
      observer_(timeline_, ModelPolicy()),
      cluster_(timeline_, observer_, options.broken),
      broken_(options.broken) {
  AddHolders();
  AddCheckers();
  HolderFault();
  ServerFault();
  Order();
  Trim();
}

void World::AddHolders() {
  Chance& chance = timeline_.chance();
  for (int i = 0; i < kHoldersOfATeam * static_cast<int>(kTargets.size() * kTeams.size()); ++i) {
    const int team = i % static_cast<int>(kTeams.size());
    HolderNature nature{
        .identity = IdentityOf(absl::StrCat("h", i), team),
        .team = team,
        .target = i / static_cast<int>(kTeams.size()) % static_cast<int>(kTargets.size()),
        .least_piece = chance.Uniform(0.1, 2),
        .pieces_at_once = 1 + chance.Pick(30),
        .pause = chance.Between(absl::Milliseconds(2), absl::Milliseconds(40)),
        .time = chance.Happens(0.5) ? absl::Seconds(1)
                                    : chance.Between(absl::Milliseconds(100), absl::Seconds(4)),
        .waits_in_line = chance.Happens(0.7),
        .safe_time = chance.Happens(0.6) ? chance.Between(absl::Seconds(1), absl::Seconds(10))
                                         : absl::ZeroDuration()};
    nature.largest_piece = nature.least_piece * chance.Uniform(1, 8);
    holders_.push_back(
        std::make_unique<Holder>(timeline_, cluster_, observer_, std::move(nature), broken_));
    holders_.back()->Start();
  }
}

void World::AddCheckers() {
  for (int i = 0; i < 8; ++i) {
    const int team = i % static_cast<int>(kTeams.size());
    checkers_.push_back(
        std::make_unique<Checker>(timeline_, cluster_,
                                  CheckerNature{.identity = IdentityOf(absl::StrCat("c", i), team),
                                                .team = team,
                                                .target = i / static_cast<int>(kTeams.size()),
                                                .least = 0.5,
                                                .most = 40,
                                                .waits_in_line = timeline_.chance().Happens(0.5)}));
    checkers_.back()->Start();
  }
}

void World::HolderFault() {
  Chance& chance = timeline_.chance();
  Holder& holder = *holders_[static_cast<size_t>(chance.Pick(static_cast<int>(holders_.size())))];
  const absl::Duration some = chance.Between(absl::Milliseconds(50), absl::Seconds(3));
  switch (chance.Pick(8)) {
    case 0:
      holder.Die();
      ++tally_.deaths;
      break;
    case 1:
      holder.Stall(some);
      ++tally_.stalls;
      break;
    case 2:
      holder.link().Cut(Link::kToServer, some);
      ++tally_.cuts;
      break;
    case 3:
      holder.link().Cut(Link::kToClient, some);
      ++tally_.cuts;
      break;
    case 4:
      holder.link().Cut(Link::kToServer, some);
      holder.link().Cut(Link::kToClient, some);
      ++tally_.cuts;
      break;
    case 5:
      holder.SetClock(some);
      ++tally_.clocks;
      break;
    case 6:
      holder.SetClock(-some / 4);
      ++tally_.clocks;
      break;
    default:
      holder.Close();
      ++tally_.closed;
  }
  timeline_.After(chance.Between(absl::Milliseconds(10), absl::Milliseconds(200)),
                  [this] { HolderFault(); });
}

void World::ServerFault() {
  timeline_.After(timeline_.chance().Between(absl::Milliseconds(200), absl::Seconds(2)), [this] {
    switch (timeline_.chance().Pick(4)) {
      case 0:
        cluster_.StopOne();
        break;
      case 1:
        cluster_.KillOne();
        break;
      default:
        cluster_.MoveTarget();
    }
    ServerFault();
  });
}

void World::Order() {
  Chance& chance = timeline_.chance();
  timeline_.After(chance.Between(absl::Milliseconds(50), absl::Seconds(2)), [this] {
    if (timeline_.chance().Happens(0.5)) {
      cluster_.ChangePolicy();
      ++tally_.policies;
    } else {
      cluster_.ChangeHealth();
      ++tally_.speeds;
    }
    Order();
  });
}

void World::Trim() {
  observer_.Trim();
  timeline_.After(absl::Seconds(30), [this] { Trim(); });
}

void World::Run(int64_t steps) {
  for (int64_t i = 0; i < steps && violation().empty(); ++i) {
    for (int64_t due_ns = cluster_.NextDue(); due_ns <= timeline_.NextAt();
         due_ns = cluster_.NextDue()) {
      timeline_.MoveTo(due_ns);
      cluster_.Advance();
    }
    timeline_.Step();
    cluster_.Advance();
  }
}

double World::over_admitted() const {
  const double excess = observer_.excess();
  return excess <= kRounding ? 0 : excess;
}

WorldTally World::tally() const {
  WorldTally tally = tally_;
  for (const auto& holder : holders_) tally.pieces += holder->admitted();
  for (const auto& checker : checkers_) tally.checks += checker->admitted();
  tally.grants = observer_.granted();
  tally.returns = observer_.settled();
  tally.counted = observer_.counted();
  tally.spent_safely = observer_.safely();
  tally.restarts = cluster_.restarts();
  tally.kills = cluster_.kills();
  tally.moves = cluster_.moves();
  return tally;
}

uint64_t World::fingerprint() const {
  const WorldTally all = tally();
  uint64_t sum = static_cast<uint64_t>(timeline_.now_ns());
  for (const int64_t each : {all.pieces, all.checks, all.grants, all.returns, all.counted}) {
    sum = sum * 1'000'003 + static_cast<uint64_t>(each);
  }
  return sum;
}

}  // namespace headgate::leases
