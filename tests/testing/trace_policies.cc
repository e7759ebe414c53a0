// The policies of the pool: a base, and one for each kind of change.

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "tests/testing/trace_pool.h"

namespace headgate::model {
namespace {

using engine::ActionSpec;
using engine::BudgetSpec;
using engine::ChargeAction;
using engine::MatchSpec;
using engine::Mode;
using engine::PolicySpec;
using engine::SplitByDepth;
using engine::SplitByTag;
using engine::SplitNone;
using engine::UnitsPerSecond;

constexpr size_t kBuckets = 1024;
// A trace starts on a Thursday, 2026-01-01T00:00:00Z.
constexpr int64_t kStartUnixSeconds = 1'767'225'600;

MatchSpec Identity(std::string selector) {
  MatchSpec match;
  match.identity = std::move(selector);
  return match;
}

MatchSpec Segment(std::string segment) {
  MatchSpec match;
  match.segment = std::move(segment);
  return match;
}

MatchSpec Tags(std::vector<std::pair<std::string, std::string>> tags) {
  MatchSpec match;
  match.tags = std::move(tags);
  return match;
}

MatchSpec From(std::string cidr, std::string identity = "") {
  MatchSpec match = Identity(std::move(identity));
  match.remote_address = std::move(cidr);
  return match;
}

MatchSpec During(std::string segment, engine::ScheduleSpec schedule) {
  MatchSpec match = Segment(std::move(segment));
  match.schedule = std::move(schedule);
  return match;
}

class Draft {
 public:
  explicit Draft(int family) {
    spec_.profiles = {{.name = "lag", .signals = {"replay", "write"}},
                      {.name = "disk", .signals = {"io"}}};
    if (family == 1) {
      spec_.targets = {{.name = "alpha", .capacity = 90, .default_health = "disk"},
                       {.name = "beta", .capacity = 30, .default_health = ""}};
    }
    share_ = family == 1 ? engine::RateSpec(engine::ServerShare{10}) : UnitsPerSecond{9};
    Budgets();
    Rules();
    Zeros();
  }

  BudgetSpec& At(std::string_view name) {
    return *std::find_if(spec_.budgets.begin(), spec_.budgets.end(),
                         [&](const BudgetSpec& budget) { return budget.name == name; });
  }

  void Remove(const std::string& name) {
    std::erase_if(spec_.budgets, [&](const BudgetSpec& budget) { return budget.name == name; });
    std::erase_if(spec_.rules, [&](engine::RuleSpec& rule) {
      auto* charge = std::get_if<ChargeAction>(&rule.action);
      if (charge == nullptr) return false;
      std::erase(charge->budgets, name);
      return charge->budgets.empty();
    });
  }

  BudgetSpec& Add(std::string name) {
    spec_.budgets.emplace_back().name = std::move(name);
    spec_.budgets.back().max_buckets = kBuckets;
    return spec_.budgets.back();
  }

  BudgetSpec& AddRate(std::string name, engine::RateSpec rate, engine::BurstSpec burst) {
    BudgetSpec& budget = Add(std::move(name));
    budget.rate = rate;
    budget.burst = burst;
    return budget;
  }

  void Rule(std::string name, MatchSpec match, ActionSpec action,
            absl::Time expires_at = absl::InfiniteFuture()) {
    spec_.rules.push_back({std::move(name), std::move(match), std::move(action), expires_at});
  }

  PolicySpec Take() { return std::move(spec_); }

 private:
  void Budgets() {
    AddRate("total", UnitsPerSecond{20}, 60.0);
    AddRate("tenant", UnitsPerSecond{8}, 20.0).split = SplitByTag{"tenant"};
    AddRate("team", UnitsPerSecond{15}, absl::Seconds(2)).split = SplitByDepth{1};
    BudgetSpec& job = AddRate("job", UnitsPerSecond{10}, 25.0);
    job.split = SplitByDepth{2};
    job.health = "lag";
    job.max_concurrency = 3;
    BudgetSpec& slots = Add("slots");
    slots.split = SplitByDepth{3};
    slots.max_concurrency = 2;
    Add("big").max_cost = 12;
    BudgetSpec& watch = AddRate("watch", UnitsPerSecond{3}, 12.0);
    watch.mode = Mode::kWarn;
    watch.health = "lag";
    watch.max_cost = 9;
    watch.max_concurrency = 2;
    BudgetSpec& loop = AddRate("loop", engine::AutoRate{}, 6.0);
    loop.health = "disk";
    AddRate("slow", UnitsPerSecond{1e-9}, 0.9).default_cost = 1e-3;
    AddRate("fast", UnitsPerSecond{1e15}, 1e15);
    BudgetSpec& share = AddRate("share", share_, absl::Milliseconds(1500));
    share.split = SplitByDepth{2};
    share.default_cost = 2.5;
    AddRate("odd", UnitsPerSecond{1.0 / 3}, 7.7);
    BudgetSpec& busy = AddRate("busy", UnitsPerSecond{0.5}, 3.0);
    busy.unit = engine::BudgetUnit::kBusyTime;
    busy.max_cost = 2;
    busy.max_overrun = 3;
  }

