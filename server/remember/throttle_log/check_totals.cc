#include "server/remember/throttle_log/check_totals.h"

#include <utility>

namespace headgate::throttle_log {
namespace {

bool IsOf(const CheckTotal& kind, const RowKey& key) {
  return kind.outcome == key.outcome && kind.reason == key.cause.reason &&
         kind.limit == key.cause.limit && kind.target == key.target &&
         kind.budget == key.cause.budget && kind.signal == key.cause.signal;
}

}  // namespace

void CheckTotals::Add(const RowKey& key, const Counts& counts) {
  if (last_ == nullptr || !IsOf(last_->first, key)) {
    CheckTotal kind{.target = key.target,
                    .outcome = key.outcome,
                    .reason = key.cause.reason,
                    .limit = key.cause.limit,
                    .budget = key.cause.budget,
                    .signal = key.cause.signal};
    if (all_.size() >= most_ && !all_.contains(kind)) {
      kind.target.clear();
      kind.budget.clear();
      kind.signal.clear();
    }
    last_ = &*all_.try_emplace(std::move(kind)).first;
  }
  last_->second.checks += counts.checks;
  last_->second.cost += counts.cost;
}

}  // namespace headgate::throttle_log
