// What a server that decides alone takes for the health of a target.

#include "server/app/approximate_decisions.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "common/fake_clock.h"
#include "gtest/gtest.h"
#include "server/govern/config/load.h"

namespace headgate::app {
namespace {

constexpr char kFile[] = R"(
targets:
  - {name: orders, default_health: std, primary: {dsn: "host=orders-1 dbname=orders"}}
  - {name: plain}
health_profiles:
  - {name: std, on_stale: DENY, signals: [{name: active_backends, soft: 20, hard: 28}]}
budgets: [{name: b, rate: 100, burst: 200}]
rules: [{name: r, charge: [b]}]
)";

class ApproximateDecisionsTest : public testing::Test {
 protected:
  void Load(const std::string& on_stale = "DENY") {
    const config::LoadResult loaded = config::Parse(
        absl::StrReplaceAll(kFile, {{"on_stale: DENY", "on_stale: " + on_stale}}), "f.yaml");
    ASSERT_TRUE(loaded.config.has_value()) << loaded.status();
    ASSERT_TRUE(engine_.Install(loaded.config->policy, clock_.Read()).ok());
    targets_.MeasureNone([](const auto&...) {});
    targets_.Apply(*loaded.config);
    decisions_.SetConfig(*loaded.config);
  }
  void Answer(double speed, bool is_shut) {
    peer::v1::ForwardedAnswer answer;
    v1::Decision& decision = *answer.mutable_check()->mutable_decision();
    decision.mutable_health()->set_profile("std");
    decision.mutable_health()->set_state(v1::HEALTH_STATE_HEALTHY);
    decision.mutable_health()->set_speed(speed);
    if (is_shut) decision.add_violations()->set_limit_kind(v1::LIMIT_KIND_HEALTH);
    decisions_.OnAnswer("orders", answer);
    clock_.Advance(absl::Seconds(1));
  }
  engine::CheckAnswer Check(const std::string& target) {
    decisions_.Prepare(target);
    engine::CheckAnswer answer;
    const absl::Status status = engine_.CheckApproximately(
        {.request = {.identity = "job:etl", .target = target, .estimated_cost = 1},
         .buckets = decisions_.limits()},
        clock_.Read(), answer);
    EXPECT_TRUE(status.ok()) << status;
    return answer;
  }

  FakeClock clock_;
  engine::Engine engine_{{.seed = 7}};
  Targets targets_{engine_, clock_, 1};
  ApproximateDecisions decisions_{
      {.engine = engine_, .targets = targets_, .clock = clock_, .incarnation = 1}};
};

TEST_F(ApproximateDecisionsTest, WhatWasNeverToldIsAsOnStaleSays) {
  Load("DENY");
  EXPECT_EQ(Check("orders").reason, engine::Reason::kHealth);
}

TEST_F(ApproximateDecisionsTest, OnStaleMayBeASpeed) {
  Load("0.5");
  const engine::CheckAnswer answer = Check("orders");
  EXPECT_EQ(answer.reason, engine::Reason::kApproximate);
  EXPECT_EQ(answer.health.health.speed, 0.5);
}

TEST_F(ApproximateDecisionsTest, WhatTheOwnerToldLastCounts) {
  Load();
  Answer(0.75, false);
  Answer(0.25, false);
  const engine::CheckAnswer answer = Check("orders");
  EXPECT_EQ(answer.reason, engine::Reason::kApproximate);
  EXPECT_EQ(answer.health.health.speed, 0.25);
}

TEST_F(ApproximateDecisionsTest, AGateThatWasShutStaysShut) {
  Load();
  Answer(0.75, false);
  Answer(0.75, true);
  EXPECT_EQ(Check("orders").reason, engine::Reason::kHealth);
}

TEST_F(ApproximateDecisionsTest, ATargetThatNobodyMeasuresRunsInRealTime) {
  Load();
  EXPECT_EQ(Check("plain").reason, engine::Reason::kApproximate);
}

TEST_F(ApproximateDecisionsTest, DecidesSoUntilTheStoreAnswers) {
  Load();
  EXPECT_FALSE(decisions_.View().is_deciding);
  Check("plain");
  EXPECT_TRUE(decisions_.View().is_deciding);
  decisions_.NoteRound(false);
  EXPECT_TRUE(decisions_.View().is_deciding);
  decisions_.NoteRound(true);
  EXPECT_FALSE(decisions_.View().is_deciding);
  EXPECT_EQ(decisions_.View().uncharged_buckets, 1);
}

}  // namespace
}  // namespace headgate::app
