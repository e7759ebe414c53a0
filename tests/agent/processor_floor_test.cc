#include "client/agent/processor_floor.h"

#include "gtest/gtest.h"

namespace headgate::agent {
namespace {

constexpr int64_t kMsNs = 1'000'000;

// Looks each 100 ms at work that gets so much of a processor, and another part while it is
// relieved.
class FloorTest : public ::testing::Test {
 protected:
  struct Work {
    double yielding = 0, relieved = 0;
    int64_t wants_each = 1;  // the how manieth look finds that it wants to run
  };
  // The share of the time for which it was relieved.
  double RelievedFor(ProcessorFloor& floor, const Work& work) {
    int relieved = 0;
    constexpr int kLooks = 600;
    bool relieves = false;
    for (int i = 0; i < kLooks; ++i) {
      now_ns_ += 100 * kMsNs;
      const double share = relieves ? work.relieved : work.yielding;
      ran_ns_ += static_cast<int64_t>(share * 100 * kMsNs);
      ProcessorFloor::Look look{.now_ns = now_ns_, .wants = i % work.wants_each == 0};
      if (floor.AsksProcessorTime(look)) look.ran_ns = ran_ns_;
      relieves = floor.Decide(look);
      if (relieves) ++relieved;
    }
    return static_cast<double>(relieved) / kLooks;
  }

  int64_t now_ns_ = 5'000'000'000, ran_ns_ = 700 * kMsNs;
};

TEST_F(FloorTest, WhoGetsLessHasTheFloorInTheEnd) {
  for (const double yielding : {0.0, 0.03, 0.09}) {
    ProcessorFloor floor(0.1);
    const int64_t before_ns = ran_ns_;
    const double relieved = RelievedFor(floor, {.yielding = yielding, .relieved = 0.5});
    EXPECT_GT(relieved, 0) << yielding;
    EXPECT_LT(relieved, 0.3) << yielding;
    // A relief ends at a look, so that it may be more by what runs between two of them.
    const double had = static_cast<double>(ran_ns_ - before_ns) / (60'000 * kMsNs);
    EXPECT_GE(had, 0.099) << yielding;
    EXPECT_LE(had, 0.16) << yielding;
  }
}

TEST_F(FloorTest, WhoGetsMoreByItselfIsNeverRelieved) {
  ProcessorFloor floor(0.1);
  EXPECT_EQ(RelievedFor(floor, {.yielding = 0.11, .relieved = 1}), 0);
}

TEST_F(FloorTest, WhoWantsNothingIsNotRelieved) {
  ProcessorFloor floor(0.1);
  EXPECT_EQ(RelievedFor(floor, {.wants_each = 3}), 0);
}

TEST_F(FloorTest, OfNothingThereIsNoRelief) {
  ProcessorFloor floor(0);
  EXPECT_FALSE(floor.AsksProcessorTime({.now_ns = now_ns_, .wants = true}));
  EXPECT_EQ(RelievedFor(floor, {}), 0);
}

TEST_F(FloorTest, AReliefThatBringsNothingEnds) {
  ProcessorFloor floor(0.1);
  // A second of each one and a half.
  EXPECT_NEAR(RelievedFor(floor, {}), 0.65, 0.03);
}

TEST_F(FloorTest, ProcessorTimeIsAskedForWhereItSaysSomething) {
  ProcessorFloor floor(0.1);
  using Look = ProcessorFloor::Look;
  const auto at = [this](int64_t ms, bool wants) {
    return Look{.now_ns = now_ns_ + ms * kMsNs, .wants = wants};
  };
  const auto with_time = [](Look look) {
    look.ran_ns = 0;
    return look;
  };
  EXPECT_FALSE(floor.AsksProcessorTime(at(0, false)));
  EXPECT_TRUE(floor.AsksProcessorTime(at(0, true)));
  EXPECT_FALSE(floor.Decide(with_time(at(0, true))));
  EXPECT_FALSE(floor.AsksProcessorTime(at(499, true)));
  EXPECT_FALSE(floor.Decide(at(499, true)));
  EXPECT_TRUE(floor.AsksProcessorTime(at(500, true)));
  EXPECT_TRUE(floor.Decide(with_time(at(500, true))));
  // A relief is looked at each time, and goes on where it was not.
  EXPECT_TRUE(floor.AsksProcessorTime(at(501, false)));
  EXPECT_TRUE(floor.Decide(at(501, false)));
}

TEST_F(FloorTest, OfWhoHardlyWantsToRunNothingIsAsked) {
  ProcessorFloor floor(0.1);
  int asked = 0;
  for (int i = 0; i < 600; ++i) {
    now_ns_ += 100 * kMsNs;
    ProcessorFloor::Look look{.now_ns = now_ns_, .wants = i % 10 == 0};
    if (floor.AsksProcessorTime(look)) {
      ++asked;
      look.ran_ns = 0;
    }
    EXPECT_FALSE(floor.Decide(look));
  }
  EXPECT_LE(asked, 60);  // where a watch begins
}

}  // namespace
}  // namespace headgate::agent
