// An answer names profiles by their place in a policy, and has that policy with it: a reload that
// puts other profiles into those places changes nothing about what was said before.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/decide/engine/saved_state.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

// A budget that lives on profile "slow", among profiles in this order.
PolicySpec WithProfiles(const std::vector<std::string>& names) {
  BudgetSpec budget = RateBudget("b", 10, 1000);
  budget.health = "slow";
  PolicySpec spec = OneBudget(std::move(budget));
  for (const std::string& name : names) spec.profiles.push_back({.name = name, .signals = {}});
  return spec;
}
PolicySpec SlowFirst() { return WithProfiles({"slow", "fast"}); }
PolicySpec SlowLast() { return WithProfiles({"fast", "slow"}); }

CheckRequest WithId(std::string_view id) {
  return {.identity = "job:etl", .estimated_cost = 1, .request_id = id};
}

std::string ProfileOf(const CheckAnswer& answer) {
  if (answer.policy == nullptr) return "no policy";
  if (answer.health.profile == kNoRule) return "none";
  return answer.policy->profiles.at(answer.health.profile).name;
}

TEST(AnswerPolicy, IsTheOneItWasDecidedUnderWhateverComesNext) {
  TestEngine engine(SlowFirst());
  const CheckAnswer before = engine.Check("job:etl", 1);
  engine.Install(SlowLast());
  EXPECT_EQ(ProfileOf(before), "slow");
  EXPECT_EQ(ProfileOf(engine.Check("job:etl", 1)), "slow");
}

TEST(AnswerPolicy, OfARepeatedRequestIdIsTheOneOfTheFirstAnswer) {
  TestEngine engine(SlowFirst());
  engine.Check(WithId("once"));
  engine.Install(SlowLast());
  CheckAnswer answer = engine.Check("job:etl", 1);  // has the new policy
  ASSERT_TRUE(engine->Check(WithId("once"), At(), answer).ok());
  EXPECT_TRUE(answer.repeated);
  EXPECT_EQ(ProfileOf(answer), "slow");
  ASSERT_TRUE(engine->Check(Request("job:etl", 1), At(), answer).ok());
  EXPECT_EQ(ProfileOf(answer), "slow");
}

TEST(AnswerPolicy, IsInEveryAnswerOfABatch) {
  TestEngine engine(SlowFirst());
  const CheckRequest alike = Request("job:etl", 1);
  const std::array<CheckRequest, 4> requests = {alike, alike, alike, WithId("once")};
  std::array<CheckAnswer, 4> before;
  std::array<CheckAnswer, 4> after;
  std::array<absl::Status, 4> statuses;
  engine->CheckBatch(requests, At(), absl::MakeSpan(before), absl::MakeSpan(statuses));
  engine.Install(SlowLast());
  engine->CheckBatch(requests, At(), absl::MakeSpan(after), absl::MakeSpan(statuses));
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(ProfileOf(before[i]), "slow") << i;
    EXPECT_EQ(ProfileOf(after[i]), "slow") << i;
  }
  EXPECT_TRUE(after[3].repeated);
}

// Saves what an engine has told under each of the policies, and repeats it under the last one.
std::string ProfileAfterRestart(const std::vector<PolicySpec>& policies, PolicySpec afterwards) {
  TestEngine engine(policies.front());
  engine.Check(WithId("once"));
  for (const PolicySpec& policy : policies) engine.Install(policy);
  SavedState state;
  engine->Save(At(), state);
  Engine restarted(TestEngine::Options());
  EXPECT_TRUE(restarted.Restore(state, At(), 0).ok());
  EXPECT_TRUE(restarted.Install(std::move(afterwards), At()).ok());
  CheckAnswer answer;
  EXPECT_TRUE(restarted.Check(WithId("once"), At(), answer).ok());
  EXPECT_TRUE(answer.repeated);
  return ProfileOf(answer);
}

TEST(AnswerPolicy, AfterARestartIsTheFirstOneIfItsPlacesMeanTheSame) {
  EXPECT_EQ(ProfileAfterRestart({SlowFirst()}, SlowFirst()), "slow");
  EXPECT_EQ(ProfileAfterRestart({SlowFirst()}, SlowLast()), "none");
}

TEST(AnswerPolicy, AfterAReloadAndARestartNamesTheSameProfile) {
  EXPECT_EQ(ProfileAfterRestart({SlowFirst(), SlowLast()}, SlowLast()), "slow");
  EXPECT_EQ(ProfileAfterRestart({SlowFirst(), WithProfiles({"fast", "slow", "new"})}, SlowLast()),
            "none");
}

TEST(AnswerPolicy, IsLetGoByTheNextAnswer) {
  TestEngine engine(SlowFirst());
  CheckAnswer answer = engine.Check("job:etl", 1);
  const std::weak_ptr<const Policy> old = answer.policy;
  engine.Install(SlowLast());
  EXPECT_FALSE(old.expired());
  ASSERT_TRUE(engine->Check(Request("job:etl", 1), At(), answer).ok());
  EXPECT_TRUE(old.expired());
}

TEST(AnswerPolicy, IsLetGoByTheNextInstallOnceItsRequestsHaveEnded) {
  TestEngine engine(SlowFirst());
  CheckAnswer answer = engine.Check(WithId("once"));
  const std::weak_ptr<const Policy> old = answer.policy;
  answer = {};
  engine.Install(SlowLast(), At(absl::Seconds(1)));
  engine.Check("job:etl", 1, At(absl::Seconds(1)));
  EXPECT_FALSE(old.expired());  // its permit is live
  engine.Install(SlowLast(), At(absl::Minutes(2)));
  EXPECT_TRUE(old.expired());
}

}  // namespace
}  // namespace headgate::engine
