// What rules weigh the levels of an identity with.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

// Of the levels of job:team:etl, the root first.
std::vector<double> Weights(std::vector<RuleSpec> rules) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 1));
  for (RuleSpec& rule : rules) spec.rules.push_back(std::move(rule));
  TestEngine engine(std::move(spec));
  engine.Check("etl", 1);
  const CheckAnswer denied =
      engine.Check({.identity = "job:team:etl", .estimated_cost = 1, .waits = true});
  std::vector<double> weights;
  for (int i = 0; i < denied.flow.depth; ++i) {
    weights.push_back(denied.flow.levels[static_cast<size_t>(i)].weight);
  }
  return weights;
}

using W = std::vector<double>;

TEST(Weights, AreOneWithoutARule) { EXPECT_EQ(Weights({}), (W{1, 1, 1})); }

TEST(Weights, AreOfTheLevelAtWhichTheSelectorEnds) {
  EXPECT_EQ(Weights({RuleOn("w", "team:etl", WeightAction{3})}), (W{1, 3, 1}));
  EXPECT_EQ(Weights({RuleOn("w", "other:etl", WeightAction{3})}), (W{1, 1, 1}));
}

TEST(Weights, WithoutASelectorAreTheRoots) {
  RuleSpec segment = RuleOn("w", "", WeightAction{5});
  segment.match.segment = "team";
  EXPECT_EQ(Weights({segment}), (W{5, 1, 1}));
}

TEST(Weights, OfTheRootThoseWithASelectorCount) {
  const RuleSpec all = RuleOn("all", "", WeightAction{9});
  const RuleSpec root = RuleOn("root", "etl", WeightAction{2});
  EXPECT_EQ(Weights({all, root}), (W{2, 1, 1}));
  EXPECT_EQ(Weights({root, all}), (W{2, 1, 1}));
}

TEST(Weights, OfSeveralTheHighestCounts) {
  EXPECT_EQ(Weights({RuleOn("a", "etl", WeightAction{0.25}), RuleOn("b", "etl", WeightAction{0.5}),
                     RuleOn("c", "job:team:etl", WeightAction{4})}),
            (W{0.5, 1, 4}));
}

TEST(Weights, MustBeAThousandthToAThousand) {
  for (const double wrong : {0.0, 0.0009, 1001.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    PolicySpec spec = OneBudget(RateBudget("b", 1, 1));
    spec.rules.push_back(RuleOn("w", "etl", WeightAction{wrong}));
    EXPECT_NE(Message(Validate(spec)).find("weight must be 0.001 to 1000"), std::string::npos);
  }
}

TEST(Weights, DoNotChangeWhatACheckIsAnswered) {
  PolicySpec spec = OneBudget(RateBudget("b", 1, 10));
  spec.rules.push_back(RuleOn("w", "etl", WeightAction{3}));
  TestEngine engine(spec);
  const CheckAnswer answer = engine.Check("etl", 4);
  EXPECT_EQ(answer.verdict, Verdict::kAllowed);
  EXPECT_EQ(answer.priority, 0);
}

}  // namespace
}  // namespace headgate::engine