  void Rules() {
    const absl::Time start = absl::FromUnixSeconds(kStartUnixSeconds);
    Rule("all", {}, ChargeAction{{"total"}});
    Rule("ddl", Identity("ddl"), ChargeAction{{"team", "job"}});
    Rule("etl", Identity("etl"), ChargeAction{{"tenant", "watch"}});
    Rule("nightly", Identity("nightly:etl"), ChargeAction{{"watch", "odd"}});
    Rule("copier", Segment("copier"), ChargeAction{{"slots", "big", "team"}});
    Rule("batch", Tags({{"class", "batch"}}), ChargeAction{{"loop"}});
    Rule("t1 batch", Tags({{"tenant", "t1"}, {"class", "batch"}}), ChargeAction{{"slow"}});
    Rule("copied", Identity("etl"), ChargeAction{{"busy"}});
    Rule("net", From("10.0.0.0/8"), ChargeAction{{"fast"}});
    Rule("subnet", From("10.1.0.0/16"), ChargeAction{{"watch", "tenant"}});
    Rule("subnet ddl", From("10.1.2.0/24", "ddl"), ChargeAction{{"share"}});
    Rule("v6", From("2001:db8::/32"), ChargeAction{{"job"}});
    Rule("banned", Identity("banned:etl"), engine::DenyAction{}, start + absl::Hours(5));
    Rule("banned longer", Identity("banned:etl"), engine::DenyAction{}, start + absl::Hours(9));
    Rule("nights",
         During("solo", {.windows = {{0x7f, 22 * 60, 6 * 60}}, .time_zone = "Europe/Berlin"}),
         engine::DenyAction{});
    Rule("weekend", During("solo", {.windows = {{0x60, 0, 1440}}, .time_zone = ""}),
         ChargeAction{{"share"}});
    Rule("vip", Identity("vip:ddl"), engine::ExemptAction{}, start + absl::Hours(40));
    Rule("rejected", Tags({{"class", "rejected"}}), engine::RejectAction{1});
    Rule("spared", Segment("vrep"), engine::RejectAction{0});
    Rule("resumed", From("192.168.0.0/16"), engine::ResumeAction{}, start + absl::Hours(30));
    Rule("stopped", Tags({{"class", "gated"}}),
         engine::DenyAction{.lifted_by = engine::LiftedBy::kLaterResume}, start + absl::Hours(3));
    Rule("stopped by a share", Tags({{"tenant", "t2"}}),
         engine::RejectAction{.ratio = 1, .lifted_by = engine::LiftedBy::kLaterResume},
         start + absl::Hours(9));
    Rule("resumed tenant", Tags({{"tenant", "t2"}}), engine::ResumeAction{},
         start + absl::Hours(7));
    Rule("gated", Tags({{"class", "gated"}}), engine::HealthAction{"disk"});
    Rule("low", Identity("etl"), engine::PriorityAction{-3});
    Rule("lower", Identity("nightly:etl"), engine::PriorityAction{-7});
    Rule("shallow", Segment("nightly"), engine::PriorityAction{9});
  }

  // Explicit zeros, each under an identity of its own.
  void Zeros() {
    AddRate("zero rate", UnitsPerSecond{0}, 5.0);
    AddRate("zero burst", UnitsPerSecond{5}, 0.0);
    Add("zero cost").max_cost = 0;
    Add("zero slots").max_concurrency = 0;
    for (const char* name : {"rate", "burst", "cost", "slots"}) {
      Rule(std::string("no ") + name, Identity(std::string("zero:") + name),
           ChargeAction{{std::string("zero ") + name}});
    }
  }

