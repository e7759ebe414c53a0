// What a Check that waits takes of memory.
#include <malloc.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/decide/line/waiting_lines.h"
#include "tests/decide/line/fake_limits.h"

namespace headgate::line {
namespace {

// A sanitizer's allocator tells nothing.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

class NoWaiter final : public Waiter {
 public:
  void Answer(int, const Decided&) override {}
};

TEST(LineMemory, ACheckThatWaitsTakesLessThan500Bytes) {
  FakeLimits limits;
  limits.AddBucket("a", absl::Milliseconds(10));
  WaitingLines lines({.max_waiting = 65'536, .max_waiting_share = 1}, limits.Examine());
  limits.Attach(&lines);
  // Large tables have pages of their own, or not, by what was allocated in the process before.
  const auto in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
  };
  engine::CheckAnswer answer;
  const engine::CheckRequest first{.identity = "f:etl", .estimated_cost = 10, .pattern = "a"};
  ASSERT_TRUE(limits.Check(first, AtNs(0), answer).ok());
  const double before = in_use();
  constexpr int kChecks = 20'000;
  for (int i = 0; i < kChecks; ++i) {
    const std::string identity = absl::StrCat("job-", i % 1000, ":etl");
    const engine::CheckRequest request{
        .identity = identity, .estimated_cost = 10, .pattern = "a", .waits = true};
    ASSERT_TRUE(limits.Check(request, AtNs(0), answer).ok());
    uint64_t ticket = 0;
    ASSERT_EQ(
        lines.Enter({request, answer, AtNs(0)},
                    {.waiter = std::make_shared<NoWaiter>(), .until_ns = 1'000'000'000}, &ticket),
        Entered::kWaits);
  }
  const double taken = in_use() - before;
  EXPECT_LT(taken / kChecks, 500);
  // What the lines say of themselves is held against nobody, so it must not be more.
  EXPECT_LE(static_cast<double>(lines.held_bytes()), taken);
  EXPECT_GT(static_cast<double>(lines.held_bytes()), 0.8 * taken);
}

#endif

}  // namespace
}  // namespace headgate::line
