#include "server/transport/memory_limit.h"

#include "gmock/gmock.h"

namespace headgate::transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr absl::Duration kTick = absl::Milliseconds(25);

class MemoryLimitTest : public testing::Test {
 protected:
  MemoryLimit limit_{{.growth = 1000, .least_brought = 10, .patience = absl::Seconds(1)}};
};

TEST_F(MemoryLimitTest, LetsAllBeWhileThereIsRoom) {
  EXPECT_FALSE(limit_.IsBeyond(1000));
  EXPECT_THAT(limit_.Judge(1000, {.unanswered = {{1, 1 << 30}}}, kTick), IsEmpty());
}

TEST_F(MemoryLimitTest, HalfOfWhatIsUnansweredGoesTheLargestFirst) {
  EXPECT_TRUE(limit_.IsBeyond(1001));
  EXPECT_THAT(limit_.Judge(1001, {.unanswered = {{1, 100}, {2, 400}, {3, 300}, {4, 50}}}, kTick),
              ElementsAre(2, 3));
}

TEST_F(MemoryLimitTest, NobodyGoesWhoBroughtLittle) {
  EXPECT_THAT(limit_.Judge(5000, {.unanswered = {{1, 9}, {2, 9}}}, kTick), IsEmpty());
  EXPECT_THAT(limit_.Judge(5000, {.unanswered = {}}, kTick), IsEmpty());
}

TEST_F(MemoryLimitTest, WhereAllIsAnsweredWhoBringsMostGoesAsLongAsMemoryGrows) {
  const MemoryLimit::Brought brought = {.unanswered = {{1, 9}}, .lately = {{1, 9}, {2, 400}}};
  EXPECT_THAT(limit_.Judge(2000, brought, kTick), ElementsAre(2));
  EXPECT_THAT(limit_.Judge(2126, brought, kTick), ElementsAre(2));
  EXPECT_THAT(limit_.Judge(2126, brought, absl::Seconds(2)), IsEmpty());
}

TEST_F(MemoryLimitTest, WhoIsAnsweredStaysWhileOthersAreNot) {
  EXPECT_THAT(limit_.Judge(2000, {.unanswered = {{1, 100}}, .lately = {{2, 400}}}, kTick),
              ElementsAre(1));
}

TEST_F(MemoryLimitTest, WaitsForMemoryToComeBackUnlessItGrowsOn) {
  EXPECT_THAT(limit_.Judge(2000, {.unanswered = {{1, 100}}}, kTick), ElementsAre(1));
  EXPECT_THAT(limit_.Judge(2125, {.unanswered = {{2, 100}}}, kTick), IsEmpty());
  EXPECT_THAT(limit_.Judge(2126, {.unanswered = {{2, 100}}}, kTick), ElementsAre(2));
  EXPECT_THAT(limit_.Judge(2000, {.unanswered = {{3, 100}}}, absl::Milliseconds(999)), IsEmpty());
  EXPECT_THAT(limit_.Judge(2000, {.unanswered = {{3, 100}}}, absl::Milliseconds(1)),
              ElementsAre(3));
}

TEST_F(MemoryLimitTest, OnceItIsWithinTheLimitTheNextTimeIsAFirstTime) {
  EXPECT_THAT(limit_.Judge(2000, {.unanswered = {{1, 100}}}, kTick), ElementsAre(1));
  EXPECT_THAT(limit_.Judge(900, {.unanswered = {{2, 100}}}, kTick), IsEmpty());
  EXPECT_THAT(limit_.Judge(1001, {.unanswered = {{2, 100}}}, kTick), ElementsAre(2));
}

}  // namespace
}  // namespace headgate::transport
