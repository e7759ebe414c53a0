// Validation: every error names what is wrong, and all of them come at once.

#include "server/decide/engine/policy.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

PolicySpec Valid() {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 10));
  spec.targets.resize(1);
  spec.targets[0].name = "db";
  spec.targets[0].capacity = 1000;
  spec.profiles = {{.name = "p", .signals = {"lag"}}};
  spec.budgets[0].health = "p";
  return spec;
}

struct Mistake {
  const char* name;
  std::function<void(PolicySpec&)> make;
  const char* message;
};

class PolicyMistake : public testing::TestWithParam<Mistake> {};

TEST_P(PolicyMistake, IsNamed) {
  PolicySpec spec = Valid();
  GetParam().make(spec);
  const absl::Status status = Validate(spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(Message(status).find(GetParam().message), std::string::npos) << status;
}

BudgetSpec& B(PolicySpec& spec) { return spec.budgets[0]; }
RuleSpec& R(PolicySpec& spec) { return spec.rules[0]; }
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Mistake kTargets[] = {
    {"NoName", [](auto& s) { s.targets[0].name = ""; }, "target '': has no name"},
    {"Twice", [](auto& s) { s.targets.push_back(s.targets[0]); }, "target 'db': is defined twice"},
    {"NegativeCapacity", [](auto& s) { s.targets[0].capacity = -1; },
     "target 'db': capacity must be a finite number, 0 or more; it is -1"},
    {"UnknownDefaultHealth", [](auto& s) { s.targets[0].default_health = "q"; },
     "target 'db': names an unknown health profile 'q'"},
    {"ProfileTwice", [](auto& s) { s.profiles.push_back(s.profiles[0]); },
     "health profile 'p': is defined twice"},
    {"ProfileNoName", [](auto& s) { s.profiles[0].name = ""; }, "health profile '': has no name"},
    {"TooManyThresholds", [](auto& s) { s.profiles[0].thresholds.resize(2); },
     "health profile 'p': has 1 signals and 2 thresholds"},
    {"SoftAboveHard",
     [](auto& s) {
       s.profiles[0].thresholds = {{7, 5}};
     },
     "health profile 'p': soft must be below hard; soft is 7, hard is 5"},
};

const Mistake kBudgets[] = {
    {"NoName", [](auto& s) { B(s).name = ""; }, "budget '': has no name"},
    {"Twice", [](auto& s) { s.budgets.push_back(B(s)); }, "budget 'b': is defined twice"},
    {"RateWithoutBurst", [](auto& s) { B(s).burst.reset(); },
     "budget 'b': has a rate but no burst"},
    {"BurstWithoutRate", [](auto& s) { B(s).rate.reset(); }, "budget 'b': has a burst but no rate"},
    {"NegativeRate", [](auto& s) { B(s).rate = UnitsPerSecond{-1}; },
     "budget 'b': rate must be a finite number, 0 or more; it is -1"},
    {"NaNRate", [](auto& s) { B(s).rate = UnitsPerSecond{kNaN}; },
     "budget 'b': rate must be a finite number"},
    {"HugeRate", [](auto& s) { B(s).rate = UnitsPerSecond{1e16}; },
     "budget 'b': rate must be at most 1e+15; it is 1e+16"},
    {"TinyRate", [](auto& s) { B(s).rate = UnitsPerSecond{1e-10}; },
     "budget 'b': rate must be 0 or at least 1e-09; it is 1e-10"},
    {"InfiniteBurst", [](auto& s) { B(s).burst = kInfinity; },
     "budget 'b': burst must be a finite number"},
    {"NegativeBurstDuration", [](auto& s) { B(s).burst = -absl::Seconds(1); },
     "budget 'b': burst must be 0 to one year of rate; it is -1s"},
    {"EndlessBurstDuration", [](auto& s) { B(s).burst = absl::InfiniteDuration(); },
     "budget 'b': burst must be 0 to one year of rate; it is inf"},
    {"AutoRateWithBurstDuration",
     [](auto& s) {
       B(s).rate = AutoRate{};
       B(s).burst = absl::Seconds(1);
     },
     "budget 'b': has an auto rate, so its burst must be in cost units"},
    {"ShareAbove100", [](auto& s) { B(s).rate = ServerShare{101}; },
     "budget 'b': rate must be a share of 0% to 100% of the target's capacity; it is 101%"},
    {"ShareWithoutCapacity",
     [](auto& s) {
       B(s).rate = ServerShare{10};
       s.targets[0].capacity.reset();
     },
     "budget 'b': rate is a share, but target 'db' has no capacity"},
    {"ShareWithoutTargets",
     [](auto& s) {
       B(s).rate = ServerShare{10};
       s.targets.clear();
     },
     "budget 'b': rate is a share, but no target has a capacity"},
    {"ShareBelowLeastRate", [](auto& s) { B(s).rate = ServerShare{1e-12}; },
     "budget 'b': rate is a share that on target 'db' is below the least rate, 1e-09"},
    {"NegativeMaxCost", [](auto& s) { B(s).max_cost = -1; }, "budget 'b': max_cost must be"},
    {"NegativeDefaultCost", [](auto& s) { B(s).default_cost = -1; },
     "budget 'b': default_cost must be"},
    {"NegativeConcurrency", [](auto& s) { B(s).max_concurrency = -1; },
     "budget 'b': max_concurrency must be 0 to 65535; it is -1"},
    {"HugeConcurrency", [](auto& s) { B(s).max_concurrency = 65536; },
     "budget 'b': max_concurrency must be 0 to 65535; it is 65536"},
    {"UnknownHealth", [](auto& s) { B(s).health = "q"; },
     "budget 'b': names an unknown health profile 'q'"},
    {"SplitDepthZero", [](auto& s) { B(s).split = SplitByDepth{0}; },
     "budget 'b': split depth must be 1 to 8; it is 0"},
    {"SplitDepthNine", [](auto& s) { B(s).split = SplitByDepth{9}; },
     "budget 'b': split depth must be 1 to 8; it is 9"},
    {"SplitTagWithoutKey", [](auto& s) { B(s).split = SplitByTag{""}; },
     "budget 'b': split tag must have 1 to 256 bytes"},
    {"NoBuckets", [](auto& s) { B(s).max_buckets = 0; }, "budget 'b': max_buckets must be 1 to"},
    {"HugeBuckets", [](auto& s) { B(s).max_buckets = (size_t{1} << 28) + 1; },
     "budget 'b': max_buckets must be 1 to"},
};

const Mistake kRules[] = {
    {"NoName", [](auto& s) { R(s).name = ""; }, "rule '': has no name"},
    {"Twice", [](auto& s) { s.rules.push_back(R(s)); }, "rule 'charge': is defined twice"},
    {"BadIdentity", [](auto& s) { R(s).match.identity = "a::b"; },
     "rule 'charge': identity: identity has an empty segment at position 2"},
    {"BadSegment", [](auto& s) { R(s).match.segment = "a:b"; }, "rule 'charge': segment: "},
    {"UnknownTarget", [](auto& s) { R(s).match.target = "db9"; },
     "rule 'charge': names an unknown target 'db9'"},
    {"BadAddress", [](auto& s) { R(s).match.remote_address = "10.0.0.0/33"; },
     "rule 'charge': remote_address: "},
    {"BadSchedule", [](auto& s) { R(s).match.schedule = ScheduleSpec{}; },
     "rule 'charge': schedule: "},
    {"BadZone",
     [](auto& s) {
       R(s).match.schedule =
           ScheduleSpec{.windows = {{.days = 1, .start_minute = 0, .end_minute = 60}},
                        .time_zone = "Mars/Olympus"};
     },
     "Mars/Olympus"},
    {"TagWithoutKey",
     [](auto& s) {
       R(s).match.tags = {{"", "v"}};
     },
     "rule 'charge': has a tag with no key"},
    {"TagTooLong",
     [](auto& s) {
       R(s).match.tags = {{"k", std::string(256, 'v')}};
     },
     "rule 'charge': tag 'k' is longer than 256 bytes"},
    {"TagTwice",
     [](auto& s) {
       R(s).match.tags = {{"k", "v"}, {"k", "w"}};
     },
     "rule 'charge': asks for tag 'k' twice"},
    {"TooManyTags",
     [](auto& s) {
       for (int i = 0; i < 33; ++i) R(s).match.tags.emplace_back("k" + std::to_string(i), "v");
     },
     "rule 'charge': has more than 32 tags"},
    {"InfinitePast", [](auto& s) { R(s).expires_at = absl::InfinitePast(); },
     "rule 'charge': expires in the infinite past"},
    {"NoBudgets", [](auto& s) { R(s).action = ChargeAction{}; },
     "rule 'charge': charges no budget"},
    {"UnknownBudget",
     [](auto& s) {
       R(s).action = ChargeAction{{"b", "c"}};
     },
     "rule 'charge': names an unknown budget 'c'"},
    {"NegativeRatio", [](auto& s) { R(s).action = RejectAction{-0.1}; },
     "rule 'charge': reject_ratio must be 0 to 1; it is -0.1"},
    {"NaNRatio", [](auto& s) { R(s).action = RejectAction{kNaN}; },
     "rule 'charge': reject_ratio must be 0 to 1"},
    {"NoProfile", [](auto& s) { R(s).action = HealthAction{""}; },
     "rule 'charge': names no health profile"},
    {"UnknownProfile", [](auto& s) { R(s).action = HealthAction{"q"}; },
     "rule 'charge': names an unknown health profile 'q'"},
};

constexpr auto kNameOf = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Target, PolicyMistake, testing::ValuesIn(kTargets), kNameOf);
INSTANTIATE_TEST_SUITE_P(Budget, PolicyMistake, testing::ValuesIn(kBudgets), kNameOf);
INSTANTIATE_TEST_SUITE_P(Rule, PolicyMistake, testing::ValuesIn(kRules), kNameOf);

