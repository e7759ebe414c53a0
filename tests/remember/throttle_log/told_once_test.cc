// What is remembered of messages that holders of leases have told.
#include "server/remember/throttle_log/told_once.h"

#include "gtest/gtest.h"

namespace headgate::throttle_log {
namespace {

constexpr uint64_t kSubject = 7;

Now After(absl::Duration since) {
  return {.monotonic_ns = absl::ToInt64Nanoseconds(absl::Hours(1) + since)};
}

TEST(ToldOnce, KnowsAMessageThatComesAgain) {
  ToldOnce told(nullptr);
  EXPECT_TRUE(told.IsNew(kSubject, 1, After({})));
  EXPECT_FALSE(told.IsNew(kSubject, 1, After(absl::Seconds(5))));
  EXPECT_TRUE(told.IsNew(kSubject, 2, After(absl::Seconds(5))));
  EXPECT_TRUE(told.IsNew(kSubject + 1, 1, After(absl::Seconds(5)))) << "somebody else's";
}

TEST(ToldOnce, RemembersForTenMinutesAndForgetsWithinTwenty) {
  ToldOnce told(nullptr);
  EXPECT_TRUE(told.IsNew(kSubject, 1, After({})));
  EXPECT_TRUE(told.IsNew(kSubject, 2, After(absl::Minutes(9))));
  EXPECT_TRUE(told.IsNew(kSubject, 3, After(absl::Minutes(11))));
  EXPECT_FALSE(told.IsNew(kSubject, 2, After(absl::Minutes(19))));
  EXPECT_TRUE(told.IsNew(kSubject, 4, After(absl::Minutes(21))));
  EXPECT_TRUE(told.IsNew(kSubject, 2, After(absl::Minutes(29))));
}

TEST(ToldOnce, InAFloodRemembersTheNewestInBoundedMemory) {
  HeldBytes held;
  {
    ToldOnce told(&held);
    constexpr uint64_t kFlood = 5 * ToldOnce::kMostKept;
    for (uint64_t id = 1; id <= kFlood; ++id) EXPECT_TRUE(told.IsNew(kSubject, id, After({})));
    EXPECT_LE(held.bytes(), 2'400'000);
    EXPECT_GT(held.bytes(), 1'000'000);
    for (uint64_t id = kFlood - ToldOnce::kMostKept + 1; id <= kFlood; ++id) {
      EXPECT_FALSE(told.IsNew(kSubject, id, After({})));
    }
  }
  EXPECT_EQ(held.bytes(), 0);
}

}  // namespace
}  // namespace headgate::throttle_log
