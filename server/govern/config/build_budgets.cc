// Budgets: what work may cost.

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/strings.h"
#include "server/decide/engine/bucket_table.h"
#include "server/decide/engine/policy.h"
#include "server/govern/config/builder.h"
#include "server/govern/config/suggest.h"

namespace headgate::config {
namespace {

// Of an auto budget, in busy seconds: several chunks of the size that suits a database, 5 to 50 ms.
// What jobs have not used, they may use at once, and the foreground feels it. Work of which nothing
// is known is charged all of it: one chunk at a time, until a Report says what one takes.
constexpr double kAutoBurst = 0.1;
// Not a limit that anybody should meet: permits are counted only where there is one, and the
// controller has to know how many are out to tell when the database is free of batch work.
constexpr int64_t kAutoMaxConcurrency = 10'000;

engine::Mode ModeOf(v1::Mode mode) {
  switch (mode) {
    case v1::MODE_WARN:
      return engine::Mode::kWarn;
    case v1::MODE_DISABLED:
      return engine::Mode::kDisabled;
    default:
      return engine::Mode::kEnforce;
  }
}

engine::RateSpec RateFrom(const v1::Rate& rate) {
  if (rate.has_auto_()) return engine::AutoRate{};
  if (rate.has_server_share()) return engine::ServerShare{rate.server_share()};
  return engine::UnitsPerSecond{rate.units_per_second()};
}

engine::BurstSpec BurstFrom(const v1::Burst& burst) {
  if (burst.has_duration()) return ToDuration(burst.duration());
  return burst.units();
}

class BudgetBuilder {
 public:
  // `policy` has the targets and nothing else.
  BudgetBuilder(Builder& builder, const v1::Budget& proto, engine::PolicySpec& policy)
      : builder_(builder), findings_(builder.findings), proto_(proto), policy_(policy) {}

  void Run() {
    RateAndBurst();
    Limits();
    policy_.budgets = {spec_};
    const bool fine =
        findings_.AskEngine(policy_, absl::StrCat("budget '", spec_.name, "': "), proto_);
    if (fine) CanAdmit();
    builder_.BuildAuto(proto_);
    spec_.health = proto_.health();
    builder_.RequireProfile(proto_, Proto::kHealthFieldNumber, spec_.health);
    builder_.config.policy.budgets.push_back(std::move(spec_));
  }

 private:
  using Proto = v1::Budget;

  bool Spoilt(int field) const { return findings_.positions().Spoilt(proto_, field); }

  void RateAndBurst() {
    is_auto_ = proto_.rate().has_auto_();
    if (proto_.has_rate()) spec_.rate = RateFrom(proto_.rate());
    if (proto_.has_burst()) {
      spec_.burst = BurstFrom(proto_.burst());
    } else if (is_auto_) {
      spec_.burst = kAutoBurst;
    }
    // One that could not be read may have been anything, and the other may be right beside it.
    if (!Spoilt(Proto::kRateFieldNumber) && !Spoilt(Proto::kBurstFieldNumber)) return;
    if (!spec_.rate.has_value()) spec_.rate = engine::UnitsPerSecond{1};
    if (!spec_.burst.has_value()) spec_.burst = engine::kMaxAmount;
  }

  void Limits() {
    spec_.name = NameOr(proto_.name());
    spec_.mode = ModeOf(proto_.mode());
    if (proto_.unit() == v1::UNIT_COST) spec_.unit = engine::BudgetUnit::kCost;
    if (proto_.unit() == v1::UNIT_BUSY_TIME) spec_.unit = engine::BudgetUnit::kBusyTime;
    if (proto_.has_max_overrun()) spec_.max_overrun = proto_.max_overrun();
    if (proto_.has_max_debt()) spec_.max_debt = ToDuration(proto_.max_debt());
    if (proto_.has_max_cost()) spec_.max_cost = proto_.max_cost();
    if (proto_.has_max_concurrency()) {
      spec_.max_concurrency = proto_.max_concurrency();
    } else if (is_auto_) {
      spec_.max_concurrency = kAutoMaxConcurrency;
    }
    if (proto_.has_default_cost()) {
      spec_.default_cost = proto_.default_cost();
    } else if (is_auto_) {
      const auto* const units = std::get_if<double>(&*spec_.burst);  // else it will be refused
      const double burst = units != nullptr ? *units : kAutoBurst;
      spec_.default_cost = std::min(burst, spec_.max_cost.value_or(burst));
    }
    if (proto_.split().has_depth()) spec_.split = engine::SplitByDepth{proto_.split().depth()};
    if (proto_.split().has_tag()) spec_.split = engine::SplitByTag{proto_.split().tag()};
    if (proto_.has_max_buckets()) {
      const int64_t buckets = std::max<int64_t>(proto_.max_buckets(), 0);
      spec_.max_buckets = static_cast<size_t>(buckets);
    }
  }