TEST(Policy, WithoutMistakesIsValid) {
  EXPECT_TRUE(Validate(Valid()).ok()) << Validate(Valid());
  EXPECT_TRUE(Validate(PolicySpec{}).ok());
}

TEST(Policy, ZeroLimitsAreValid) {
  PolicySpec spec = OneBudget(RateBudget("b", 0, 0));
  B(spec).max_cost = 0;
  B(spec).max_concurrency = 0;
  EXPECT_TRUE(Validate(spec).ok());
}

TEST(Policy, AllMistakesComeAtOnceALineEach) {
  PolicySpec spec = Valid();
  B(spec).burst.reset();
  B(spec).max_cost = -1;
  R(spec).match.segment = "a:b";
  spec.targets[0].default_health = "q";
  const std::string message = Message(Validate(spec));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 3);
  for (const char* part : {"no burst", "max_cost", "segment", "'q'"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part;
  }
}

TEST(Policy, AFloodOfMistakesIsCut) {
  PolicySpec spec;
  for (int i = 0; i < 200; ++i) spec.rules.push_back(RuleOn("r", "", DenyAction{}));
  const std::string message = Message(Validate(spec));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 50);
  EXPECT_NE(message.find("and 149 more"), std::string::npos) << message.substr(message.size() - 50);
}

