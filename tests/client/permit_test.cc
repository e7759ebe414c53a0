// A permit reports once, whatever becomes of it.

#include <headgate/fake.h>
#include <headgate/permit.h>

#include <limits>
#include <optional>
#include <stdexcept>
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

  // The costs that were reported.
  std::vector<double> Costs() {
    EXPECT_TRUE(Flushed(*client_));
    std::vector<double> costs;
    for (const PermitReport& report : headgate_.reports()) costs.push_back(report.actual_cost);
    return costs;
  }

  void Work(absl::Duration time) { headgate_.time().Advance(time); }

  FakeHeadgate headgate_;
  std::unique_ptr<Client> client_ = NewClient(headgate_);
};

TEST_F(PermitTest, ReportsWhatItIsToldAndNothingMore) {
  {
    Permit permit = NewPermit();
    Work(absl::Seconds(2));
    EXPECT_TRUE(permit.Report(310).ok());
    EXPECT_TRUE(permit.Report(99).ok());
  }
  EXPECT_THAT(Costs(), ElementsAre(310));
  EXPECT_THAT(headgate_.outstanding(), IsEmpty());
}

TEST_F(PermitTest, ReportsTheElapsedSecondsByItself) {
  {
    const Permit permit = NewPermit();
    Work(absl::Milliseconds(1500));
    EXPECT_EQ(permit.Elapsed(), absl::Milliseconds(1500));
  }
  EXPECT_THAT(Costs(), ElementsAre(1.5));
}

TEST_F(PermitTest, ReportsThePredictedCostByItselfIfToldTo) {
  ClientOptions options = Options();
  options.unreported = Unreported::kPredictedCost;
  client_ = NewClient(headgate_, options);
  headgate_.Allow({.predicted_cost = 250});
  { const Permit permit = NewPermit(); }
  EXPECT_THAT(Costs(), ElementsAre(250));
}

TEST_F(PermitTest, ReportsWhenAnExceptionEndsTheWork) {
  try {
    const Permit permit = NewPermit();
    Work(absl::Seconds(3));
    throw std::runtime_error("the work failed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_THAT(Costs(), ElementsAre(3));
}

TEST_F(PermitTest, ReportsOnceAfterAMove) {
  {
    Permit permit = NewPermit();
    Permit moved = std::move(permit);
    Work(absl::Seconds(1));
    const std::optional<Permit> again = std::move(moved);
  }
  EXPECT_THAT(Costs(), ElementsAre(1));
}

TEST_F(PermitTest, SettlesWhatItHeldWhenAnotherIsAssigned) {
  {
    Permit permit = NewPermit();
    Work(absl::Seconds(1));
    permit = NewPermit();
    Work(absl::Seconds(2));
  }
  EXPECT_THAT(Costs(), ElementsAre(1, 2));
  EXPECT_THAT(headgate_.outstanding(), IsEmpty());
}

TEST_F(PermitTest, ReportsNothingAfterDismiss) {
  {
    Permit permit = NewPermit();
    permit.Dismiss();
  }
  EXPECT_THAT(Costs(), IsEmpty());
  EXPECT_THAT(headgate_.outstanding(), SizeIs(1));
}

TEST_F(PermitTest, RefusesACostThatIsNoneAndStaysAsItWas) {
  {
    Permit permit = NewPermit();
    Work(absl::Seconds(4));
    EXPECT_TRUE(absl::IsInvalidArgument(permit.Report(-1)));
    EXPECT_TRUE(absl::IsInvalidArgument(permit.Report(std::numeric_limits<double>::infinity())));
  }
  EXPECT_THAT(Costs(), ElementsAre(4));
}

TEST_F(PermitTest, HoldsNothingByDefault) {
  Permit permit;
  EXPECT_EQ(permit.Elapsed(), absl::ZeroDuration());
  EXPECT_TRUE(permit.Report(1).ok());
  EXPECT_THAT(Costs(), IsEmpty());
}

TEST_F(PermitTest, WithoutAnIdReportsNothing) {
  {
    const auto permit = client_->CheckOrWait({.validate_only = true}, absl::ZeroDuration());
    EXPECT_TRUE(permit.ok()) << permit.status();
  }
  EXPECT_THAT(Costs(), IsEmpty());
}

TEST_F(PermitTest, DoesNoHarmWhenItOutlivesItsClient) {
  const Permit permit = NewPermit();
  client_ = nullptr;
  Work(absl::Seconds(1));
  EXPECT_EQ(permit.Elapsed(), absl::Seconds(1));
}

TEST_F(PermitTest, ShowsTheAnswerThatGrantedIt) {
  headgate_.Allow({.predicted_cost = 20, .chunk_scale = 0.5});
  const Permit permit = NewPermit();
  EXPECT_EQ(permit.answer().predicted_cost, 20);
  EXPECT_EQ(permit.answer().chunk_scale, 0.5);
}

}  // namespace
}  // namespace headgate::client
