#include "server/decide/engine/permit_table.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace headgate::engine {
namespace {

using Found = PermitTable::Found;

constexpr int64_t kTtl = 60;
constexpr uint64_t kKey = 0x9e3779b97f4a7c15;
const PermitHolder kHolder{.key = 1, .name = "etl"};

class PermitTableTest : public testing::Test {
 protected:
  PermitId Issue(PermitTable& table, int64_t now) {
    const uint32_t slot = table.Claim(kHolder, now);
    if (slot == PermitTable::kNone) return 0;
    table.body(slot).charges_used = 0;
    table.body(slot).holds_concurrency = false;
    return table.Publish(slot, now + kTtl);
  }
  PermitId IssueHolding(PermitTable& table, int64_t now) {
    const uint32_t slot = table.Claim(kHolder, now);
    if (slot == PermitTable::kNone) return 0;
    Permit& permit = table.body(slot);
    permit.charges_used = 1;
    permit.charges[0] = PermitCharge{};
    permit.holds_concurrency = true;
    uint32_t cell = ConcurrencyTable::kNone;
    EXPECT_EQ(concurrency_.Acquire(kKey, 1000, now + kTtl, cell),
              ConcurrencyTable::Outcome::kAcquired);
    permit.charges[0].concurrency = cell;
    return table.Publish(slot, now + kTtl);
  }
  Found Settle(PermitTable& table, PermitId id) {
    uint32_t slot = 0;
    const Found found = table.Settle(id, slot);
    if (found == Found::kSettling) table.Settled(slot);
    return found;
  }

