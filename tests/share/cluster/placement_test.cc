#include "server/share/cluster/placement.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace headgate::cluster {
namespace {

constexpr int kTargets = 3000;

std::string Target(int i) { return absl::StrCat("target-", i); }

TEST(Placement, AllScoresAreWhatEveryReleaseComputes) {
  EXPECT_EQ(PlacementScore("main", "headgate-0"), uint64_t{4460996447429054442u});
  EXPECT_EQ(PlacementScore("main", "headgate-1"), uint64_t{16389062178233153650u});
}

TEST(Placement, OrderOfMembersDoesNotMatter) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(PlaceOf(Target(i), "", {"a", "b", "c"}), PlaceOf(Target(i), "", {"c", "a", "b"}));
  }
}

TEST(Placement, TargetsAreSpreadEvenly) {
  std::map<std::string, int> targets;
  for (int i = 0; i < kTargets; ++i) {
    ++targets[std::string(PlaceOf(Target(i), "", {"headgate-0", "headgate-1", "headgate-2"}))];
  }
  for (const auto& [member, count] : targets) EXPECT_NEAR(count, 1000, 100) << member;
}

TEST(Placement, MemberThatComesTakesItsShareAndNothingElseMoves) {
  int taken = 0;
  for (int i = 0; i < kTargets; ++i) {
    const std::string before(PlaceOf(Target(i), "", {"a", "b", "c"}));
    const std::string after(PlaceOf(Target(i), "", {"a", "b", "c", "d"}));
    if (after == "d") {
      ++taken;
    } else {
      EXPECT_EQ(after, before);
    }
  }
  EXPECT_NEAR(taken, 750, 100);
}

TEST(Placement, PreferredMemberWinsWhileItIsHere) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(PlaceOf(Target(i), "b", {"a", "b", "c"}), "b");
    EXPECT_EQ(PlaceOf(Target(i), "d", {"a", "b", "c"}), PlaceOf(Target(i), "", {"a", "b", "c"}));
  }
}

TEST(Placement, NobodyIsHere) { EXPECT_EQ(PlaceOf("main", "a", {}), ""); }

}  // namespace
}  // namespace headgate::cluster
