// Workers: what waits for a thread is bounded, in number and in bytes.

#include "server/serve/http/workers.h"

#include <atomic>
#include <latch>
#include <new>

#include "gtest/gtest.h"
#include "tests/testing/wait_until.h"

namespace headgate::http {
namespace {

TEST(Workers, TakesSoManyTasks) {
  std::latch go(1);
  Workers workers({.threads = 1, .max_tasks = 3});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(workers.Run(0, [&] { go.wait(); }));
  EXPECT_FALSE(workers.Run(0, [] {}));
  go.count_down();
  EXPECT_TRUE(WaitUntil([&] { return workers.Run(0, [] {}); }));
}

TEST(Workers, TakesTasksOfSoManyBytes) {
  std::latch go(1);
  Workers workers({.threads = 1, .max_bytes = 100});
  EXPECT_TRUE(workers.Run(60, [&] { go.wait(); }));
  EXPECT_FALSE(workers.Run(41, [] {}));
  EXPECT_TRUE(workers.Run(40, [] {}));
  EXPECT_FALSE(workers.Run(1, [] {}));
  go.count_down();
  EXPECT_TRUE(WaitUntil([&] { return workers.Run(100, [] {}); }));
}

TEST(Workers, TakesOneLargeTaskThatIsAlone) {
  std::atomic<bool> ran{false};
  Workers workers({.threads = 1, .max_bytes = 100});
  EXPECT_TRUE(workers.Run(101, [&] { ran = true; }));
  EXPECT_TRUE(WaitUntil([&] { return ran.load(); }));
}

TEST(Workers, EndsWhenAllThatItTookHasRun) {
  std::atomic<int> ran{0};
  {
    Workers workers({.threads = 1});
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(workers.Run(0, [&] { ++ran; }));
  }
  EXPECT_EQ(ran, 10);
}

TEST(Workers, TaskThatThrowsLeavesItsRoomAndEndsNothingElse) {
  Workers workers({.threads = 1, .max_tasks = 1});
  EXPECT_TRUE(workers.Run(0, [] { throw std::bad_alloc(); }));
  std::atomic<bool> ran{false};
  EXPECT_TRUE(WaitUntil([&] { return workers.Run(0, [&] { ran = true; }); }));
  EXPECT_TRUE(WaitUntil([&] { return ran.load(); }));
}

}  // namespace
}  // namespace headgate::http
