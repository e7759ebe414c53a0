// Reports go out in batches, and none is lost without being counted.

#include "client/reporter.h"

#include <headgate/fake.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Holds calls back until it is opened, and remembers the size of each batch.
class GatedTransport final : public Transport {
 public:
  absl::StatusOr<Answer> Check(const CheckRequest&, absl::Duration,
                               const std::stop_token&) override {
    return absl::UnimplementedError("for reports only");
  }

  absl::StatusOr<std::vector<absl::StatusOr<ReportResult>>> Report(
      absl::Span<const PermitReport> reports, absl::Duration,
      const std::stop_token& stop) override {
    std::unique_lock lock(mutex_);
    ++calls_;
    changed_.notify_all();
    if (!changed_.wait(lock, stop, [this] { return open_; }))
      return absl::CancelledError("stopped");
    if (failures_ > 0) {
      --failures_;
      return failure_;
    }
    batches_.push_back(reports.size());
    for (const PermitReport& report : reports) {
      costs_.push_back(report.done.actual_cost.value_or(-1));
      busy_.push_back(report.done.busy_time);
    }
    return std::vector<absl::StatusOr<ReportResult>>(reports.size() - left_out_, result_);
  }

  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void FailNext(int times, absl::Status failure) {
    const std::lock_guard lock(mutex_);
    failures_ = times;
    failure_ = std::move(failure);
  }
  void SetResult(absl::StatusOr<ReportResult> result) {
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
  }
  // Of each answer from now on.
  void LeaveOut(size_t results) {
    const std::lock_guard lock(mutex_);
    left_out_ = results;
  }
  bool AwaitCall() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [this] { return calls_ > 0; });
  }
  std::vector<size_t> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  std::vector<double> costs() const {
    const std::lock_guard lock(mutex_);
    return costs_;
  }

  std::vector<std::optional<absl::Duration>> busy() const {
    const std::lock_guard lock(mutex_);
    return busy_;
  }

 private:
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  bool open_ = false;
  int calls_ = 0;
  int failures_ = 0;
  size_t left_out_ = 0;
  absl::Status failure_;
  absl::StatusOr<ReportResult> result_ = ReportResult();
  std::vector<size_t> batches_;
  std::vector<double> costs_;
  std::vector<std::optional<absl::Duration>> busy_;
};

class ReporterTest : public ::testing::Test {
 protected:
  void AddMany(int from, int to) {
    for (int i = from; i < to; ++i)
      reporter_.Add({.permit_id = static_cast<uint64_t>(i), .done = {.actual_cost = i * 1.0}});
  }
  bool Flush() { return reporter_.Flush(absl::Seconds(60)); }

  std::shared_ptr<GatedTransport> server_ = std::make_shared<GatedTransport>();
  internal::Reporter reporter_{server_,
                               {.max_queued = 5000, .seed = 1, .new_token = absl::Milliseconds(1)}};
};

TEST_F(ReporterTest, SendsBatchesOfUpToAThousandInOrder) {
  AddMany(0, 1);
  ASSERT_TRUE(server_->AwaitCall());  // the first is on its way; the others gather meanwhile
  AddMany(1, 2501);
  server_->Open();
  ASSERT_TRUE(Flush());
  EXPECT_THAT(server_->batches(), ElementsAre(1, 1000, 1000, 500));
  const std::vector<double> costs = server_->costs();
  for (int i = 0; i < 2501; ++i) ASSERT_EQ(costs[static_cast<size_t>(i)], i);
  EXPECT_EQ(reporter_.stats().delivered, 2501U);
  EXPECT_EQ(reporter_.stats().pending, 0U);
}

TEST_F(ReporterTest, SendsByItselfSoonAfter) {
  server_->Open();
  AddMany(0, 3);
  EXPECT_TRUE(WaitUntil([&] { return server_->costs().size() == 3; }));
}

TEST_F(ReporterTest, SendsAMeasuredBusyTimeThatTheServerDoesNotTakeOnceMoreWithoutIt) {
  server_->SetResult(absl::InvalidArgumentError("busy_time: is more than 64 times the life"));
  const absl::Duration measured = absl::Hours(2);
  reporter_.Add({.permit_id = 1, .done = {.busy_time = measured}, .measured = true});
  reporter_.Add({.permit_id = 2, .done = {.busy_time = measured}});
  server_->Open();
  ASSERT_TRUE(Flush());
  EXPECT_THAT(server_->batches(), ElementsAre(2, 1));
  EXPECT_THAT(server_->busy(), ElementsAre(measured, measured, std::nullopt));
  EXPECT_EQ(reporter_.stats().refused, 2U);  // this server takes none
  EXPECT_EQ(reporter_.stats().pending, 0U);
}

