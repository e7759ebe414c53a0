#include "server/remember/throttle_log/writer.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "common/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/remember/throttle_log/recorder_fixture.h"

namespace headgate::throttle_log {
namespace {

// A store that does what it is told to, and knows whether a batch came twice.
class MoodyStore final : public Store {
 public:
  absl::Status Append(absl::Span<const Row> rows, int64_t batch) override {
    MutexLock lock(&mutex_);
    batches_.push_back(batch);
    if (stores_ && batch != newest_) {
      EXPECT_GT(batch, newest_);
      newest_ = batch;
      for (const Row& row : rows) sums_[{row.step_s, row.key}].Add(row.counts);
    }
    return answer_;
  }
  absl::Status Scan(const ScanFilter&, absl::FunctionRef<bool(const Row&)>) const override {
    return absl::UnimplementedError("nobody reads here");
  }
  absl::Status Maintain(absl::Time) override {
    MutexLock lock(&mutex_);
    ++maintained_;
    if (heals_) answer_ = absl::OkStatus(), stores_ = true;
    return absl::OkStatus();
  }
  StoreState State() const override { return {}; }

  void Works() { Set(absl::OkStatus(), true); }
  void IsDown() { Set(absl::UnavailableError("down"), false); }
  // It stores what it gets, but the answer is lost.
  void LosesAnswers() { Set(absl::UnavailableError("lost"), true); }
  void IsCorruptUntilMaintained() {
    Set(absl::DataLossError("corrupt"), false);
    MutexLock lock(&mutex_);
    heals_ = true;
  }

  using Stored = std::map<std::pair<int64_t, RowKey>, Counts>;
  Stored sums() const {
    MutexLock lock(&mutex_);
    return sums_;
  }
  int64_t checks() const {
    int64_t checks = 0;
    for (const auto& [key, counts] : sums()) checks += counts.checks;
    return checks;
  }
  std::vector<int64_t> batches() const {
    MutexLock lock(&mutex_);
    return batches_;
  }
  int maintained() const {
    MutexLock lock(&mutex_);
    return maintained_;
  }

 private:
  void Set(absl::Status answer, bool stores) {
    MutexLock lock(&mutex_);
    answer_ = std::move(answer);
    stores_ = stores;
  }

  mutable Mutex mutex_;
  absl::Status answer_ ABSL_GUARDED_BY(mutex_);
  bool stores_ ABSL_GUARDED_BY(mutex_) = true;
  bool heals_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t newest_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<int64_t> batches_ ABSL_GUARDED_BY(mutex_);
  Stored sums_ ABSL_GUARDED_BY(mutex_);
  int maintained_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Of this identity and all below it; empty: of all.
ScanFilter Of(std::string identity) {
  ScanFilter filter;
  filter.to_s = INT64_MAX;
  filter.identity = std::move(identity);
  return filter;
}

constexpr int64_t kStartS = FakeClock::kStartWallNs / 1'000'000'000;
static_assert(kStartS % 10 == 0);

class WriterTest : public testing::Test {
 protected:
  void Make(const WriterOptions& options = {}) {
    writer_ = std::make_unique<Writer>(log_.recorder, store_, clock_, options);
  }
  void Check(std::string_view identity, int times = 1) {
    for (int i = 0; i < times; ++i) log_.Check(identity, 1);
  }
  void Round() { writer_->Round(clock_.Read()); }
  int64_t Stored(int64_t step_s, const std::string& identity) {
    const auto sums = store_.sums();
    const auto found = sums.find({step_s, RowKey{.identity = identity}});
    return found == sums.end() ? 0 : found->second.checks;
  }

