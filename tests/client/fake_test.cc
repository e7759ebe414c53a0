// The fake does what its users rely on.

#include <headgate/fake.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"

namespace headgate::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(FakeHeadgate, AllowsUnlessToldOtherwiseAndRemembersPermits) {
  FakeHeadgate headgate;
  const auto client = NewClient(headgate);
  const auto first = client->Check({.estimated_cost = 7});
  const auto second = client->Check({});
  EXPECT_TRUE(first->allowed());
  EXPECT_NE(first->permit_id, second->permit_id);
  EXPECT_EQ(headgate.checks().front().estimated_cost, 7);
  EXPECT_THAT(headgate.outstanding(), ElementsAre(*first->permit_id, *second->permit_id));
}

TEST(FakeHeadgate, FollowsItsScriptInOrderThenItsHandler) {
  FakeHeadgate headgate;
  headgate.Deny(absl::Seconds(2), Reason::kHealth);
  headgate.Allow({.permit_id = 99});
  headgate.Fail(absl::NotFoundError("no target"));
  headgate.DenyForGood();
  headgate.SetHandler(
      [](const CheckRequest& request) { return Answer{.message = request.pattern}; });
  const auto client = NewClient(headgate);
  EXPECT_EQ(client->Check({})->reason, Reason::kHealth);
  EXPECT_EQ(client->Check({})->permit_id, 99U);
  EXPECT_TRUE(absl::IsNotFound(client->Check({}).status()));
  EXPECT_EQ(client->Check({})->retry_after, std::nullopt);
  EXPECT_EQ(client->Check({.pattern = "p"})->message, "p");
}

TEST(FakeHeadgate, HandlerMayUseTheFake) {
  FakeHeadgate headgate;
  headgate.SetHandler([&](const CheckRequest&) {
    headgate.time().Advance(absl::Seconds(1));
    return Answer{.verdict = Verdict::kAllowed,
                  .predicted_cost = static_cast<double>(headgate.checks().size())};
  });
  EXPECT_EQ(NewClient(headgate)->Check({})->predicted_cost, 1);
}

TEST(FakeHeadgate, GivesNoPermitForValidation) {
  FakeHeadgate headgate;
  EXPECT_EQ(NewClient(headgate)->Check({.validate_only = true})->permit_id, std::nullopt);
  EXPECT_THAT(headgate.outstanding(), IsEmpty());
}

TEST(FakeHeadgate, SettlesReportsAndKnowsWhatIsOutstanding) {
  FakeHeadgate headgate;
  const auto client = NewClient(headgate);
  const uint64_t permit = client->Check({})->permit_id.value();
  headgate.SetOverruns({{.budget = "rows", .reported = 1e12, .charged = 500}});
  const auto settled = client->ReportNow(permit, {.actual_cost = 1e12});
  EXPECT_EQ(settled->outcome, ReportOutcome::kSettled);
  ASSERT_THAT(settled->overruns, SizeIs(1));
  EXPECT_EQ(settled->overruns[0].charged, 500);
  EXPECT_EQ(client->ReportNow(permit)->outcome, ReportOutcome::kAlreadySettled);
  EXPECT_THAT(headgate.outstanding(), IsEmpty());
  EXPECT_THAT(headgate.reports(), SizeIs(2));
}

TEST(FakeHeadgate, CanBeCutOff) {
  FakeHeadgate headgate;
  const auto client = NewClient(headgate);
  headgate.SetNetwork(FakeHeadgate::Network::kDown);
  EXPECT_TRUE(absl::IsUnavailable(client->Check({}).status()));
  EXPECT_TRUE(client->Report(1).ok());
  headgate.SetNetwork(FakeHeadgate::Network::kUp);
  EXPECT_TRUE(Flushed(*client));
  EXPECT_THAT(headgate.checks(), IsEmpty());
  EXPECT_THAT(headgate.reports(), SizeIs(1));
}

TEST(FakeHeadgate, IsOutlivedByItsClients) {
  auto headgate = std::make_unique<FakeHeadgate>();
  const auto client = NewClient(*headgate);
  headgate = nullptr;
  EXPECT_TRUE(client->Check({})->allowed());
}

}  // namespace
}  // namespace headgate::client