  PolicySpec spec_;
  engine::RateSpec share_;
};

template <typename Change>
PooledPolicy Changed(int family, std::string name, Change change,
                     absl::StatusCode expected = absl::StatusCode::kOk) {
  Draft draft(family);
  change(draft);
  return {std::move(name), draft.Take(), expected};
}

void ChangeSplits(Draft& draft) {
  draft.At("total").split = SplitByDepth{1};
  draft.At("tenant").split = SplitByDepth{2};
  draft.At("team").split = SplitNone{};
  draft.At("job").split = SplitByTag{"tenant"};
  draft.At("slots").split = SplitNone{};
}

void ChangeRates(Draft& draft) {
  draft.At("total").rate = UnitsPerSecond{7};
  draft.At("tenant").rate = UnitsPerSecond{24};
  draft.At("team").burst = absl::Seconds(1);
  draft.At("job").rate = UnitsPerSecond{100.0 / 3};
  draft.At("job").max_concurrency = 1;
  draft.At("slots").max_concurrency = 4;
  draft.At("watch").rate = UnitsPerSecond{0.7};
  draft.At("slow").rate = UnitsPerSecond{2e-9};
  draft.At("odd").rate = UnitsPerSecond{0.1};
}

void StopRates(Draft& draft) {
  for (const char* name : {"total", "tenant", "watch", "odd"}) {
    draft.At(name).rate = UnitsPerSecond{0};
  }
  draft.At("total").mode = Mode::kWarn;
}

void RemoveBudgets(Draft& draft) {
  for (const char* name : {"total", "tenant", "job", "loop", "odd"}) draft.Remove(name);
}

void ChangeModes(Draft& draft) {
  draft.At("total").mode = Mode::kWarn;
  draft.At("job").mode = Mode::kWarn;
  draft.At("tenant").mode = Mode::kDisabled;
  draft.At("watch").mode = Mode::kEnforce;
  draft.At("big").mode = Mode::kWarn;
}

void ChangeProfiles(Draft& draft) {
  draft.At("job").health = "disk";
  draft.At("watch").health = "disk";
  draft.At("total").health = "lag";
  draft.At("tenant").max_buckets = kBuckets / 2;
  draft.At("team").max_buckets = 2 * kBuckets;
}

void ChangeAutos(Draft& draft) {
  draft.At("loop").rate = UnitsPerSecond{2};
  draft.At("odd").rate = engine::AutoRate{};
  draft.At("total").rate = engine::AutoRate{};
}

void ChangeSplitsAndSizes(Draft& draft) {
  ChangeSplits(draft);
  for (const char* name : {"total", "tenant"}) draft.At(name).max_buckets = 2 * kBuckets;
  draft.At("total").rate = UnitsPerSecond{40};
}

void ChargeTooMany(Draft& draft) {
  ChargeAction many;
  for (int i = 0; i < 17; ++i) {
    many.budgets.push_back("extra " + std::to_string(i));
    draft.Add(many.budgets.back()).max_cost = 50;
  }
  draft.Rule("greedy", Segment("greedy"), many);
  draft.At("total").rate = UnitsPerSecond{100};
}

std::vector<PooledPolicy> Make(int family) {
  const auto change = [&](std::string name, auto how, auto... expected) {
    return Changed(family, std::move(name), how, expected...);
  };
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  constexpr auto kTooMuch = absl::StatusCode::kResourceExhausted;
  return {
      change("base", [](Draft&) {}),
      change("other rates", ChangeRates),
      change("rates of zero", StopRates),
      change("other splits", ChangeSplits),
      change("other splits and sizes", ChangeSplitsAndSizes),
      change("budgets gone", RemoveBudgets),
      change("other modes", ChangeModes),
      change("other profiles and sizes", ChangeProfiles),
      change("auto and not", ChangeAutos),
      change("too many budgets for one", ChargeTooMany),
      change(
          "a rate that is no number", [&](Draft& d) { d.At("job").rate = UnitsPerSecond{kNaN}; },
          kInvalid),
      change(
          "an unknown budget", [](Draft& d) { d.Rule("bad", {}, ChargeAction{{"no such"}}); },
          kInvalid),
      change(
          "too much memory", [](Draft& d) { d.At("team").max_buckets = 1 << 16; }, kTooMuch),
  };
}

}  // namespace

const std::vector<PooledPolicy>& Policies(int family) {
  static const auto* const kFamiliesOfPolicies =
      new std::vector<std::vector<PooledPolicy>>{Make(0), Make(1)};
  return (*kFamiliesOfPolicies)[static_cast<size_t>(family)];
}

}  // namespace headgate::model
