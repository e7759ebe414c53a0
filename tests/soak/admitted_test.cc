#include "tests/soak/admitted.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::soak {
namespace {

constexpr int64_t kBegan = 5'000'000'000'000;
constexpr Bound kBound = {.rate = 100, .burst = 50};

int64_t At(double seconds) { return kBegan + static_cast<int64_t>(seconds * 1e9); }

TEST(Admitted, BurstAndRateAreAdmitted) {
  Admitted admitted(kBound, kBegan);
  admitted.Admit(At(0.1), At(0.2), 50);
  admitted.Admit(At(0.3), At(0.9), 100);
  EXPECT_TRUE(admitted.Verify(At(1)).ok()) << admitted.Verify(At(1));
  EXPECT_EQ(admitted.total(), 150);
}

TEST(Admitted, MoreInOneSecondIsTooMuch) {
  Admitted admitted(kBound, kBegan);
  admitted.Admit(At(7.1), At(7.2), 151);
  EXPECT_TRUE(absl::IsInternal(admitted.Verify(At(60))));
}

TEST(Admitted, AnswerThatTookLongMayHaveBeenDecidedEarlier) {
  Admitted admitted(kBound, kBegan);
  admitted.Admit(At(6.9), At(7.2), 100);
  admitted.Admit(At(7.3), At(7.4), 140);
  EXPECT_TRUE(admitted.Verify(At(60)).ok());
}

TEST(Admitted, LittleTooMuchShowsInTheWholeTime) {
  Admitted admitted(kBound, kBegan);
  for (int i = 0; i < 60; ++i) admitted.Admit(At(i + 0.5), At(i + 0.6), 103);
  EXPECT_TRUE(absl::IsInternal(admitted.Verify(At(60))));
  EXPECT_TRUE(admitted.Verify(At(66)).ok());
}

TEST(Admitted, RefundsMakeRoom) {
  Admitted admitted(kBound, kBegan);
  admitted.Admit(At(7.1), At(7.2), 150);
  admitted.Refund(At(7.3), At(7.4), 30);
  admitted.Admit(At(7.5), At(7.6), 30);
  EXPECT_TRUE(admitted.Verify(At(60)).ok());
}

}  // namespace
}  // namespace headgate::soak
