// Bad input: a clear status or a defined result, and nothing is charged halfway.

#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TestEngine& Fresh() {
  static TestEngine* engine = nullptr;
  delete engine;
  engine = new TestEngine(OneBudget(RateBudget("b", 1, 100)));
  return *engine;
}

void ExpectInvalid(const CheckRequest& request, const std::string& mentions) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const absl::Status status = engine.CheckError(request);
  EXPECT_EQ(status.code(), kInvalid) << status;
  EXPECT_NE(Message(status).find(mentions), std::string::npos) << status;
  EXPECT_EQ(engine->Explain(request, At()).status().code() == kInvalid, request.request_id.empty());
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 0);
  EXPECT_EQ(engine->ReadStats(At()).permits_live, 0U);
}

TEST(EngineBadInput, CostsThatAreNoAmount) {
  for (const double cost : {kNaN, kInfinity, -kInfinity, -1.0, -1e-300, 1e16, 1.0000001e15}) {
    ExpectInvalid(Request("etl", cost), "estimated_cost");
  }
}

TEST(EngineBadInput, ReportedCostsThatAreNoAmount) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  const PermitId permit = engine.Check("etl", 40).permit;
  for (const double cost : {kNaN, kInfinity, -kInfinity, -1.0, 1e16}) {
    EXPECT_EQ(engine->Report(permit, {.cost = cost}, At()).status().code(), kInvalid);
  }
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 40);
  EXPECT_EQ(engine.Report(permit, 10), ReportOutcome::kSettled);
}

TEST(EngineBadInput, TinyCostIsNotFree) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(engine.Admits("etl", 1e-300));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 1e-9);
}

TEST(EngineBadInput, NegativeZeroIsZero) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_TRUE(engine.Admits("etl", -0.0));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 0);
}

TEST(EngineBadInput, LargestCostIsRefusedAndForever) {
  TestEngine engine(OneBudget(RateBudget("b", 1, 100)));
  EXPECT_EQ(engine.Check("etl", 1e15).retry_after, absl::InfiniteDuration());
}

TEST(EngineBadInput, MalformedIdentities) {
  ExpectInvalid(Request("", 1), "identity is empty");
  ExpectInvalid(Request(":etl", 1), "position 0");
  ExpectInvalid(Request("job:", 1), "position 4");
  ExpectInvalid(Request("job::etl", 1), "position 4");
  ExpectInvalid(Request("job:e tl", 1), "position 5");
  ExpectInvalid(Request("j\xc3\xb6"
                        "b:etl",
                        1),
                "position 1");
  ExpectInvalid(Request(std::string_view("a\0b", 3), 1), "position 1");
}

TEST(EngineBadInput, OverLongIdentities) {
  ExpectInvalid(Request("1:2:3:4:5:6:7:8:9", 1), "more than 8 segments");
  const std::string segment(129, 'a');
  ExpectInvalid(Request(segment, 1), "position 128");
  const std::string fits(127, 'a');
  const std::string total = fits + ":" + fits + ":" + fits + ":" + fits + ":a";
  ASSERT_EQ(total.size(), 513U);
  ExpectInvalid(Request(total, 1), "513 bytes");
}

TEST(EngineBadInput, TooManyTags) {
  std::vector<std::string> keys;
  for (int i = 0; i < 33; ++i) keys.push_back("k" + std::to_string(i));
  std::vector<Tag> tags;
  for (const std::string& key : keys) tags.push_back({key, "v"});
  ExpectInvalid({.identity = "etl", .tags = tags}, "tags: at most 32");
  tags.pop_back();
  EXPECT_TRUE(Fresh().CheckError({.identity = "etl", .tags = tags}).ok());
}

TEST(EngineBadInput, OverLongTag) {
  const std::string value(256, 'v');
  const Tag tags[] = {{"ok", "v"}, {"k", value}};
  ExpectInvalid({.identity = "etl", .tags = tags}, "tags[1]: key and value have 257 bytes");
  const Tag longest[] = {{"k", std::string_view(value).substr(1)}};
  EXPECT_TRUE(Fresh().CheckError({.identity = "etl", .tags = longest}).ok());
}

TEST(EngineBadInput, TagWithoutAKey) {
  const Tag tags[] = {{"", "v"}};
  ExpectInvalid({.identity = "etl", .tags = tags}, "tags[0]: has an empty key");
}

TEST(EngineBadInput, TwoTagsOfOneKey) {
  const Tag tags[] = {{"k", "v"}, {"x", "v"}, {"k", "w"}};
  ExpectInvalid({.identity = "etl", .tags = tags}, "tags[2]: has the same key as tags[0]");
}

