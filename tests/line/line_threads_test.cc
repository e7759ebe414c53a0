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
#include "server/engine/engine.h"
#include "server/line/waiting_lines.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/test_scale.h"

namespace headgate::line {
namespace {

class Counter final : public Waiter {
 public:
  explicit Counter(std::atomic<int64_t>& answered) : answered_(answered) {}
  void Answer(const absl::Status&, const engine::CheckRequest&, engine::CheckAnswer&,
              Now) override {
    ++answered_;
  }

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
      if (lines.Enter(request, answer, at, at.monotonic_ns + 5'000'000,
                      std::make_unique<Counter>(answered), &ticket) != Entered::kWaits) {
        continue;
      }
      ++entered;
      if (i % 7 == 0 && lines.Leave(ticket)) ++left;
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

}  // namespace
}  // namespace headgate::line
