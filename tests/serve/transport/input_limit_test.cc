#include "server/serve/transport/input_limit.h"

#include "gmock/gmock.h"

namespace headgate::transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr InputLimit::Options kOptions = {.bytes_per_second = 100, .burst = 1000};

TEST(InputLimit, TakesABurstAndThenWhatTheRateGivesBack) {
  InputLimit limit(kOptions);
  EXPECT_THAT(limit.Judge({{1, 600}, {2, 400}}, absl::Seconds(1)), IsEmpty());
  EXPECT_THAT(limit.Judge({{1, 100}}, absl::Seconds(1)), IsEmpty());
  EXPECT_THAT(limit.Judge({{1, 1}}, absl::ZeroDuration()), ElementsAre(1));
}

TEST(InputLimit, WhoBroughtMostGoesFirstAndOnlyAsManyAsMust) {
  InputLimit limit(kOptions);
  EXPECT_THAT(limit.Judge({{1, 10}, {2, 5000}, {3, 900}, {4, 7000}}, absl::ZeroDuration()),
              ElementsAre(4, 2));
  // Of the debt only what stays is left: 910.
  EXPECT_THAT(limit.Judge({{1, 90}}, absl::ZeroDuration()), IsEmpty());
  EXPECT_THAT(limit.Judge({{1, 1}, {3, 2}}, absl::ZeroDuration()), ElementsAre(3, 1));
}

TEST(InputLimit, WhatIsTakenBackMakesRoomAndSavesNothingUp) {
  InputLimit limit(kOptions);
  EXPECT_THAT(limit.Judge({{1, 900}}, absl::ZeroDuration()), IsEmpty());
  EXPECT_THAT(limit.Judge({{1, -900}, {2, -500}}, absl::ZeroDuration()), IsEmpty());
  EXPECT_THAT(limit.Judge({{1, 1000}}, absl::ZeroDuration()), IsEmpty());
  EXPECT_THAT(limit.Judge({{2, 1}}, absl::ZeroDuration()), ElementsAre(2));
}

TEST(InputLimit, IdleTimeSavesNothingUp) {
  InputLimit limit(kOptions);
  EXPECT_THAT(limit.Judge({}, absl::Hours(1)), IsEmpty());
  EXPECT_THAT(limit.Judge({{1, 1001}}, absl::ZeroDuration()), ElementsAre(1));
}

}  // namespace
}  // namespace headgate::transport
