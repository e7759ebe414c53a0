#include "tests/sim/leases/killed_server.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/lease_holder.h"
#include "server/decide/engine/engine.h"
#include "tests/sim/leases/timeline.h"

namespace headgate::leases {
namespace {

using client::internal::LeaseHolder;

constexpr absl::Duration kWay = absl::Microseconds(500);
constexpr absl::Duration kCallFails = absl::Milliseconds(250);
constexpr absl::Duration kBeforeTheKill = absl::Seconds(5);
constexpr absl::Duration kLook = absl::Milliseconds(1);

engine::PolicySpec OneBudgetOf(const KilledServerOptions& options) {
  engine::PolicySpec policy;
  engine::BudgetSpec& budget = policy.budgets.emplace_back();
  budget.name = "b";
  budget.rate = engine::UnitsPerSecond{options.rate};
  budget.burst = options.burst;
  engine::RuleSpec& rule = policy.rules.emplace_back();
  rule.name = "charge";
  rule.action = engine::ChargeAction{{"b"}};
  return policy;
}

class OneOfTwenty {
 public:
  OneOfTwenty(Timeline& timeline, engine::Engine& engine, int number,
              const KilledServerOptions& options)
      : timeline_(timeline),
        engine_(engine),
        identity_(absl::StrCat("h", number, ":etl")),
        cost_(1 + number % 5),
        jitter_(options.seed + static_cast<uint64_t>(number)),
        holder_({.identity = identity_, .piece = cost_, .safe_time = options.safe_time}, jitter_) {}

  void Work(bool is_killed) {
    while (holder_.Admit(cost_, timeline_.now_ns()).admitted) spent_ += cost_;
    std::optional<client::CheckRequest> ask = holder_.NextAsk(timeline_.now_ns());
    for (const client::PermitReport& report : holder_.TakeReturns()) {
      if (!is_killed) timeline_.After(kWay, [this, report] { Settle(report); });
    }
    if (!ask.has_value()) return;
    if (is_killed) {
      timeline_.After(kCallFails, [this] {
        holder_.OnError(absl::UnavailableError("gone"), true, timeline_.now_ns());
      });
    } else {
      timeline_.After(kWay, [this, asked = *std::move(ask)] { Arrive(asked); });
    }
  }
  double spent() const { return spent_; }
  client::LeaseStats stats() const { return holder_.stats(timeline_.now_ns()); }

 private:
  Now Time() const {
    const int64_t now_ns = timeline_.now_ns() + 1'000'000'000;
    return {.monotonic_ns = now_ns, .wall_ns = now_ns};
  }
  void Settle(const client::PermitReport& report) {
    if (report.permit_id == 0) return;
    const client::LeaseUse& use = *report.lease_use;
    (void)engine_.Report(report.permit_id,
                         {.spent = engine::ActualCost::Spent{.estimate = use.spent,
                                                             .pieces = use.pieces,
                                                             .safe_estimate = use.safe_spent}},
                         Time());
  }
  void Arrive(const client::CheckRequest& ask) {
    if (ask.lease->returned.has_value()) Settle(*ask.lease->returned);
    const engine::LeaseTerms terms{.least = ask.lease->least,
                                   .life = ask.lease->time,
                                   .safe_rate = ask.lease->safe_rate,
                                   .safe_life = ask.lease->safe_time};
    engine::CheckAnswer decided;
    const absl::Status checked = engine_.Check(
        {.identity = identity_, .estimated_cost = ask.estimated_cost, .lease = &terms}, Time(),
        decided);
    if (!checked.ok()) return timeline_.Violate(std::string(checked.message()));
    client::Answer answer{.predicted_cost = decided.predicted_cost};
    if (decided.verdict == engine::Verdict::kAllowed) {
      answer.verdict = client::Verdict::kAllowed;
      answer.permit_id = decided.permit;
      answer.lease = client::GrantedLease{.amount = decided.grant.amount,
                                          .time = decided.grant.time,
                                          .safe_rate = decided.grant.safe_rate,
                                          .safe_time = decided.grant.safe_time};
    } else {
      answer.reason = client::Reason::kCapacity;
      answer.retry_after = decided.retry_after;
    }
    timeline_.After(kWay, [this, answer] { holder_.OnAnswer(answer, timeline_.now_ns()); });
  }

  Timeline& timeline_;
  engine::Engine& engine_;
  const std::string identity_;
  const double cost_;
  client::internal::Jitter jitter_;
  LeaseHolder holder_;
  double spent_ = 0;
};

}  // namespace

SafeSpending SpendAfterTheKill(const KilledServerOptions& options) {
  Timeline timeline(options.seed);
  engine::EngineOptions small;
  small.seed = 7;
  small.max_permits = 1024;
  small.max_permit_share = 1;
  engine::Engine engine(small);
  if (!engine.Install(OneBudgetOf(options), {.monotonic_ns = 1'000'000'000, .wall_ns = 1}).ok()) {
    return {.over = options.rate};
  }
  std::vector<std::unique_ptr<OneOfTwenty>> holders;
  for (int i = 0; i < options.holders; ++i) {
    holders.push_back(std::make_unique<OneOfTwenty>(timeline, engine, i, options));
  }
  const auto sum = [&](auto of) {
    double all = 0;
    for (const auto& holder : holders) all += of(*holder);
    return all;
  };
  const auto work_for = [&](absl::Duration time, bool is_killed, auto then) {
    const int64_t end_ns = timeline.now_ns() + absl::ToInt64Nanoseconds(time);
    while (timeline.now_ns() < end_ns) {
      bool is_over = false;
      timeline.After(kLook, [&] { is_over = true; });
      while (!is_over) timeline.Step();
      for (const auto& holder : holders) holder->Work(is_killed);
      then();
    }
  };
  work_for(kBeforeTheKill, false, [] {});
  // What is on its way arrives.
  bool has_arrived = false;
  timeline.After(4 * kWay, [&] { has_arrived = true; });
  while (!has_arrived) timeline.Step();
  SafeSpending spending{.held = sum([](const OneOfTwenty& holder) { return holder.stats().held; })};
  const auto spent = [](const OneOfTwenty& holder) { return holder.spent(); };
  const double before = sum(spent);
  const int64_t killed_ns = timeline.now_ns();
  const auto note = [&] {
    const double due =
        spending.held + options.rate * 1e-9 * static_cast<double>(timeline.now_ns() - killed_ns);
    spending.over = std::max(spending.over, sum(spent) - before - due);
  };
  // The leases, their safe times, and a lease's time for what had been asked for.
  work_for(options.safe_time + absl::Seconds(3), true, note);
  const double until_over = sum(spent);
  spending.safely = until_over - before - spending.held;
  work_for(absl::Seconds(2), true, note);
  spending.afterwards = sum(spent) - until_over;
  return spending;
}

}  // namespace headgate::leases