TEST(Policy, RateOfAShareIsThatPercentageOfTheCapacity) {
  BudgetSpec budget = RateBudget("b", 0, 0);
  budget.rate = ServerShare{12.5};
  TargetSpec target;
  target.capacity = 400;
  EXPECT_EQ(RateOf(budget, target), 50);
  budget.rate = AutoRate{};
  EXPECT_EQ(RateOf(budget, target), std::nullopt);
}

TEST(Policy, BurstIsUnitsOrADurationOfTheRate) {
  BudgetSpec budget = RateBudget("b", 40, 7);
  EXPECT_EQ(BurstOf(budget, 40), 7);
  budget.burst = absl::Milliseconds(2500);
  EXPECT_EQ(BurstOf(budget, 40), 100);
  budget.burst = absl::Hours(24 * 365);
  EXPECT_EQ(BurstOf(budget, 1e15), kMaxAmount);
}

TEST(Policy, ResolvesTargets) {
  TestEngine engine(Valid());
  uint32_t target = 7;
  EXPECT_TRUE(engine->policy()->ResolveTarget("", target).ok());
  EXPECT_EQ(target, 0U);
  EXPECT_TRUE(engine->policy()->ResolveTarget("db", target).ok());
  EXPECT_EQ(engine->policy()->ResolveTarget("x", target).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace headgate::engine
