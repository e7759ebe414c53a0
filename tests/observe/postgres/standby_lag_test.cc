// A standby's lag by the primary's position, without servers: bounds, what is not known, and what
// cannot be compared.

#include "server/observe/postgres/standby_lag.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::postgres {
namespace {

using testing::HasSubstr;

int64_t AtMs(int64_t ms) { return ms * 1'000'000; }

// Times in milliseconds, positions in bytes.
class StandbyLagTest : public testing::Test {
 protected:
  void Primary(int64_t at_ms, double written, const std::string& timeline = "1") {
    primary_->Note(AtMs(at_ms), {.bytes = written, .system = "7", .timeline = timeline});
  }
  // One that streams and has replayed all it received, up to there.
  static StandbyLag::State Fed(double replayed) {
    return {.is_fed = true,
            .has_replayed = true,
            .age = 30'000.0,  // the last transaction was before a quiet night
            .replayed = {.bytes = replayed, .system = "7", .timeline = "1"}};
  }
  // "0.5", an error's text, or "later".
  std::string Read(int64_t at_ms, const StandbyLag::State& state) {
    const auto lag = lag_.Read(state, AtMs(at_ms));
    if (!lag.has_value()) return "later";
    return lag->ok() ? absl::StrCat(**lag) : std::string(lag->status().message());
  }

  const std::shared_ptr<PrimaryPosition> primary_ = std::make_shared<PrimaryPosition>();
  StandbyLag lag_{primary_};
};

TEST_F(StandbyLagTest, IsZeroAtThePrimarysPosition) {
  Primary(0, 1000);
  EXPECT_EQ(Read(100, Fed(1000)), "0");
  EXPECT_EQ(Read(5000, Fed(1200)), "0");  // further than the primary was at the last look
}

TEST_F(StandbyLagTest, OfOneThatIsFedAndWhoseFeederIsCutOffGrows) {
  Primary(0, 1000);
  EXPECT_EQ(Read(0, Fed(1000)), "0");
  Primary(500, 1500);
  EXPECT_EQ(Read(500, Fed(1000)), "0");  // on its way, for all that is known
  Primary(1000, 1500);
  EXPECT_EQ(Read(1000, Fed(1000)), "0.5");
  Primary(60'500, 1500);
  EXPECT_EQ(Read(60'500, Fed(1000)), "60");
  EXPECT_EQ(Read(61'000, Fed(1500)), "0");
}

TEST_F(StandbyLagTest, OfOneThatWasCutOffBeforeTheFirstLookIsTheAgeOfItsLastTransaction) {
  Primary(0, 1'000'000);
  EXPECT_EQ(Read(0, Fed(1000)), "later");
  for (const int64_t at_ms : {500, 1000, 1500}) {
    Primary(at_ms, 1'000'000);
    EXPECT_EQ(Read(at_ms, Fed(1000)), "30000");
  }
}

TEST_F(StandbyLagTest, AtTheFirstLookOneMayBeOnItsWay) {
  Primary(0, 1000);
  EXPECT_EQ(Read(0, Fed(900)), "later");
  Primary(500, 2000);
  EXPECT_EQ(Read(500, Fed(1900)), "0");
}

TEST_F(StandbyLagTest, OfOneThatDoesNotReplayIsNoQuietNights) {
  Primary(0, 1000);
  Primary(400, 1000);
  Primary(500, 2000);
  StandbyLag::State state = Fed(1000);
  state.has_replayed = false;
  EXPECT_EQ(Read(900, state), "0.5");  // what it lacks was not there at 400
  state.age = 0.45;
  EXPECT_EQ(Read(900, state), "0.45");
  state.age = 0.001;  // its own clock is behind
  EXPECT_EQ(Read(900, state), "0.4");
}

TEST_F(StandbyLagTest, OfOneThatNobodyFeedsGrowsThoughThereIsNothingToHave) {
  Primary(0, 1000);
  EXPECT_EQ(Read(0, Fed(1000)), "0");
  StandbyLag::State state = Fed(1000);
  state.is_fed = false;
  state.replayed.timeline = "";
  EXPECT_EQ(Read(3000, state), "3");
  state.age = 2;
  EXPECT_EQ(Read(4000, state), "2");
}

TEST_F(StandbyLagTest, IsNotKnownBeforeThePrimaryWasAsked) {
  EXPECT_EQ(Read(0, Fed(1000)), "later");
  EXPECT_EQ(Read(500, Fed(1000)), "the primary's position is not known yet");
  Primary(600, 1000);
  EXPECT_EQ(Read(1000, Fed(1000)), "0");
}

TEST_F(StandbyLagTest, IsNotKnownWhileThePrimaryCannotBeAsked) {
  Primary(0, 1000);
  primary_->Lose(absl::DeadlineExceededError("no answer in time"));
  EXPECT_EQ(Read(100, Fed(1000)), "the primary's position is not known: no answer in time");
  Primary(500, 1000);
  EXPECT_EQ(Read(600, Fed(1000)), "0");
  StandbyLag alone(nullptr);
  EXPECT_FALSE(alone.Read(Fed(1000), 0)->ok());
}

TEST_F(StandbyLagTest, OfAnotherClusterIsAnErrorHoweverFarItIs) {
  Primary(0, 1000);
  StandbyLag::State state = Fed(5000);
  state.replayed.system = "8";
  EXPECT_THAT(Read(100, state), HasSubstr("another cluster"));
  state.replayed.system = "";  // it may not say
  EXPECT_EQ(Read(100, state), "0");
}

TEST_F(StandbyLagTest, OnAnotherTimelineIsAnErrorHoweverFarItIs) {
  Primary(0, 1000, "2");
  EXPECT_EQ(Read(100, Fed(5000)), "it follows timeline 1, and the primary writes timeline 2");
}

TEST_F(StandbyLagTest, AnotherPrimaryBeginsAnew) {
  Primary(0, 1000);
  Primary(500, 3000);
  Primary(1000, 2000, "2");  // promoted at less than what the old one had
  StandbyLag::State state = Fed(1500);
  state.replayed.timeline = "2";
  EXPECT_EQ(Read(1000, state), "later");
  Primary(1500, 2000, "2");
  state.replayed.bytes = 2000;
  EXPECT_EQ(Read(1500, state), "0");
}

}  // namespace
}  // namespace headgate::postgres
