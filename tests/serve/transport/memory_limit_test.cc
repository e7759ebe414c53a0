#include "server/serve/transport/memory_limit.h"

#include "gmock/gmock.h"

namespace headgate::transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class MemoryLimitTest : public testing::Test {
 protected:
  MemoryLimit limit_{{.growth = 1000, .least_brought = 10}};
};

TEST_F(MemoryLimitTest, LetsAllBeWhileThereIsRoom) {
  EXPECT_FALSE(limit_.IsBeyond(1000));
  EXPECT_THAT(limit_.Judge(1000, {.unanswered = {{1, 1 << 30}}}), IsEmpty());
}

TEST_F(MemoryLimitTest, HalfOfWhatIsUnansweredGoesTheLargestFirst) {
  EXPECT_TRUE(limit_.IsBeyond(1001));
  EXPECT_THAT(limit_.Judge(1001, {.unanswered = {{1, 100}, {2, 400}, {3, 300}, {4, 50}}}),
              ElementsAre(2, 3));
}

TEST_F(MemoryLimitTest, NobodyGoesWhoBroughtLittle) {
  EXPECT_THAT(limit_.Judge(5000, {.unanswered = {{1, 9}, {2, 9}}}), IsEmpty());
  EXPECT_THAT(limit_.Judge(5000, {.unanswered = {}}), IsEmpty());
}

TEST(MemoryLimit, NobodyGoesWhereAllTogetherBroughtLittle) {
  MemoryLimit limit({.growth = 1000, .least_brought = 1, .least_in_all = 100});
  EXPECT_THAT(limit.Judge(2000, {.unanswered = {{1, 49}, {2, 50}}}), IsEmpty());
  EXPECT_THAT(limit.Judge(4000, {.unanswered = {{1, 49}, {2, 51}}}), ElementsAre(2));
}

TEST_F(MemoryLimitTest, IsBeyondOnlyWhileItGrows) {
  EXPECT_TRUE(limit_.IsBeyond(1001));
  EXPECT_THAT(limit_.Judge(2000, {.unanswered = {{1, 100}}}), ElementsAre(1));
  EXPECT_FALSE(limit_.IsBeyond(2125));
  EXPECT_TRUE(limit_.IsBeyond(2126));
}

TEST_F(MemoryLimitTest, WhereAllIsAnsweredWhoBringsMostGoesAsLongAsMemoryGrows) {
  const MemoryLimit::Brought brought = {.unanswered = {{1, 9}}, .lately = {{1, 9}, {2, 400}}};
  EXPECT_THAT(limit_.Judge(2000, brought), ElementsAre(2));
  EXPECT_THAT(limit_.Judge(2126, brought), ElementsAre(2));
  EXPECT_THAT(limit_.Judge(2126, brought), IsEmpty());
}

TEST_F(MemoryLimitTest, WhoIsAnsweredStaysWhileOthersAreNot) {
  EXPECT_THAT(limit_.Judge(2000, {.unanswered = {{1, 100}}, .lately = {{2, 400}}}), ElementsAre(1));
}

TEST_F(MemoryLimitTest, FurtherOnesGoOnlyAsMemoryGrowsOn) {
  EXPECT_THAT(limit_.Judge(2000, {.unanswered = {{1, 100}}}), ElementsAre(1));
  EXPECT_THAT(limit_.Judge(2125, {.unanswered = {{2, 100}}}), IsEmpty());
  EXPECT_THAT(limit_.Judge(2126, {.unanswered = {{2, 100}}}), ElementsAre(2));
}

// It may be that gRPC, or the C library, does not give it back.
TEST_F(MemoryLimitTest, NobodyGoesForMemoryThatDoesNotComeBack) {
  EXPECT_THAT(limit_.Judge(2000, {.unanswered = {{1, 100}}}), ElementsAre(1));
  for (int look = 0; look < 10'000; ++look) {
    ASSERT_THAT(limit_.Judge(2000 + look % 100, {.unanswered = {{2, 100}}, .lately = {{2, 100}}}),
                IsEmpty());
  }
}

TEST_F(MemoryLimitTest, GrowthCountsFromTheLeastThatWasHeldSince) {
  EXPECT_THAT(limit_.Judge(2000, {.unanswered = {{1, 100}}}), ElementsAre(1));
  EXPECT_THAT(limit_.Judge(1200, {.unanswered = {{2, 100}}}), IsEmpty());
  EXPECT_THAT(limit_.Judge(1326, {.unanswered = {{2, 100}}}), ElementsAre(2));
}

TEST_F(MemoryLimitTest, CrossingTheLimitByALittleAgainAndAgainIsNoGrowth) {
  EXPECT_THAT(limit_.Judge(1001, {.unanswered = {{1, 100}}}), ElementsAre(1));
  for (int look = 0; look < 100; ++look) {
    ASSERT_THAT(limit_.Judge(look % 2 == 0 ? 990 : 1010, {.unanswered = {{2, 100}}}), IsEmpty());
  }
}

TEST_F(MemoryLimitTest, OnceItIsWithinTheLimitTheNextTimeIsAFirstTime) {
  EXPECT_THAT(limit_.Judge(2000, {.unanswered = {{1, 100}}}), ElementsAre(1));
  EXPECT_THAT(limit_.Judge(900, {.unanswered = {{2, 100}}}), IsEmpty());
  EXPECT_THAT(limit_.Judge(1001, {.unanswered = {{2, 100}}}), ElementsAre(2));
}

}  // namespace
}  // namespace headgate::transport
