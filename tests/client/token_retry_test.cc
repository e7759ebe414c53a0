#include "client/token_retry.h"

#include "gtest/gtest.h"

namespace headgate::client::internal {
namespace {

TEST(TokenRetry, CallsAgainTwiceAndThenGivesUp) {
  TokenRetry retry;
  EXPECT_EQ(retry.pause(), absl::ZeroDuration());
  EXPECT_TRUE(retry.OnRefused());
  EXPECT_EQ(retry.pause(), absl::Milliseconds(1100));
  EXPECT_TRUE(retry.OnRefused());
  EXPECT_FALSE(retry.OnRefused());
}

TEST(TokenRetry, BeginsAnewAfterAReset) {
  TokenRetry retry(absl::Milliseconds(1));
  EXPECT_TRUE(retry.OnRefused());
  EXPECT_TRUE(retry.OnRefused());
  EXPECT_EQ(retry.pause(), absl::Milliseconds(1));
  retry.Reset();
  EXPECT_EQ(retry.pause(), absl::ZeroDuration());
  EXPECT_TRUE(retry.OnRefused());
  EXPECT_TRUE(retry.OnRefused());
  EXPECT_FALSE(retry.OnRefused());
}

}  // namespace
}  // namespace headgate::client::internal