TEST(EngineBadInput, OverLongRequestId) {
  const std::string id(129, 'r');
  ExpectInvalid({.identity = "etl", .request_id = id}, "request_id: has 129 bytes");
  EXPECT_TRUE(
      Fresh().CheckError({.identity = "etl", .request_id = std::string_view(id).substr(1)}).ok());
}

TEST(EngineBadInput, OverLongPattern) {
  const std::string pattern(1025, 'p');
  ExpectInvalid({.identity = "etl", .pattern = pattern}, "pattern: has 1025 bytes");
  EXPECT_TRUE(
      Fresh().CheckError({.identity = "etl", .pattern = std::string_view(pattern).substr(1)}).ok());
}

TEST(EngineBadInput, UnknownTarget) {
  const absl::Status status = Fresh().CheckError({.identity = "etl", .target = "db9"});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(Message(status).find("'db9'"), std::string::npos);
}

TEST(EngineBadInput, NoTargetWhereSeveralAreConfigured) {
  PolicySpec spec;
  spec.targets.resize(2);
  spec.targets[0].name = "db1";
  spec.targets[1].name = "db2";
  TestEngine engine(std::move(spec));
  const absl::Status status = engine.CheckError(Request("etl", 1));
  EXPECT_EQ(status.code(), kInvalid);
  EXPECT_NE(Message(status).find("target"), std::string::npos);
}

TEST(EngineBadInput, NothingIsInstalledYet) {
  Engine engine(TestEngine::Options());
  CheckAnswer answer;
  const absl::StatusCode expected = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(engine.Check(Request("etl", 1), At(), answer).code(), expected);
  EXPECT_EQ(engine.Explain(Request("etl", 1), At()).status().code(), expected);
  EXPECT_EQ(engine.SetHealth("", "p", {}, At()).code(), expected);
  EXPECT_EQ(engine.SetAutoRate("", "b", {.rate = 1}, At()).code(), expected);
  EXPECT_EQ(engine.Report(1, {.cost = 1}, At()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(engine.policy(), nullptr);
  EXPECT_EQ(engine.ReadStats(At()).buckets, 0U);
}

TEST(EngineBadInput, MoreThanSixteenBudgetsAreAnErrorAndNothingIsCharged) {
  PolicySpec spec;
  for (int i = 0; i < 17; ++i) {
    const std::string name = "b" + std::to_string(i);
    spec.budgets.push_back(RateBudget(name, 1, 100));
    spec.rules.push_back(ChargeRule("charge " + name, i < 16 ? "etl" : "job:etl", {name}));
  }
  TestEngine engine(std::move(spec));
  EXPECT_EQ(engine.CheckError(Request("job:etl", 5)).code(), absl::StatusCode::kFailedPrecondition);
  for (int i = 0; i < 16; ++i) {
    EXPECT_DOUBLE_EQ(engine.Debt("etl", "b" + std::to_string(i)), 0);
  }
  EXPECT_TRUE(engine.Admits("etl", 5));
}

TEST(EngineBadInput, EnormousRate) {
  TestEngine engine(OneBudget(RateBudget("b", 1e15, 1e15)));
  EXPECT_TRUE(engine.Admits("etl", 1e15));
  EXPECT_FALSE(engine.Admits("etl", 1e15));
  EXPECT_TRUE(engine.Admits("etl", 1e15, At(absl::Seconds(1))));
}

TEST(EngineBadInput, EnormousRateWithATinyCostRefusesTooMuchNotTooLittle) {
  TestEngine engine(OneBudget(RateBudget("b", 1e15, 1e8)));
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_DOUBLE_EQ(engine.Debt("etl", "b"), 1e6);  // a nanosecond of the rate
}

TEST(EngineBadInput, LeastRate) {
  TestEngine engine(OneBudget(RateBudget("b", 1e-9, 2)));
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_TRUE(engine.Admits("etl", 1));
  EXPECT_FALSE(engine.Admits("etl", 1e-9));
  EXPECT_EQ(engine.Check("etl", 1).retry_after, absl::Seconds(1'000'000'000));
}

TEST(EngineBadInput, BurstBeyondTheHorizonOfALeastRateStillLimits) {
  TestEngine engine(OneBudget(RateBudget("b", 1e-9, 1e15)));
  int admitted = 0;
  while (admitted < 1000 && engine.Admits("etl", 1)) ++admitted;
  EXPECT_LE(admitted, 3);
  EXPECT_GE(admitted, 1);
}

}  // namespace
}  // namespace headgate::engine