TEST_F(ReporterTest, RepeatsABatchUntilTheServerTakesIt) {
  for (const absl::Status& error :
       {absl::UnavailableError("restarting"), absl::DeadlineExceededError("hung"),
        absl::ResourceExhaustedError("overloaded")}) {
    server_->FailNext(2, error);
    server_->Open();
    AddMany(0, 3);
    ASSERT_TRUE(Flush());
  }
  EXPECT_THAT(server_->costs(), SizeIs(9));
  EXPECT_EQ(reporter_.stats().delivered, 9U);
}

// Nobody has refused these: whether the server knows the permits was not asked.
TEST_F(ReporterTest, CountsApartWhatIsLostWithItsCall) {
  server_->Open();
  for (const absl::Status& error :
       {absl::PermissionDeniedError("not you"), absl::InternalError("a proxy's"),
        absl::UnknownError("a proxy's")}) {
    server_->FailNext(1, error);
    AddMany(0, 2);
    ASSERT_TRUE(Flush());
  }
  EXPECT_EQ(reporter_.stats().failed, 6U);
  EXPECT_EQ(reporter_.stats().refused, 0U);
}

TEST_F(ReporterTest, CountsApartWhatTheServerDoesNotAnswer) {
  server_->Open();
  server_->LeaveOut(1);
  AddMany(0, 3);
  ASSERT_TRUE(Flush());
  EXPECT_EQ(reporter_.stats().delivered, 2U);
  EXPECT_EQ(reporter_.stats().failed, 1U);
  EXPECT_EQ(reporter_.stats().refused, 0U);
}

TEST_F(ReporterTest, RepeatsABatchTwiceForAnotherToken) {
  server_->Open();
  for (const int failures : {1, 2}) {
    server_->FailNext(failures, absl::UnauthenticatedError("token revoked"));
    AddMany(0, 3);
    ASSERT_TRUE(Flush());
  }
  EXPECT_EQ(reporter_.stats().delivered, 6U);
  server_->FailNext(3, absl::UnauthenticatedError("token revoked"));
  AddMany(0, 2);
  ASSERT_TRUE(Flush());
  EXPECT_EQ(reporter_.stats().failed, 2U);
  EXPECT_EQ(reporter_.stats().delivered, 6U);
}

// A file is looked at once a second at most.
TEST(ReporterOptions, LeaveTimeForAnotherToken) {
  EXPECT_GT(internal::Reporter::Options().new_token, absl::Seconds(1));
}

TEST_F(ReporterTest, CountsWhatAFullQueueDrops) {
  AddMany(0, 5003);
  EXPECT_EQ(reporter_.stats().dropped, 3U);
  EXPECT_EQ(reporter_.stats().pending, 5000U);
  server_->Open();
  ASSERT_TRUE(Flush());
  EXPECT_EQ(reporter_.stats().delivered, 5000U);
}

TEST_F(ReporterTest, FlushOfNothingIsDone) { EXPECT_TRUE(reporter_.Flush(absl::ZeroDuration())); }

TEST_F(ReporterTest, StopSendsWhatIsQueued) {
  server_->FailNext(3, absl::UnavailableError("restarting"));
  server_->Open();
  AddMany(0, 2500);
  reporter_.Stop(absl::Seconds(60));
  EXPECT_THAT(server_->costs(), SizeIs(2500));
  EXPECT_EQ(reporter_.stats().dropped, 0U);
}

TEST_F(ReporterTest, StopEndsInTimeThoughTheServerHangs) {
  AddMany(0, 7);
  ASSERT_TRUE(server_->AwaitCall());
  reporter_.Stop(absl::Milliseconds(1));  // returning at all is the point
  EXPECT_THAT(server_->costs(), IsEmpty());
  EXPECT_EQ(reporter_.stats().dropped, 7U);
}

TEST_F(ReporterTest, DropsWhatComesAfterTheEnd) {
  server_->Open();
  reporter_.Stop(absl::Seconds(60));
  AddMany(0, 2);
  EXPECT_EQ(reporter_.stats().dropped, 2U);
  EXPECT_EQ(reporter_.stats().pending, 0U);
}

TEST(ReportStats, OfAClientThatIsDestroyedAtOnceLoseNothing) {
  FakeHeadgate headgate;
  {
    const auto client = NewClient(headgate);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (uint64_t i = 0; i < 1000; ++i) EXPECT_TRUE(client->Report(i, {.actual_cost = 1}).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_THAT(headgate.reports(), SizeIs(4000));
}

}  // namespace
}  // namespace headgate::client
