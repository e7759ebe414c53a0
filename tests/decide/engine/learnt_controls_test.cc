// What controllers learnt, as the engine carries it: per target, over restarts, and to the next
// owner of a target.

#include "server/decide/engine/learnt_controls.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {
namespace {

using Unsaved = Engine::Unsaved;

PolicySpec OnTargets(std::vector<std::string> names) {
  PolicySpec policy = OneBudget(RateBudget("b", 10, 100));
  for (std::string& name : names) policy.targets.emplace_back().name = std::move(name);
  return policy;
}

class EngineControl : public testing::Test {
 protected:
  void Keep(const std::string& target, const std::string& bytes) {
    const absl::Status kept =
        engine_->SetLearntControl(target, bytes, engine_->ReadLearntControl(target).adoption);
    EXPECT_TRUE(kept.ok()) << kept;
  }
  std::string Kept(const std::string& target) { return engine_->ReadLearntControl(target).bytes; }

  TestEngine engine_{OnTargets({"orders", "billing"})};
};

TEST_F(EngineControl, EachTargetHasItsOwn) {
  Keep("orders", "fast");
  Keep("billing", "slow");
  EXPECT_EQ(Kept("orders"), "fast");
  EXPECT_EQ(Kept("billing"), "slow");
  EXPECT_EQ(Kept("stock"), "");
}

TEST_F(EngineControl, WhatIsTooLongOrOfNoTargetIsRefused) {
  EXPECT_TRUE(engine_->SetLearntControl("orders", std::string(8192, 'x'), 0).ok());
  const std::string longer(8193, 'y');
  EXPECT_TRUE(absl::IsInvalidArgument(engine_->SetLearntControl("orders", longer, 0)));
  EXPECT_EQ(Kept("orders"), std::string(8192, 'x'));
  EXPECT_TRUE(absl::IsNotFound(engine_->SetLearntControl("stock", "fast", 0)));
}

TEST_F(EngineControl, TheOnlyTargetNeedNotBeNamed) {
  TestEngine engine(OnTargets({"orders"}));
  ASSERT_TRUE(engine->SetLearntControl("", "fast", 0).ok());
  EXPECT_EQ(engine->ReadLearntControl("orders").bytes, "fast");
}

TEST_F(EngineControl, AReloadDropsThoseOfTargetsThatAreGone) {
  Keep("orders", "fast");
  Keep("billing", "slow");
  engine_.Install(OnTargets({"orders"}));
  engine_.Install(OnTargets({"orders", "billing"}));
  EXPECT_EQ(Kept("orders"), "fast");
  EXPECT_EQ(Kept("billing"), "");
}

TEST_F(EngineControl, ARestartKeepsThem) {
  Keep("orders", "fast");
  Keep("billing", "slow");
  SavedState state;
  engine_->Save(At(), state);
  Engine next(TestEngine::Options());
  ASSERT_TRUE(next.Restore(state, At(), 0).ok());
  ASSERT_TRUE(next.Install(OnTargets({"orders"}), At()).ok());
  EXPECT_EQ(next.ReadLearntControl("orders").bytes, "fast");
  EXPECT_EQ(next.ReadLearntControl("billing").bytes, "");
}

TEST_F(EngineControl, ARestartRefusesWhatNoEngineHasSaved) {
  Keep("orders", "fast");
  Keep("billing", "slow");
  SavedState state;
  engine_->Save(At(), state);
  ASSERT_TRUE(Validate(state).ok());
  SavedState twice = state;
  twice.controls[1].target = twice.controls[0].target;
  EXPECT_TRUE(absl::IsInvalidArgument(Validate(twice)));
  state.controls[0].bytes.assign(8193, 'x');
  EXPECT_TRUE(absl::IsInvalidArgument(Validate(state)));
}

TEST_F(EngineControl, ATargetsNextOwnerGetsItsOwn) {
  Keep("orders", "fast");
  Keep("billing", "slow");
  TestEngine next(OnTargets({"orders", "billing"}));
  ASSERT_TRUE(next->SetLearntControl("orders", "older", 0).ok());
  ASSERT_TRUE(next->SetLearntControl("billing", "its own", 0).ok());
  const SavedTarget saved = engine_->SaveTargets({"orders"}, At()).front().value();
  ASSERT_TRUE(next->AdoptTarget("orders", &saved, Unsaved::kNothing, At()).ok());
  EXPECT_EQ(next->ReadLearntControl("orders").bytes, "fast");
  EXPECT_EQ(next->ReadLearntControl("billing").bytes, "its own");
}

TEST_F(EngineControl, AnOwnerWithoutAnyLeavesNothing) {
  Keep("orders", "fast");
  ASSERT_TRUE(engine_->AdoptTarget("orders", nullptr, Unsaved::kUpToBurst, At()).ok());
  EXPECT_EQ(Kept("orders"), "");
}

// The loop had read what was there before.
TEST_F(EngineControl, AnAdoptionIsSeenAndNotWrittenOver) {
  Keep("orders", "fast");
  const LearntControlBytes before = engine_->ReadLearntControl("orders");
  SavedTarget saved = engine_->SaveTargets({"orders"}, At()).front().value();
  saved.control = "of another owner";
  ASSERT_TRUE(engine_->AdoptTarget("orders", &saved, Unsaved::kNothing, At()).ok());
  EXPECT_TRUE(absl::IsAborted(engine_->SetLearntControl("orders", "mine", before.adoption)));
  const LearntControlBytes after = engine_->ReadLearntControl("orders");
  EXPECT_EQ(after.bytes, "of another owner");
  EXPECT_NE(after.adoption, before.adoption);
  ASSERT_TRUE(engine_->AdoptTarget("orders", &saved, Unsaved::kNothing, At()).ok());
  EXPECT_NE(engine_->ReadLearntControl("orders").adoption, after.adoption);
}

TEST_F(EngineControl, WhatIsTooLongIsNotAdopted) {
  SavedTarget saved = engine_->SaveTargets({"orders"}, At()).front().value();
  saved.control.assign(8193, 'x');
  EXPECT_TRUE(
      absl::IsInvalidArgument(engine_->AdoptTarget("orders", &saved, Unsaved::kNothing, At())));
}

}  // namespace
}  // namespace headgate::engine
