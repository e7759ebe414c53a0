#include "client/agent/work_times.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace headgate::agent {
namespace {

constexpr int64_t kTenthNs = 100'000'000;

TEST(WorkTimes, EachLookStandsForTheTimeSinceTheOneBefore) {
  WorkTimes times;
  const std::vector<Work> sessions = {Work::kProcessor, Work::kProcessor, Work::kDisk, Work::kNone};
  times.Note(sessions, kTenthNs);  // nothing is known of the time before
  EXPECT_EQ(times.all(), WorkSeconds());
  times.Note(sessions, 3 * kTenthNs);
  times.Note({Work::kLocks, Work::kStandbys, Work::kOther}, 4 * kTenthNs);
  EXPECT_NEAR(times.all().processor, 0.4, 1e-9);
  EXPECT_NEAR(times.all().disk, 0.2, 1e-9);
  EXPECT_NEAR(times.all().locks, 0.1, 1e-9);
  EXPECT_NEAR(times.all().standbys, 0.1, 1e-9);
  EXPECT_NEAR(times.all().other, 0.1, 1e-9);
}

TEST(WorkTimes, WhatIsLongAgoFadesFromWhatIsRecent) {
  WorkTimes times;
  times.Note({}, kTenthNs);
  times.Note({Work::kDisk}, 2 * kTenthNs);
  times.Note({Work::kLocks}, 102 * kTenthNs);
  EXPECT_NEAR(times.recent().disk, 0.1 * std::exp(-1), 1e-9);
  EXPECT_NEAR(times.all().disk, 0.1, 1e-9);
  // Of ten seconds without a look one is taken for known.
  EXPECT_NEAR(times.all().locks, WorkTimes::kMostS, 1e-9);
}

}  // namespace
}  // namespace headgate::agent
