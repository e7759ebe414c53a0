#include "server/serve/peers/charge_sender.h"

#include <string>
#include <vector>

#include "common/fake_clock.h"
#include "gtest/gtest.h"
#include "tests/serve/peers/peers_fixture.h"

namespace headgate::peers {
namespace {

class ChargeSenderTest : public testing::Test {
 protected:
  void Admit(const std::string& target, uint64_t bucket) {
    std::vector<engine::ApproximateBucket> buckets = {
        {.budget = "b", .key = bucket, .bucket = bucket, .cost = 1, .rate = 10}};
    approximation_.limits().Examine(
        {.target = target, .buckets = absl::MakeSpan(buckets), .now = clock_.Read()});
  }

  FakeClock clock_;
  PlainApproximation approximation_{7};
  std::vector<peer::v1::ApproximateCharges> sent_;
  ChargeSender sender_{{.approximation = approximation_,
                        .clock = clock_,
                        .send = [this](auto charges) { sent_.push_back(std::move(charges)); }}};
};

TEST_F(ChargeSenderTest, SendsWhatWasAdmittedOfEachTarget) {
  Admit("orders", 1);
  Admit("orders", 2);
  Admit("billing", 1);
  clock_.Advance(absl::Milliseconds(1500));
  sender_.SendDue();
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(sent_[1].target(), "orders");
  EXPECT_EQ(sent_[1].incarnation(), 7U);
  ASSERT_EQ(sent_[1].charges_size(), 2);
  EXPECT_EQ(sent_[1].charges(0).cost(), 1);
  EXPECT_EQ(sent_[1].charges(0).since().seconds(), 1);
  EXPECT_EQ(sent_[1].charges(0).since().nanos(), 500'000'000);
}

TEST_F(ChargeSenderTest, SendsOneMessageOfATargetAtATimeWithHigherNumbers) {
  Admit("orders", 1);
  sender_.SendDue();
  Admit("orders", 2);
  sender_.SendDue();
  ASSERT_EQ(sent_.size(), 1U);
  sender_.OnAnswer("orders", grpc::Status());
  sender_.SendDue();
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_GT(sent_[1].number(), sent_[0].number());
  EXPECT_EQ(approximation_.charged.load(), 1U);
}

TEST_F(ChargeSenderTest, SendsWhatFailedAgainWithItsNumber) {
  Admit("orders", 1);
  sender_.SendDue();
  sender_.OnAnswer("orders", {grpc::StatusCode::UNAVAILABLE, "lost"});
  sender_.SendDue();
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(sent_[1].number(), sent_[0].number());
  EXPECT_EQ(sent_[1].charges_size(), 1);
}

TEST_F(ChargeSenderTest, WhatIsRefusedIsLost) {
  Admit("orders", 1);
  sender_.SendDue();
  sender_.OnAnswer("orders", {grpc::StatusCode::UNIMPLEMENTED, "older"});
  sender_.SendDue();
  EXPECT_EQ(sent_.size(), 1U);
  EXPECT_EQ(approximation_.lost.load(), 1U);
}

TEST_F(ChargeSenderTest, WhatFailsForAMinuteIsLost) {
  Admit("orders", 1);
  for (int second = 0; second <= 60; ++second) {
    EXPECT_EQ(approximation_.lost.load(), 0U);
    sender_.SendDue();
    sender_.OnAnswer("orders", {grpc::StatusCode::UNAVAILABLE, "nobody"});
    clock_.Advance(absl::Seconds(1));
  }
  EXPECT_EQ(approximation_.lost.load(), 1U);
}

}  // namespace
}  // namespace headgate::peers
