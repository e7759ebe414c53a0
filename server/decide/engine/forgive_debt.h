// What the bucket owes that an identity's work is charged to, and forgiving it.
//
// Thread-safe. For an operator, not for the path of a Check.
//
//   absl::StatusOr<ForgivenDebt> debt = Debts(core).Read({.identity = "etl", .budget = "batch"},
//   now);

#pragma once

#include <cstdint>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "server/decide/engine/budget_view.h"
#include "server/decide/engine/engine_core.h"

namespace headgate::engine {

// Whose bucket of which budget.
struct DebtQuery {
  std::string_view target = {};  // may be empty where one target is configured
  std::string_view identity = {};
  std::string_view budget = {};
  std::string_view tag_value = {};  // says which bucket, where the budget is split by a tag
};

class Debts {
 public:
  explicit Debts(EngineCore& core) : core_(core) {}

  // What Forgive would forgive, or its error. Given that, and the same `now`, it forgives just as
  // much, whatever is charged in between; less only where somebody has been refunded.
  absl::StatusOr<ForgivenDebt> Read(const DebtQuery& query, Now now) const;
  // Takes what the bucket owes, and `most_units` at most. What is reported later of permits that
  // were issued before gives nothing back. InvalidArgument as LearntCosts::Forget; NotFound:
  // target, budget, or no rule charges the identity to it; FailedPrecondition: the budget holds no
  // debt, since it has no rate.
  absl::StatusOr<ForgivenDebt> Forgive(const DebtQuery& query, Now now, double most_units);

 private:
  // In nanoseconds of virtual time; below zero: the bucket was moved to a newer policy.
  using OwedNs =
      absl::FunctionRef<int64_t(const Budget& budget, uint64_t bucket, int64_t virtual_now_ns)>;
  // Finds the bucket that the identity's work is charged to, and tells what is owed there.
  absl::StatusOr<ForgivenDebt> DebtOf(const DebtQuery& query, Now now, OwedNs owed) const;

  EngineCore& core_;
};

}  // namespace headgate::engine