  ConcurrencyTable concurrency_{1024};
  PermitTable table_{64, 12345, concurrency_};
};

TEST_F(PermitTableTest, SettlesOnce) {
  const PermitId id = Issue(table_, 0);
  EXPECT_NE(id, 0U);
  EXPECT_EQ(Settle(table_, id), Found::kSettling);
  EXPECT_EQ(Settle(table_, id), Found::kReported);
  EXPECT_EQ(Settle(table_, id), Found::kReported);
}

TEST_F(PermitTableTest, KeepsItsBodyUntilSettled) {
  const uint32_t claimed = table_.Claim(kHolder, 0);
  table_.body(claimed).estimate = 42;
  table_.body(claimed).holds_concurrency = false;
  const PermitId id = table_.Publish(claimed, kTtl);
  uint32_t slot = 0;
  ASSERT_EQ(table_.Settle(id, slot), Found::kSettling);
  EXPECT_EQ(table_.body(slot).estimate, 42);
  table_.Settled(slot);
}

TEST_F(PermitTableTest, LivesUntilItsTime) {
  const PermitId id = Issue(table_, 0);
  EXPECT_TRUE(table_.IsLive(id, kTtl - 1));
  EXPECT_FALSE(table_.IsLive(id, kTtl));
  EXPECT_EQ(table_.CountLive(kTtl - 1), 1U);
  EXPECT_EQ(table_.CountLive(kTtl), 0U);
}

TEST_F(PermitTableTest, ReportedIsNotLive) {
  const PermitId id = Issue(table_, 0);
  Settle(table_, id);
  EXPECT_FALSE(table_.IsLive(id, 0));
}

TEST_F(PermitTableTest, ExpiredCanStillBeSettled) {
  const PermitId id = IssueHolding(table_, 0);
  table_.Sweep(concurrency_.Find(kKey), kTtl, 2 * kTtl);
  EXPECT_EQ(Settle(table_, id), Found::kSettling);
  EXPECT_EQ(Settle(table_, id), Found::kReported);
}

TEST_F(PermitTableTest, ExpiredIsFoundForAsLongAsAnotherSlotIsFree) {
  const PermitId id = Issue(table_, 0);
  for (int i = 0; i < 2000; ++i) Settle(table_, Issue(table_, 2 * kTtl));
  EXPECT_EQ(Settle(table_, id), Found::kSettling);
}

TEST_F(PermitTableTest, IsForgottenOnceItsSlotIsNeeded) {
  const PermitId id = Issue(table_, 0);
  for (size_t i = 0; i < table_.capacity(); ++i) Issue(table_, 2 * kTtl);
  EXPECT_EQ(Settle(table_, id), Found::kForgotten);
}

TEST_F(PermitTableTest, WasNeverIssued) {
  const PermitId id = Issue(table_, 0);
  EXPECT_EQ(Settle(table_, 0), Found::kNeverIssued);
  EXPECT_EQ(Settle(table_, id + (PermitId{1} << 24)), Found::kNeverIssued);
  EXPECT_EQ(Settle(table_, id | 0xffffff), Found::kNeverIssued);  // beyond the table
  EXPECT_FALSE(table_.IsLive(id + (PermitId{1} << 24), 0));
}

TEST_F(PermitTableTest, GenerationBeforeTheFirstWasNeverIssued) {
  const PermitId id = Issue(table_, 0);
  EXPECT_EQ(Settle(table_, id - (PermitId{5} << 24)), Found::kNeverIssued);
}

TEST_F(PermitTableTest, AbandonedSlotIsFreeAgain) {
  for (int i = 0; i < 1000; ++i) {
    const uint32_t slot = table_.Claim(kHolder, 0);
    ASSERT_NE(slot, PermitTable::kNone);
    table_.Abandon(slot);
  }
  EXPECT_EQ(table_.CountLive(0), 0U);
}

TEST_F(PermitTableTest, IdsAreNeverUsedTwice) {
  std::set<PermitId> seen;
  for (int i = 0; i < 1000; ++i) {
    const PermitId id = Issue(table_, 0);
    EXPECT_TRUE(seen.insert(id).second);
    Settle(table_, id);
  }
}

TEST_F(PermitTableTest, GenerationsDifferBySeed) {
  PermitTable other(64, 99, concurrency_);
  EXPECT_NE(Issue(table_, 0), Issue(other, 0));
}

TEST_F(PermitTableTest, FillsUpBeforeAnythingIsRecycled) {
  std::vector<PermitId> ids;
  for (int i = 0; i < 64; ++i) ids.push_back(Issue(table_, 0));
  EXPECT_EQ(table_.recycled_early(), 0U);
  EXPECT_EQ(table_.CountLive(0), 64U);
  for (const PermitId id : ids) EXPECT_EQ(Settle(table_, id), Found::kSettling);
}

TEST_F(PermitTableTest, FullOfPlainPermitsRecyclesTheOneNearestItsEnd) {
  std::vector<PermitId> ids;
  for (int i = 0; i < 64; ++i) ids.push_back(Issue(table_, i == 20 ? 0 : 1));
  EXPECT_NE(Issue(table_, 2), 0U);
  EXPECT_EQ(table_.recycled_early(), 1U);
  EXPECT_EQ(Settle(table_, ids[20]), Found::kForgotten);
}

TEST_F(PermitTableTest, ExpiredGoesBeforeLive) {
  std::vector<PermitId> ids;
  for (int i = 0; i < 64; ++i) ids.push_back(Issue(table_, i == 20 ? 0 : 1));
  EXPECT_NE(Issue(table_, kTtl), 0U);
  EXPECT_EQ(table_.recycled_early(), 0U);
  EXPECT_EQ(Settle(table_, ids[20]), Found::kForgotten);
}

TEST_F(PermitTableTest, FullOfPermitsThatHoldConcurrencyIsFull) {
  std::vector<PermitId> ids;
  for (int i = 0; i < 64; ++i) ids.push_back(IssueHolding(table_, 0));
  EXPECT_EQ(table_.Claim(kHolder, 1), PermitTable::kNone);
  EXPECT_EQ(table_.recycled_early(), 0U);
  Settle(table_, ids[7]);
  EXPECT_NE(table_.Claim(kHolder, 1), PermitTable::kNone);
}

TEST_F(PermitTableTest, AnotherThreadsPermitsAreNotRecycledWhileThereIsRoom) {
  PermitTable table(1024, 1, concurrency_);
  // The next thread starts in the next sixteenth of the table, where this one gets after 64
  // permits.
  Issue(table, 0);
  std::thread([&] {
    for (int i = 0; i < 64; ++i) Issue(table, 0);
  }).join();
  for (int i = 0; i < 128; ++i) Issue(table, 0);
  EXPECT_EQ(table.recycled_early(), 0U);
  EXPECT_EQ(table.CountLive(0), 193U);
}

TEST_F(PermitTableTest, SettlingReleasesConcurrency) {
  const PermitId id = IssueHolding(table_, 0);
  EXPECT_EQ(concurrency_.Count(kKey), 1);
  Settle(table_, id);
  EXPECT_EQ(concurrency_.Count(kKey), 0);
}

TEST_F(PermitTableTest, SweepReleasesWhatIsDueAndNothingElse) {
  IssueHolding(table_, 0);
  IssueHolding(table_, 10);
  const uint32_t cell = concurrency_.Find(kKey);
  table_.Sweep(cell, kTtl, 1000);
  EXPECT_EQ(concurrency_.Count(kKey), 1);
  EXPECT_EQ(concurrency_.EarliestExpiry(kKey), kTtl + 10);
  table_.Sweep(cell, kTtl + 10, 1000);
  EXPECT_EQ(concurrency_.Count(kKey), 0);
  EXPECT_EQ(concurrency_.EarliestExpiry(kKey), 1000);
}

TEST_F(PermitTableTest, SettlingAfterASweepReleasesNothingTwice) {
  const PermitId id = IssueHolding(table_, 0);
  IssueHolding(table_, 10);
  table_.Sweep(concurrency_.Find(kKey), kTtl, 1000);
  EXPECT_EQ(Settle(table_, id), Found::kSettling);
  EXPECT_EQ(concurrency_.Count(kKey), 1);
}

// Of this thread, s of processor time.
double ProcessorTime() {
  rusage used = {};
  getrusage(RUSAGE_THREAD, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// The one processor that this thread runs on now is all that it and those that it makes have.
class OneProcessor {
 public:
  OneProcessor() {
    pthread_getaffinity_np(pthread_self(), sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    EXPECT_EQ(pthread_setaffinity_np(pthread_self(), sizeof(one), &one), 0);
  }
  ~OneProcessor() { pthread_setaffinity_np(pthread_self(), sizeof(before_), &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_;
};

// The one that has it is at work, on the processor that the other one waits on.
TEST_F(PermitTableTest, WhoeverWaitsForAPermitLeavesTheProcessorToWhoHasIt) {
  const OneProcessor one;
  const PermitId id = Issue(table_, 0);
  uint32_t slot = 0;
  ASSERT_EQ(table_.Settle(id, slot), Found::kSettling);
  std::atomic<bool> waits{false};
  double waited = 0;
  std::thread other([&] {
    const double from = ProcessorTime();
    waits = true;
    EXPECT_EQ(Settle(table_, id), Found::kReported);
    waited = ProcessorTime() - from;
  });
  while (!waits) std::this_thread::yield();
  const double from = ProcessorTime();
  while (ProcessorTime() - from < 0.1) {
  }
  const double worked = ProcessorTime() - from;
  table_.Settled(slot);
  other.join();
  EXPECT_LT(waited, worked / 3);  // without a pause it would take as much
}

}  // namespace
}  // namespace headgate::engine
