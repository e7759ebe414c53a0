
#include "server/serve/web/metrics.h"

namespace headgate::web {
namespace {

void AddBudgets(const engine::Engine& engine, Now now, Exposition& out) {
  auto rate =
      out.Gauge("headgate_budget_rate",
                "Rate of a budget at speed 1, in cost units a second; of an auto budget the "
                "rate that was found.");
  auto burst = out.Gauge("headgate_budget_burst",
                         "The most debt that a bucket of the budget may hold, in cost units.");
  auto debt = out.Gauge("headgate_budget_debt",
                        "Debt of the budget's bucket, in its unit; of a split budget, of its "
                        "fullest.");
  auto speed =
      out.Gauge("headgate_budget_speed", "Speed of the clock that the budget's buckets live on.");
  auto outstanding = out.Gauge("headgate_budget_permits_outstanding",
                               "Permits of the budget that are neither reported nor expired, where "
                               "they are limited.");
  auto limit = out.Gauge("headgate_budget_permits_limit",
                         "The budget's max_concurrency; of a split budget, of each bucket.");
  auto owing = out.Gauge("headgate_budget_buckets_owing", "Buckets of the budget that hold debt.");
  auto capacity =
      out.Gauge("headgate_budget_buckets_capacity", "Buckets that a split budget has room for.");
  auto evicted = out.Counter("headgate_budget_live_evictions_total",
                             "Buckets of a split budget that were evicted while they held debt, "
                             "which the newcomer inherited.");
  auto overruns =
      out.Counter("headgate_budget_overruns_total",
                  "Reports that the budget was not charged in full, since they were too "
                  "far above what was predicted (max_overrun).");
  auto overrun_sum = out.Counter("headgate_budget_overrun_units_total",
                                 "What such Reports were not charged, in the budget's unit.");
  for (const engine::BudgetView& budget : engine.ReadBudgets(now)) {
    const auto set = [&](auto& family, auto number) {
      family.Set({{"target", budget.target}, {"budget", budget.budget}}, number);
    };
    if (budget.rate.has_value()) set(rate, *budget.rate);
    if (budget.burst.has_value()) {
      set(burst, *budget.burst);
      set(debt, budget.debt);
      set(speed, budget.speed);
      set(owing, budget.buckets_owing);
      set(overruns, budget.overruns);
      set(overrun_sum, budget.overrun_sum);
    }
    if (budget.outstanding.has_value()) set(outstanding, *budget.outstanding);
    if (budget.max_concurrency.has_value()) set(limit, *budget.max_concurrency);
    if (budget.buckets == 0) continue;
    set(capacity, budget.buckets);
    set(evicted, budget.live_evictions);
  }
}

void AddLeases(const engine::Engine& engine, const EngineFigures& of, Exposition& out) {
  auto leases = out.Gauge("headgate_leases", "Leases on the target whose time is not over.");
  auto holders = out.Gauge("headgate_lease_holders", "Identities that hold them.");
  auto amount = out.Gauge("headgate_lease_amount",
                          "What they were granted together, as their holders estimate it.");
  auto overdue = out.Gauge("headgate_leases_overdue",
                           "Leases that were not returned before their time was over, in the last "
                           "ten minutes: they count as used.");
  for (const engine::LeasesOfTarget& target :
       engine.ReadLeases({.not_on = of.targets_elsewhere}, of.now).targets) {
    const auto set = [&](auto& family, auto number) {
      family.Set({{"target", target.target}}, number);
    };
    set(leases, target.sums.leases);
    set(holders, target.sums.holders);
    set(amount, target.sums.amount);
    set(overdue, target.sums.overdue);
  }
}

}  // namespace

void AddEngine(const engine::Engine& engine, const EngineFigures& of, Exposition& out) {
  const Now now = of.now;
  AddBudgets(engine, now, out);
  AddLeases(engine, of, out);
  const engine::Engine::PermitStats permits = engine.ReadPermitStats(now);
  out.Gauge("headgate_permits_outstanding", "Permits that are neither reported nor expired.")
      .Set({}, permits.live);
  out.Gauge("headgate_permits_capacity", "Permits that there is room for.")
      .Set({}, permits.capacity);
  out.Gauge("headgate_permits_overdue",
            "Permits that have expired without a Report, and that a Report would still settle.")
      .Set({}, permits.overdue);
  out.Counter(
         "headgate_permits_abandoned_total",
         "Permits that expired without a Report and were forgotten when their place was needed.")
      .Set({}, permits.abandoned);
  out.Counter(
         "headgate_permits_recycled_early_total",
         "Permits that lost their place, and so their refund, before they expired, because their "
         "holder had its share of the table.")
      .Set({}, permits.recycled_early);
  out.Counter("headgate_permits_turned_away_total",
              "Checks that were turned away because their holder had its share of the permits, or "
              "none was left.")
      .Set({}, permits.turned_away);
  out.Counter("headgate_permits_withheld_total",
              "Checks that were charged but given no permit, because their holder had its share.")
      .Set({}, permits.without);
  out.Gauge("headgate_permits_most_for_one", "Permits that one who has none could come to now.")
      .Set({}, permits.most_for_one);
  const auto holders = engine.ReadPermitHolders(1);
  out.Gauge("headgate_permits_largest_holder", "Permits of the holder that has most.")
      .Set({}, holders.empty() ? 0 : holders[0].permits);
}

}  // namespace headgate::web
