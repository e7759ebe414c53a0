// Nobody decides, the store is away, and servers are to decide alone.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serve/peers/peers_fixture.h"

namespace headgate::peers {
namespace {

using testing::HasSubstr;

class ApproximateTest : public testing::Test {
 protected:
  // The target t1 has a budget of 10 a second.
  void LoseAll() {
    servers_.Give("t1", -1);
    servers_.LoseStore(2);
  }
  void FindStore(int owner) {
    servers_.Give("t1", owner);
    servers_.LoseStore(0);
  }
  // Once all that was admitted meanwhile has been charged.
  double DebtAtOwner(int owner) {
    FindStore(owner);
    EXPECT_TRUE(WaitUntil([&] { return servers_[0].approximation.charged.load() == 1; }));
    EXPECT_EQ(servers_[0].approximation.limits().stats().uncharged_buckets, 0);
    return DebtAt(owner);
  }
  double DebtAt(int server) {
    v1::ExplainRequest request;
    *request.mutable_check() = CheckAt("t1", "job:etl", 0);
    return AnswerOf(servers_[server].caller, &v1::ThrottlerService::Stub::Explain, request)
        .buckets(0)
        .debt();
  }

  Servers servers_{2, {}, Servers::OnStoreLoss::kApproximate};
};

TEST_F(ApproximateTest, ACheckOfWhatNobodyOwnsIsAnsweredAtOnceAndSaysSo) {
  LoseAll();
  const v1::Decision decision = servers_[0].Decide(CheckAt("t1", "job:etl", 5));
  EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED);
  EXPECT_EQ(decision.reason(), v1::REASON_APPROXIMATE);
  EXPECT_FALSE(decision.has_permit_id());
  EXPECT_THAT(decision.message(), HasSubstr("approximately"));
  const v1::Decision next = servers_[0].Decide(WaitingAt("t1", 10));
  EXPECT_EQ(next.verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(next.violations(0).limit_kind(), v1::LIMIT_KIND_APPROXIMATE);
  EXPECT_EQ(next.violations(0).limit(), 5);
  EXPECT_TRUE(next.has_retry_after());
  EXPECT_EQ(servers_[0].permits(), 0U);
  EXPECT_EQ(servers_[0].approximation.limits().stats().servers, 2);
}

TEST_F(ApproximateTest, WithTheStoreInReachACheckIsHeldAsEver) {
  servers_.Give("t1", -1);
  rpc::WaitingCaller caller(servers_[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(WaitUntil([&] { return servers_[0].forwarder->held() == 1; }));
  servers_.Give("t1", 1);
  EXPECT_EQ(caller.Decision().reason(), v1::REASON_UNSPECIFIED);
}

TEST_F(ApproximateTest, WhatIsHeldWhenTheStoreGoesAwayIsAnsweredThen) {
  servers_.Give("t1", -1);
  rpc::WaitingCaller caller(servers_[0].caller, CheckAt("t1", "job:etl", 5));
  ASSERT_TRUE(WaitUntil([&] { return servers_[0].forwarder->held() == 1; }));
  servers_.LoseStore(2);
  EXPECT_EQ(caller.Decision().reason(), v1::REASON_APPROXIMATE);
}

TEST_F(ApproximateTest, AnOwnerThatCanBeReachedDecides) {
  servers_[0].Decide(CheckAt("t1", "job:etl", 5));
  servers_.LoseStore(2);
  EXPECT_EQ(servers_[0].Decide(CheckAt("t1", "job:etl", 5)).reason(), v1::REASON_UNSPECIFIED);
  EXPECT_EQ(servers_[1].permits(), 2U);
  EXPECT_EQ(servers_[0].approximation.answers.load(), 2);
}

TEST_F(ApproximateTest, OneThatCannotBeReachedDoesNot) {
  servers_.LoseStore(2);
  servers_[1].Stop();
  EXPECT_EQ(servers_[0].Decide(CheckAt("t1", "job:etl", 5)).reason(), v1::REASON_APPROXIMATE);
}

// It was the owner when this server heard of it last.
TEST_F(ApproximateTest, AnOwnerThatDecidesNoLongerIsAskedInVain) {
  servers_[0].Decide(CheckAt("t1", "job:etl", 5));
  servers_.LoseStore(2);
  servers_[1].owners.Set("t1", {});
  EXPECT_EQ(servers_[0].Decide(CheckAt("t1", "job:etl", 5)).reason(), v1::REASON_APPROXIMATE);
}

TEST_F(ApproximateTest, AnotherServerIsChargedOnceItOwnsTheTarget) {
  LoseAll();
  servers_[0].Decide(CheckAt("t1", "job:etl", 4));
  EXPECT_EQ(DebtAtOwner(1), 4);
}

TEST_F(ApproximateTest, AServerChargesItselfOnceItIsTheOwner) {
  LoseAll();
  servers_[0].Decide(CheckAt("t1", "job:etl", 4));
  EXPECT_EQ(DebtAtOwner(0), 4);
}

TEST_F(ApproximateTest, WhatNoOwnerTakesIsLostAfterAMinuteAndSaid) {
  LoseAll();
  servers_[0].Decide(CheckAt("t1", "job:etl", 4));
  servers_.LoseStore(0);
  EXPECT_TRUE(WaitUntil([&] {
    servers_.Advance(absl::Seconds(10));
    return servers_[0].approximation.lost.load() == 1;
  }));
  EXPECT_EQ(servers_[0].approximation.limits().stats().lost_buckets, 1);
}

TEST_F(ApproximateTest, EachCheckOfABatchIsAnsweredOrHasAnErrorOfItsOwn) {
  LoseAll();
  v1::BatchCheckRequest batch;
  *batch.add_checks() = CheckAt("t1", "job:etl", 5);
  *batch.add_checks() = CheckAt("t1", "job::etl", 5);
  *batch.add_checks() = CheckAt("t0", "job:etl", 5);
  const v1::BatchCheckResponse response =
      AnswerOf(servers_[0].caller, &v1::ThrottlerService::Stub::BatchCheck, batch);
  ASSERT_EQ(response.results_size(), 3);
  EXPECT_EQ(response.results(0).decision().reason(), v1::REASON_APPROXIMATE);
  EXPECT_THAT(response.results(1).error().message(), HasSubstr("identity"));
  EXPECT_EQ(response.results(2).decision().reason(), v1::REASON_UNSPECIFIED);
}

TEST_F(ApproximateTest, OneThatIsToBeValidatedTakesNothing) {
  LoseAll();
  v1::CheckRequest check = CheckAt("t1", "job:etl", 5);
  check.set_validate_only(true);
  EXPECT_EQ(servers_[0].Decide(check).reason(), v1::REASON_APPROXIMATE);
  EXPECT_EQ(servers_[0].approximation.limits().stats().admitted, 0);
}

}  // namespace
}  // namespace headgate::peers