  FakeClock clock_;
  MoodyStore store_;
  Recording log_{NoLimits()};
  std::unique_ptr<Writer> writer_;
};

TEST_F(WriterTest, CatchesUpWithWhatWasCountedUntilThen) {
  Make();
  Check("a:etl", 3);
  writer_->CatchUp(absl::InfiniteDuration());
  EXPECT_EQ(store_.checks(), 3);
  EXPECT_EQ(writer_->ChecksWaiting(Of("")), 0);
}

TEST_F(WriterTest, CatchesUpWhileItsThreadsRun) {
  Make();
  writer_->Start();
  for (int i = 1; i <= 20; ++i) {
    Check("a:etl", 3);
    writer_->CatchUp(absl::Minutes(10));
    EXPECT_EQ(store_.checks(), 3 * i);
  }
  writer_->Stop();
}

TEST_F(WriterTest, SaysHowManyChecksWaitForAStoreThatIsDown) {
  Make();
  store_.IsDown();
  Check("a:etl", 3);
  writer_->CatchUp(absl::InfiniteDuration());
  Check("b:etl", 5);
  writer_->CatchUp(absl::InfiniteDuration());
  EXPECT_EQ(writer_->ChecksWaiting(Of("")), 8);
  EXPECT_EQ(writer_->ChecksWaiting(Of("b:etl")), 5);
  store_.Works();
  writer_->CatchUp(absl::InfiniteDuration());
  EXPECT_EQ(writer_->ChecksWaiting(Of("")), 0);
  EXPECT_EQ(store_.checks(), 8);
}

TEST_F(WriterTest, AppendsEveryRoundToTheStepThatItIsIn) {
  Make();
  Check("etl", 2);
  Round();
  clock_.Advance(absl::Milliseconds(9900));
  Check("etl", 3);
  Round();
  clock_.Advance(absl::Milliseconds(100));
  Check("etl", 4);
  Round();
  EXPECT_EQ(Stored(kStartS, "etl"), 5);
  EXPECT_EQ(Stored(kStartS + 10, "etl"), 4);
  EXPECT_EQ(writer_->State().rows_written, 3);
}

TEST_F(WriterTest, RepeatsABatchThatMayHaveGotThroughUnderItsNumber) {
  Make();
  store_.LosesAnswers();
  Check("etl", 2);
  Round();
  Check("etl", 3);
  Round();
  EXPECT_EQ(store_.checks(), 2);
  EXPECT_EQ(writer_->State().rows_buffered, 2);
  EXPECT_EQ(writer_->State().status.message(), "lost");
  store_.Works();
  Round();
  EXPECT_EQ(store_.checks(), 5);
  const std::vector<int64_t> batches = store_.batches();
  ASSERT_EQ(batches.size(), 4);
  EXPECT_EQ(batches[0], batches[1]);
  EXPECT_EQ(batches[0], batches[2]);
  EXPECT_EQ(batches[3], batches[0] + 1);
  EXPECT_TRUE(writer_->State().status.ok());
  EXPECT_EQ(writer_->State().rows_buffered, 0);
}

TEST_F(WriterTest, KeepsStepsApartThatWaited) {
  Make();
  store_.IsDown();
  for (int i = 0; i < 3; ++i) {
    Check("etl", i + 1);
    Round();
    clock_.Advance(absl::Seconds(10));
  }
  store_.Works();
  Round();
  EXPECT_EQ(Stored(kStartS, "etl"), 1);
  EXPECT_EQ(Stored(kStartS + 10, "etl"), 2);
  EXPECT_EQ(Stored(kStartS + 20, "etl"), 3);
}

TEST_F(WriterTest, CountsWhatItDropsWhenTooMuchWaits) {
  Make({.max_buffered_rows = 4});
  store_.IsDown();
  for (int i = 0; i < 6; ++i) Check(absl::StrCat("job-", i), 10);
  Round();
  // Four wait; the others are gone. A key that waits takes more, unless it is in the batch.
  WriterState state = writer_->State();
  EXPECT_EQ(state.rows_buffered, 4);
  EXPECT_EQ(state.rows_dropped, 2);
  EXPECT_EQ(state.checks_dropped, 20);
  Check("another");
  Round();
  EXPECT_EQ(writer_->State().checks_dropped, 21);
  store_.Works();
  Round();
  state = writer_->State();
  EXPECT_EQ(store_.checks() + state.checks_dropped, 61);
  EXPECT_EQ(state.rows_buffered, 0);
}

TEST_F(WriterTest, AppendsInBatchesOfABoundedSize) {
  Make({.max_batch_rows = 2});
  for (int i = 0; i < 5; ++i) Check(absl::StrCat("job-", i));
  Round();
  EXPECT_EQ(store_.batches().size(), 3);
  EXPECT_EQ(store_.checks(), 5);
}

TEST_F(WriterTest, MaintainsOnceAMinuteEvenWhileABatchFails) {
  Make();
  Round();
  EXPECT_EQ(store_.maintained(), 1);
  clock_.Advance(absl::Seconds(59));
  store_.IsDown();
  Check("etl");
  Round();
  EXPECT_EQ(store_.maintained(), 1);
  clock_.Advance(absl::Seconds(1));
  Round();
  EXPECT_EQ(store_.maintained(), 2);
}

TEST_F(WriterTest, MaintainsOnceAMinuteWhereverTheWallClockJumps) {
  Make();
  Round();
  clock_.AdvanceWall(absl::Hours(-5));
  clock_.Advance(absl::Seconds(60));
  Round();
  clock_.Advance(absl::Seconds(60));
  Round();
  EXPECT_EQ(store_.maintained(), 2);
}

TEST_F(WriterTest, MaintainsACorruptStoreAtOnceAndAppendsAgain) {
  Make();
  store_.IsCorruptUntilMaintained();
  Check("etl", 7);
  Round();
  EXPECT_EQ(store_.maintained(), 1);
  EXPECT_EQ(store_.checks(), 0);
  EXPECT_TRUE(absl::IsDataLoss(writer_->State().status));
  Round();
  EXPECT_EQ(store_.checks(), 7);
}

TEST_F(WriterTest, LosesAndDoublesNothingWhenTheWallClockJumps) {
  Make();
  Check("etl", 1);
  Round();
  clock_.AdvanceWall(absl::Hours(-2));
  Check("etl", 2);
  Round();
  clock_.AdvanceWall(absl::Hours(2));
  Check("etl", 4);
  Round();
  EXPECT_EQ(Stored(kStartS, "etl"), 5);
  EXPECT_EQ(Stored(kStartS - 7200, "etl"), 2);
}

TEST_F(WriterTest, SaysOnceThatTheStoreFailsAndOnceThatItWorksAgain) {
  std::vector<std::string> said;
  Make({.on_change = [&](const absl::Status& status) { said.emplace_back(status.message()); }});
  for (int state = 0; state < 3; ++state) {
    state == 1 ? store_.IsDown() : store_.Works();
    for (int round = 0; round < 3; ++round) {
      Check("etl");
      Round();
    }
  }
  EXPECT_THAT(said, testing::ElementsAre("down", ""));
}

TEST_F(WriterTest, StopAppendsWhatIsLeft) {
  Make();
  writer_->Start();
  Check("etl", 5);
  writer_->Stop();
  EXPECT_EQ(store_.checks(), 5);
  writer_->Stop();
  EXPECT_EQ(writer_->State().checks_dropped, 0);
}

TEST_F(WriterTest, StopCountsAsDroppedWhatTheStoreDoesNotTake) {
  Make({.max_batch_rows = 1});
  store_.IsDown();
  Check("etl", 5);
  Check("job", 2);
  writer_->Stop();
  EXPECT_EQ(writer_->State().checks_dropped, 7);
  EXPECT_EQ(writer_->State().rows_dropped, 2);
  EXPECT_EQ(writer_->State().rows_buffered, 0);
}

TEST_F(WriterTest, TwoWritersOneAfterTheOtherNumberTheirBatchesUpwards) {
  Make();
  Check("etl");
  Round();
  writer_.reset();
  clock_.Advance(absl::Seconds(1));
  Make();
  Check("etl");
  Round();
  EXPECT_EQ(store_.checks(), 2);
}

}  // namespace
}  // namespace headgate::throttle_log
