// The policy of a simulation: budgets one within the other, and what an operator does to them.
//
// Identities are `leaf:team:root`. Everybody is charged to "all", to the bucket of the team, and to
// one of its own; the team "doors" holds places besides, and "soft" mostly only warns.
//
// Thread-compatible, plain data.
//
//   ModelPolicy policy;
//   policy.Change(chance);
//   engine.Install(policy.Compile(), now);
//   for (const ModelBudget* budget : policy.BudgetsOf("doors")) ...

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/decide/engine/spec.h"
#include "tests/sim/leases/chance.h"

namespace headgate::leases {

inline constexpr std::array<std::string_view, 4> kTeams = {"a", "b", "doors", "paid"};
inline constexpr std::array<std::string_view, 2> kTargets = {"orders", "users"};
inline constexpr int kDoors = 2;  // places in kTeams
inline constexpr int kPaid = 3;

// Of a job that is in this team. What things really cost is told of the team "paid", which has a
// root of its own, so that others learn nothing from it.
std::string IdentityOf(std::string_view job, int team);

struct ModelBudget {
  std::string name;
  double rate = 0;   // units a second
  double burst = 0;  // units
  int depth = 0;     // of the identity that it is split by; 0: it is not
  bool warns = false;
};

// What an order makes of a team.
enum class Standing : uint8_t { kCharged, kPaused, kExempt, kRejected };

class ModelPolicy {
 public:
  static constexpr double kRejectRatio = 0.3;
  static constexpr int kBudgets = 4;

  ModelPolicy();

  // One thing or another.
  void Change(Chance& chance);
  engine::PolicySpec Compile() const;

  const std::array<ModelBudget, kBudgets>& budgets() const { return budgets_; }
  Standing StandingOf(int team) const { return standings_[static_cast<size_t>(team)]; }
  double max_cost() const { return max_cost_; }
  int64_t places() const { return places_; }
  // How often a burst was made smaller.
  int64_t smaller_bursts() const { return smaller_bursts_; }

 private:
  void ChangeLimits(Chance& chance);

  std::array<ModelBudget, kBudgets> budgets_;
  std::array<Standing, kTeams.size()> standings_ = {};
  std::array<double, kTeams.size()> weights_ = {1, 1, 1, 1};
  double max_cost_ = 60;
  int64_t places_ = 3;
  int64_t smaller_bursts_ = 0;
};

}  // namespace headgate::leases
