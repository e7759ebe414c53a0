#include "common/held_bytes.h"

#include "gtest/gtest.h"

namespace headgate {
namespace {

TEST(HeldBytes, IsTheSumOfWhatWasAddedAndTakenOff) {
  HeldBytes held;
  held.Add(300);
  held.Add(-100);
  EXPECT_EQ(held.bytes(), 200);
}

TEST(HeldBytes, ShareTakesOffAllThatWasAddedToItAtItsEnd) {
  HeldBytes held;
  held.Add(7);
  {
    HeldBytes::Share share(&held);
    share.Add(100);
    share.Add(-30);
    EXPECT_EQ(held.bytes(), 77);
    share.Clear();
    EXPECT_EQ(held.bytes(), 7);
    share.Add(50);
  }
  EXPECT_EQ(held.bytes(), 7);
}

TEST(HeldBytes, ShareOfNobodyCountsNothing) {
  HeldBytes::Share share(nullptr);
  share.Add(100);
}

}  // namespace
}  // namespace headgate
