// Which transactions are tried again, how often, and how far apart.

#include "server/share/store/retry.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::store {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;

class RetryTest : public testing::Test {
 protected:
  // A transaction that is rolled back so often before it succeeds.
  absl::Status Run(int rollbacks, uint64_t seed = 1) {
    Retry retry({.attempts = 5}, seed);
    return retry.Run(
        [&] { return ++tries_ <= rollbacks ? absl::AbortedError("40001") : absl::OkStatus(); },
        [&](absl::Duration pause) {
          pauses_.push_back(pause);
          return absl::OkStatus();
        });
  }

  int tries_ = 0;
  std::vector<absl::Duration> pauses_;
};

TEST_F(RetryTest, TriesAgainUntilItSucceeds) {
  EXPECT_TRUE(Run(3).ok());
  EXPECT_EQ(tries_, 4);
}

TEST_F(RetryTest, PausesDoubleAndAreDrawnFromTheirUpperHalf) {
  ASSERT_TRUE(Run(4).ok());
  const auto between = [](int low_ms, int high_ms) {
    return AllOf(Ge(absl::Milliseconds(low_ms)), Le(absl::Milliseconds(high_ms)));
  };
  EXPECT_THAT(pauses_, ElementsAre(between(2, 4), between(4, 8), between(8, 16), between(16, 32)));
}

TEST_F(RetryTest, ThoseWhoMetDoNotPauseAlike) {
  ASSERT_TRUE(Run(1, 1).ok());
  tries_ = 0;
  ASSERT_TRUE(Run(1, 2).ok());
  EXPECT_NE(pauses_[0], pauses_[1]);
}

TEST_F(RetryTest, GivesUpInTheEndAndSaysHowOftenItTried) {
  const absl::Status status = Run(5);
  EXPECT_EQ(tries_, 5);
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_EQ(status.message(), "rolled back 5 times because of others: 40001");
}

TEST_F(RetryTest, AnyOtherErrorIsNotTriedAgain) {
  Retry retry({}, 1);
  const absl::Status status = retry.Run(
      [&] {
        ++tries_;
        return absl::UnavailableError("gone");
      },
      [](absl::Duration) { return absl::OkStatus(); });
  EXPECT_EQ(tries_, 1);
  EXPECT_TRUE(absl::IsUnavailable(status));
}

TEST_F(RetryTest, WhereNoTimeIsLeftTheRollbackIsTheError) {
  Retry retry({}, 1);
  const absl::Status status =
      retry.Run([] { return absl::AbortedError("40P01"); },
                [](absl::Duration) { return absl::DeadlineExceededError("late"); });
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_EQ(retry.rolled_back(), 1);
}

}  // namespace
}  // namespace headgate::store
