#include "server/serve/peers/reconnect_backoff.h"

#include "gtest/gtest.h"

namespace headgate::peers {
namespace {

constexpr int64_t kMs = 1'000'000;

// Attempts within ten seconds, to a server that can never be reached and is always asked for.
int AttemptsWithin(int64_t from_ns, ReconnectBackoff& backoff) {
  int attempts = 0;
  for (int64_t now_ns = from_ns; now_ns < from_ns + 10'000 * kMs; now_ns += 20 * kMs) {
    if (!backoff.MayTry(now_ns)) continue;
    backoff.OnAttempt(now_ns);
    ++attempts;
  }
  return attempts;
}

TEST(ReconnectBackoff, TheFirstAttemptIsMadeAtOnce) { EXPECT_TRUE(ReconnectBackoff().MayTry(0)); }

TEST(ReconnectBackoff, PausesDoubleUpToASecond) {
  ReconnectBackoff backoff;
  int64_t now_ns = 0;
  for (const int64_t pause_ms : {100, 200, 400, 800, 1000, 1000}) {
    backoff.OnAttempt(now_ns);
    EXPECT_FALSE(backoff.MayTry(now_ns + pause_ms * kMs - 1)) << pause_ms;
    now_ns += pause_ms * kMs;
    EXPECT_TRUE(backoff.MayTry(now_ns)) << pause_ms;
  }
}

TEST(ReconnectBackoff, AServerThatStaysAwayIsTriedOnceASecond) {
  ReconnectBackoff backoff;
  EXPECT_EQ(AttemptsWithin(0, backoff), 13);
  EXPECT_EQ(AttemptsWithin(20'000 * kMs, backoff), 10);
}

TEST(ReconnectBackoff, ASuccessMakesTheNextPauseTheFirstOneAgain) {
  ReconnectBackoff backoff;
  AttemptsWithin(0, backoff);
  backoff.OnSuccess();
  EXPECT_EQ(AttemptsWithin(20'000 * kMs, backoff), 13);
}

}  // namespace
}  // namespace headgate::peers