  // A limit below what a Check without an estimate costs is a stop in disguise.
  void CanAdmit() {
    if (spec_.mode == engine::Mode::kDisabled) return;
    const auto too_small = [&](double limit) {
      constexpr double kRounding = 1e-9;
      return limit > 0 && limit * (1 + kRounding) < spec_.default_cost;
    };
    const auto say = [&](int field, double limit, std::string_view where) {
      const std::string& name = Proto::descriptor()->FindFieldByNumber(field)->name();
      findings_.Say(proto_, field,
                    absl::StrCat(name, " of ", limit, Unit(), Sv(where),
                                 " is less than default_cost, ", spec_.default_cost,
                                 ": a Check without an estimate would never be admitted"));
    };
    if (spec_.max_cost.has_value() && too_small(*spec_.max_cost)) {
      say(Proto::kMaxCostFieldNumber, *spec_.max_cost, "");
    }
    if (!spec_.rate.has_value()) return;
    const bool one_target = policy_.targets.size() < 2;
    if (policy_.targets.empty()) policy_.targets.emplace_back();
    WarnOfMaxCost();
    for (const engine::TargetSpec& target : policy_.targets) {
      const std::optional<double> rate = engine::RateOf(spec_, target);
      const double burst = engine::BurstOf(spec_, rate);
      if (rate == 0 || !too_small(burst)) continue;
      say(Proto::kBurstFieldNumber, burst,
          one_target ? "" : absl::StrCat(" on target ", Quoted(target.name)));
      return;
    }
  }

  const char* Unit() const {
    return engine::UnitOf(spec_) == engine::BudgetUnit::kBusyTime ? " busy seconds" : " cost units";
  }

  // Says it once, however many targets there are. A burst in time is another amount on each target
  // whose capacity is another.
  void WarnOfMaxCost() {
    if (is_auto_ || !spec_.max_cost.has_value()) return;
    constexpr size_t kMostNamed = 3;
    std::vector<std::string> places;
    size_t above = 0;
    std::set<double> bursts;
    for (const engine::TargetSpec& target : policy_.targets) {
      const std::optional<double> rate = engine::RateOf(spec_, target);
      const double burst = engine::BurstOf(spec_, rate);
      bursts.insert(burst);
      if (rate == 0 || burst <= 0 || *spec_.max_cost <= burst) continue;
      if (++above > kMostNamed) continue;
      places.push_back(absl::StrCat(Quoted(target.name), " (", burst, Unit(), ")"));
    }
    if (above == 0) return;
    const bool everywhere = bursts.size() == 1;
    const std::string where =
        everywhere
            ? absl::StrCat(" of ", *bursts.begin(), Unit())
            : absl::StrCat(
                  " on target ", absl::StrJoin(places, ", "),
                  above > kMostNamed ? absl::StrCat(" and ", above - kMostNamed, " more") : "");
    findings_.Warn(proto_, Proto::kMaxCostFieldNumber,
                   absl::StrCat("budget ", Quoted(spec_.name), ": max_cost of ", *spec_.max_cost,
                                " is above the burst", where,
                                ": a Check that costs more than the burst is never admitted",
                                everywhere ? "" : " there", ", whatever max_cost says"));
  }

  Builder& builder_;
  Findings& findings_;
  const v1::Budget& proto_;
  engine::PolicySpec& policy_;
  engine::BudgetSpec spec_;
  bool is_auto_ = false;
};

// The engine refuses a policy whose buckets need more memory than they may have.
void CheckBucketMemory(Builder& builder) {
  const size_t targets = std::max<size_t>(builder.config.policy.targets.size(), 1);
  size_t bytes = 0;
  const v1::Budget* largest = nullptr;
  size_t most = 0;
  for (int i = 0; i < builder.proto.budgets_size(); ++i) {
    const engine::BudgetSpec& spec = builder.config.policy.budgets[static_cast<size_t>(i)];
    if (std::holds_alternative<engine::SplitNone>(spec.split) || !spec.rate.has_value() ||
        spec.mode == engine::Mode::kDisabled) {
      continue;
    }
    constexpr size_t kMaxBuckets = size_t{1} << 28;
    if (spec.max_buckets > kMaxBuckets) continue;  // which the engine has refused by itself
    const size_t capacity = engine::BucketTable::CapacityFor(spec.max_buckets);
    bytes += targets * capacity * sizeof(engine::Bucket);
    if (capacity <= most) continue;
    most = capacity;
    largest = &builder.proto.budgets(i);
  }
  if (largest == nullptr || bytes <= builder.config.engine.bucket_bytes) return;
  builder.findings.Say(
      *largest, v1::Budget::kMaxBucketsFieldNumber,
      absl::StrCat("the buckets of all split budgets on all targets take ", bytes,
                   " bytes, more than engine.bucket_bytes, ", builder.config.engine.bucket_bytes,
                   "; those of this budget take most: lower its max_buckets"));
}

}  // namespace

void Builder::BuildBudgets() {
  engine::PolicySpec policy;
  for (engine::TargetSpec target : config.policy.targets) {
    target.default_health.clear();
    policy.targets.push_back(std::move(target));
  }
  if (positions().Spoilt(proto, v1::Config::kTargetsFieldNumber) && policy.targets.empty()) {
    policy.targets.push_back({.name = "unreadable", .capacity = 1, .default_health = ""});
  }
  for (const v1::Budget& budget : proto.budgets()) BudgetBuilder(*this, budget, policy).Run();
  CheckBucketMemory(*this);
}

}  // namespace headgate::config
