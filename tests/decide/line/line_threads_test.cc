// Threads that ask, leave and report while another one advances the lines.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/decide/engine/engine.h"
#include "server/decide/line/waiting_lines.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/test_scale.h"

namespace headgate::line {
namespace {

class Counter final : public Waiter {
 public:
  explicit Counter(std::atomic<int64_t>& answered) : answered_(answered) {}
  void Answer(int, const Decided&) override { ++answered_; }

 private:
  std::atomic<int64_t>& answered_;
};

TEST(LineThreads, EachWhoEntersIsAnsweredOnceOrHasLeft) {
  engine::TestEngine engine(engine::OneBudget(engine::RateBudget("b", 1000, 100)));
  WaitingLines lines({}, [&](const auto& request, Now now, auto& answer) {
    return engine->Check(request, now, answer);
  });
  engine->AttachLine(&lines);
  std::atomic<int64_t> time_ns{0};
  std::atomic<int64_t> answered{0};
  std::atomic<int64_t> entered{0};
  std::atomic<int64_t> left{0};
  std::atomic<int> at_work{3};
  const auto now = [&] { return engine::At(absl::Nanoseconds(time_ns.load())); };
  const auto ask = [&](int thread) {
    const std::string identity = absl::StrCat("t", thread, ":etl");
    for (int i = 0; i < Scaled(20'000); ++i) {
      time_ns += 100'000;
      const engine::CheckRequest request{
          .identity = identity, .estimated_cost = 5, .waits = i % 5 != 0};
      engine::CheckAnswer answer;
      ASSERT_TRUE(engine->Check(request, now(), answer).ok());
      if (answer.verdict == engine::Verdict::kAllowed) {
        ASSERT_TRUE(engine->Report(answer.permit, {.cost = 4}, now()).ok());
        continue;
      }
      if (!request.waits) continue;
      uint64_t ticket = 0;
      const Now at = now();
      if (lines.Enter({request, answer, at},
                      {.waiter = std::make_shared<Counter>(answered),
                       .until_ns = at.monotonic_ns + 5'000'000},
                      &ticket) != Entered::kWaits) {
        continue;
      }
      ++entered;
      if (i % 7 == 0 && lines.Leave(ticket, now())) ++left;
    }
    --at_work;
  };
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int thread = 0; thread < 3; ++thread) threads.emplace_back(ask, thread);
  while (at_work > 0) lines.Advance(now());
  for (std::thread& thread : threads) thread.join();
  lines.Close(absl::UnavailableError("stops"), now());
  EXPECT_EQ(answered + left, entered);
  EXPECT_GT(entered, 0);
  EXPECT_EQ(lines.ReadStats(now()).waiting, 0u);
}

// Lets everybody pass, and adds up what it is told.
class AddingLine final : public engine::LineInterface {
 public:
  AddingLine() { lines_ = 1; }
  engine::PlaceInLine Arrive(const engine::LineArrival&) override { return {}; }
  void Admitted(const engine::LineAdmission& one) override { charged_ns += one.cost_ns; }
  void Settled(uint64_t, uint64_t, int64_t delta_ns) override { charged_ns += delta_ns; }
  void RoomFreed(uint64_t) override {}
  void Changed() override {}

  std::atomic<int64_t> charged_ns{0};
};

// Time stands still, so nothing drains. In the smaller budget there is room for one at a time, and
// another may find so when the larger one has been charged for it already.
TEST(LineThreads, WhatTheGateIsToldAddsUpToWhatTheBucketsOwe) {
  engine::TestEngine engine(engine::Budgets(
      {engine::RateBudget("large", 1000, 1000), engine::RateBudget("small", 1000, 60)}));
  AddingLine gate;
  engine->AttachLine(&gate);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine.Admits("t0:etl", 15));
  std::atomic<int64_t> allowed{0};
  const auto work = [&](int thread) {
    const std::string identity = absl::StrCat("t", thread, ":etl");
    for (int i = 0; i < Scaled(20'000); ++i) {
      const engine::CheckRequest request{.identity = identity, .estimated_cost = 15};
      engine::CheckAnswer answer;
      ASSERT_TRUE(engine->Check(request, engine::At(), answer).ok());
      if (answer.verdict != engine::Verdict::kAllowed) continue;
      ++allowed;
      engine->Withdraw(request, answer, engine::At());
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(allowed, 0);
  constexpr double kNsPerUnit = 1e6;
  const double owed =
      engine.Debt("t0:etl", "large", engine::At()) + engine.Debt("t0:etl", "small", engine::At());
  EXPECT_NEAR(static_cast<double>(gate.charged_ns) / kNsPerUnit, owed, 1e-3);
}

}  // namespace
}  // namespace headgate::line
