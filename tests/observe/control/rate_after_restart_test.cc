// What a loop learnt, in the engine: there for the loop that comes after it, in this process, after
// a restart, and with the target's next owner.

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "server/observe/control/control_loop.h"
#include "server/observe/control/learnt_control.h"

namespace headgate::control {
namespace {

constexpr double kRateAtFirst = 0.08;

Now AtSecond(double seconds) {
  const auto ns = static_cast<int64_t>((seconds + 1000) * 1e9);
  return {.monotonic_ns = ns, .wall_ns = ns};
}

engine::PolicySpec BatchPolicy() {
  engine::PolicySpec policy;
  policy.targets.resize(1);
  policy.targets[0].name = "orders";
  engine::BudgetSpec& budget = policy.budgets.emplace_back();
  budget.name = "batch";
  budget.rate = engine::AutoRate{};
  budget.burst = 0.1;
  budget.default_cost = 0.01;
  engine::RuleSpec& rule = policy.rules.emplace_back();
  rule.name = "all";
  rule.action = engine::ChargeAction{{"batch"}};
  return policy;
}

ControlSpec BatchSpec(const ControlOptions& options = {}) {
  return {.target = "orders", .budgets = {{"batch", ""}}, .options = options};
}

// A server whose database has a foreground that batch work does not disturb: its controller finds
// more and more.
class Server {
 public:
  explicit Server(double now = 1) : now_(now), engine_(NewEngine()) {
    EXPECT_TRUE(engine_->Install(BatchPolicy(), AtSecond(now_)).ok());
  }
  // The next process, `down_for` seconds later.
  void Restart(double down_for) {
    engine::SavedState saved;
    engine_->Save(AtSecond(now_), saved);
    loop_.reset();
    now_ += down_for;
    engine_ = NewEngine();
    const auto elapsed_ns = static_cast<int64_t>(down_for * 1e9);
    EXPECT_TRUE(engine_->Restore(saved, AtSecond(now_), elapsed_ns).ok());
    EXPECT_TRUE(engine_->Install(BatchPolicy(), AtSecond(now_)).ok());
  }

  void Begin(const ControlSpec& spec = BatchSpec()) {
    loop_ = std::make_unique<ControlLoop>(spec, *engine_);
  }
  void Reconfigure(const ControlSpec& spec) { loop_->Reconfigure(spec); }
  void Adopt(const engine::SavedTarget* saved) {
    EXPECT_TRUE(
        engine_->AdoptTarget("orders", saved, engine::Engine::Unsaved::kNothing, AtSecond(now_))
            .ok());
  }
  void HaveForeground(bool is_there) {
    left_at_ = is_there ? left_at_ : now_;
    away_ += is_there ? now_ - left_at_ : 0;
    is_foreground_there_ = is_there;
  }
  void Sample() {
    health::WorkCounters work;
    work.sampled_at_ns = AtSecond(now_).monotonic_ns;
    const double worked_until = is_foreground_there_ ? now_ : left_at_;
    work.next_xid = static_cast<int64_t>(1'000'000 + 5000 * (worked_until - away_)) + chunks_;
    work.foreground_active = is_foreground_there_ ? 4 : 0;
    wait_ = absl::ToDoubleSeconds(loop_->OnWork(work, AtSecond(now_)).after);
  }
  // Jobs ask all the time, for chunks of 10 ms.
  void Work(double seconds) {
    for (const double end = now_ + seconds; now_ < end; now_ += wait_) {
      Sample();
      for (int i = 0; i < 200; ++i) {
        engine::CheckAnswer answer;
        const Now then = AtSecond(now_ + wait_ * i / 200);
        if (!engine_->Check({.identity = "job"}, then, answer).ok()) continue;
        if (answer.verdict != engine::Verdict::kAllowed) continue;
        EXPECT_TRUE(
            engine_->Report(answer.permit, {.busy_time = absl::Milliseconds(10)}, then).ok());
        ++chunks_;
      }
    }
  }
  double Rate() const { return loop_->Snapshot()[0].rate; }
  std::string Phase() const { return loop_->Snapshot()[0].phase; }
  engine::Engine& engine() { return *engine_; }
  double now_;

 private:
  static std::unique_ptr<engine::Engine> NewEngine() {
    return std::make_unique<engine::Engine>(engine::EngineOptions{.seed = 1});
  }

  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<ControlLoop> loop_;
  double wait_ = 0;
  int64_t chunks_ = 0;
  bool is_foreground_there_ = true;
  double left_at_ = 0, away_ = 0;  // s
};

// Found what is far from what it began with.
class KeptControl : public testing::Test {
 protected:
  KeptControl() {
    server_.Begin();
    server_.Work(30);
    found_ = server_.Rate();
    EXPECT_GT(found_, 4 * kRateAtFirst);
  }

