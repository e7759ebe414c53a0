// A permit reports once, whatever becomes of it.

#include <headgate/fake.h>
#include <headgate/permit.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/client_fixture.h"

namespace headgate::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PermitTest : public ::testing::Test {
 protected:
  Permit NewPermit() {
    absl::StatusOr<Permit> permit = client_->CheckOrWait({}, absl::ZeroDuration());
    EXPECT_TRUE(permit.ok()) << permit.status();
    return *std::move(permit);
  }

  std::vector<PermitReport> Reports() {
    EXPECT_TRUE(Flushed(*client_));
    return headgate_.reports();
  }
  // The busy times that were reported, none of them with a cost.
  std::vector<absl::Duration> BusyTimes() {
    std::vector<absl::Duration> busy;
    for (const PermitReport& report : Reports()) {
      EXPECT_EQ(report.done.actual_cost, std::nullopt);
      busy.push_back(report.done.busy_time.value_or(absl::InfiniteDuration()));
    }
    return busy;
  }

  void Work(absl::Duration time) { headgate_.time().Advance(time); }

  FakeHeadgate headgate_;
  std::unique_ptr<Client> client_ = NewClient(headgate_);
};

TEST_F(PermitTest, ReportsWhatItIsToldAndNothingMore) {
  {
    Permit permit = NewPermit();
    Work(absl::Seconds(2));
    EXPECT_TRUE(permit.Report({.actual_cost = 310, .busy_time = absl::Milliseconds(7)}).ok());
    EXPECT_TRUE(permit.Report({.actual_cost = 99}).ok());
  }
  ASSERT_THAT(Reports(), SizeIs(1));
  EXPECT_EQ(Reports()[0].done.actual_cost, 310);
  EXPECT_EQ(Reports()[0].done.busy_time, absl::Milliseconds(7));
  EXPECT_FALSE(Reports()[0].measured);
  EXPECT_THAT(headgate_.outstanding(), IsEmpty());
}

TEST_F(PermitTest, MeasuresTheBusyTimeBesideACostThatItIsTold) {
  {
    Permit permit = NewPermit();
    Work(absl::Seconds(2));
    EXPECT_TRUE(permit.Report({.actual_cost = 500}).ok());
  }
  ASSERT_THAT(Reports(), SizeIs(1));
  EXPECT_EQ(Reports()[0].done.actual_cost, 500);
  EXPECT_EQ(Reports()[0].done.busy_time, absl::Seconds(2));
  EXPECT_TRUE(Reports()[0].measured);
}

TEST_F(PermitTest, ReportsOnceAfterAMove) {
  {
    Permit permit = NewPermit();
    Permit moved = std::move(permit);
    Work(absl::Seconds(1));
    const std::optional<Permit> again = std::move(moved);
  }
  EXPECT_THAT(BusyTimes(), ElementsAre(absl::Seconds(1)));
}

TEST_F(PermitTest, SettlesWhatItHeldWhenAnotherIsAssigned) {
  {
    Permit permit = NewPermit();
    Work(absl::Seconds(1));
    permit = NewPermit();
    Work(absl::Seconds(2));
  }
  EXPECT_THAT(BusyTimes(), ElementsAre(absl::Seconds(1), absl::Seconds(2)));
  EXPECT_THAT(headgate_.outstanding(), IsEmpty());
}

TEST_F(PermitTest, RefusesWhatIsNoCostAndNoBusyTimeAndStaysAsItWas) {
  {
    Permit permit = NewPermit();
    Work(absl::Seconds(4));
    const double infinite = std::numeric_limits<double>::infinity();
    EXPECT_TRUE(absl::IsInvalidArgument(permit.Report({.actual_cost = -1})));
    EXPECT_TRUE(absl::IsInvalidArgument(permit.Report({.actual_cost = infinite})));
    EXPECT_TRUE(absl::IsInvalidArgument(permit.Report({.busy_time = -absl::Seconds(1)})));
    EXPECT_TRUE(absl::IsInvalidArgument(permit.Report({.busy_time = absl::InfiniteDuration()})));
  }
  EXPECT_THAT(BusyTimes(), ElementsAre(absl::Seconds(4)));
}

TEST_F(PermitTest, HoldsNothingByDefault) {
  Permit permit;
  EXPECT_EQ(permit.Elapsed(), absl::ZeroDuration());
  EXPECT_TRUE(permit.Report().ok());
  EXPECT_THAT(Reports(), IsEmpty());
}

TEST_F(PermitTest, WithoutAnIdReportsNothing) {
  {
    const auto permit = client_->CheckOrWait({.validate_only = true}, absl::ZeroDuration());
    EXPECT_TRUE(permit.ok()) << permit.status();
  }
  EXPECT_THAT(Reports(), IsEmpty());
}

TEST_F(PermitTest, DoesNoHarmWhenItOutlivesItsClient) {
  const Permit permit = NewPermit();
  client_ = nullptr;
  Work(absl::Seconds(1));
  EXPECT_EQ(permit.Elapsed(), absl::Seconds(1));
}

TEST_F(PermitTest, ShowsTheAnswerThatGrantedIt) {
  headgate_.Allow({.predicted_cost = 20,
                   .predicted_busy_time = absl::Milliseconds(30),
                   .probe = true,
                   .chunk_scale = 0.5});
  const Permit permit = NewPermit();
  EXPECT_EQ(permit.answer().predicted_cost, 20);
  EXPECT_EQ(permit.answer().predicted_busy_time, absl::Milliseconds(30));
  EXPECT_TRUE(permit.answer().probe);
  EXPECT_EQ(permit.answer().chunk_scale, 0.5);
}

}  // namespace
}  // namespace headgate::client