  Server server_;
  double found_ = 0;
};

TEST_F(KeptControl, TheNextLoopBeginsWithTheRateOfTheOneBefore) {
  server_.Begin();
  server_.Sample();
  EXPECT_NEAR(server_.Rate() / found_, 1, 0.2);
}

TEST_F(KeptControl, TheNextProcessBeginsWithTheRateOfTheOneBefore) {
  server_.Restart(/*down_for=*/3);
  server_.Begin();
  server_.Sample();
  EXPECT_NEAR(server_.Rate() / found_, 1, 0.3);
}

TEST_F(KeptControl, AProcessThatWasDownForAnHourBeginsAnew) {
  server_.Restart(/*down_for=*/3600);
  server_.Begin();
  server_.Sample();
  EXPECT_NEAR(server_.Rate(), kRateAtFirst, 0.03);
}

TEST_F(KeptControl, OtherTolerancesBeginAnew) {
  server_.Begin(BatchSpec({.tolerance = 0.04}));
  server_.Sample();
  EXPECT_NEAR(server_.Rate(), kRateAtFirst, 0.03);
}

TEST_F(KeptControl, WhatIsNotSoundIsLeftAlone) {
  const engine::LearntControlBytes known = server_.engine().ReadLearntControl("orders");
  std::string bytes = known.bytes;
  bytes[bytes.size() / 2] = 'x';
  ASSERT_TRUE(server_.engine().SetLearntControl("orders", bytes, known.adoption).ok());
  server_.Begin();
  server_.Sample();
  EXPECT_NEAR(server_.Rate(), kRateAtFirst, 0.03);
}

TEST_F(KeptControl, IsWrittenOnceASecondAtMost) {
  int writes = 0;
  const double from = server_.now_;
  std::string before = server_.engine().ReadLearntControl("orders").bytes;
  for (int i = 0; i < 100; ++i) {
    server_.Work(0.1);
    const std::string bytes = server_.engine().ReadLearntControl("orders").bytes;
    writes += bytes != before ? 1 : 0;
    before = bytes;
  }
  const double seconds = server_.now_ - from;
  EXPECT_GE(writes, seconds / 3);
  EXPECT_LE(writes, seconds + 1);
}

// Its loop has looked at the database all the time, and was asked by nobody.
TEST_F(KeptControl, TheNextOwnerGoesOnWithTheRateOfTheOneBefore) {
  Server next(server_.now_ - 10);
  next.Begin();
  for (int i = 0; i < 20; ++i) {
    next.Sample();
    next.now_ += 0.5;
  }
  EXPECT_LT(next.Rate(), 2 * kRateAtFirst);
  const auto saved = server_.engine().SaveTargets({"orders"}, AtSecond(server_.now_));
  ASSERT_TRUE(saved[0].ok());
  next.Adopt(&*saved[0]);
  next.Sample();
  EXPECT_NEAR(next.Rate() / found_, 1, 0.2);
  next.now_ += 0.5;
  next.Work(20);
  EXPECT_GT(next.Rate(), 0.7 * found_);
}

TEST_F(KeptControl, WhoGivesATargetAwayForgetsWhatItLearnt) {
  server_.Adopt(nullptr);
  server_.Sample();
  EXPECT_NEAR(server_.Rate(), kRateAtFirst, 0.03);
  server_.now_ += 0.5;
  for (int i = 0; i < 20; ++i) {
    server_.Sample();
    server_.now_ += 0.5;
  }
  EXPECT_EQ(server_.engine().ReadLearntControl("orders").bytes, "");
}

// It had been given the target, and learnt nothing by itself.
TEST_F(KeptControl, WhoGivesATargetAwayForgetsWhatItTookUp) {
  Server next(server_.now_);
  next.Begin();
  const auto saved = server_.engine().SaveTargets({"orders"}, AtSecond(server_.now_));
  ASSERT_TRUE(saved[0].ok());
  next.Adopt(&*saved[0]);
  next.Sample();
  EXPECT_GT(next.Rate(), 0.7 * found_);
  next.now_ += 0.5;
  next.Adopt(nullptr);
  next.Sample();
  EXPECT_NEAR(next.Rate(), kRateAtFirst, 0.03);
}

// What it saw before may have been beside the batch of another owner.
TEST_F(KeptControl, WhoTakesOverATargetOfWhichNothingIsLeftMeasuresTheForegroundAnew) {
  Server next(server_.now_);
  next.Begin();
  for (int i = 0; i < 10; ++i) {
    next.Sample();
    next.now_ += 0.5;
  }
  EXPECT_EQ(next.Phase(), "rest");
  next.Adopt(nullptr);
  next.Sample();
  EXPECT_EQ(next.Phase(), "pause");
}

TEST_F(KeptControl, GoingBackToTheOptionsOfBeforeFindsWhatWasLearntWithThem) {
  server_.Reconfigure(BatchSpec({.tolerance = 0.04}));
  server_.Sample();
  EXPECT_NEAR(server_.Rate(), kRateAtFirst, 0.03);
  server_.now_ += 0.5;
  server_.Reconfigure(BatchSpec());
  server_.Sample();
  EXPECT_NEAR(server_.Rate() / found_, 1, 0.2);
}

// The foreground is away for a minute, in which nothing is learnt. That it comes back is a reason
// to write, and makes the beliefs no younger.
TEST_F(KeptControl, IsAsOldAsTheLastThatWasLearnt) {
  server_.HaveForeground(false);
  server_.Work(60);
  const std::string before = server_.engine().ReadLearntControl("orders").bytes;
  server_.HaveForeground(true);
  std::string after;
  do {
    server_.Work(0.1);
    after = server_.engine().ReadLearntControl("orders").bytes;
  } while (after == before && server_.now_ < 200);
  const auto learnt = ParseLearntControl(after);
  ASSERT_TRUE(learnt.ok()) << learnt.status();
  EXPECT_NEAR(learnt->SecondsUntil(AtSecond(server_.now_).wall_ns), 60, 5);
}

}  // namespace
}  // namespace headgate::control
