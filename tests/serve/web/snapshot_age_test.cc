// How old the snapshot is said to be, by status and metrics, when the wall clock is set meanwhile.

#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/app/state_file.h"
#include "server/serve/web/metrics.h"
#include "tests/testing/temp_folder.h"

namespace headgate::web {
namespace {

using testing::HasSubstr;

class SnapshotAge : public testing::Test {
 protected:
  std::string Metrics() {
    Exposition out;
    AddSnapshot(state_.View(), clock_.Read().wall(), out);
    return out.Text();
  }
  // As status has it.
  absl::Duration Age() { return clock_.Read().wall() - state_.View().as_of; }

  FakeClock clock_;
  const TempFolder folder_;
  app::StateFile state_{folder_.path().string(), clock_};
};

TEST_F(SnapshotAge, IsTheTimeThatHasPassedWhateverTheWallClockSays) {
  engine::EngineOptions options;
  options.max_permits = 64;
  const auto engine = state_.MakeEngine(options);
  ASSERT_TRUE(engine.ok()) << engine.status();
  state_.Keep(**engine);
  state_.Stop();  // no round of the thread's comes between
  for (const absl::Duration step : {-absl::Hours(1), absl::Hours(3)}) {
    clock_.Advance(absl::Seconds(30));
    clock_.AdvanceWall(step);
  }
  EXPECT_EQ(Age(), absl::Minutes(1));
  EXPECT_THAT(Metrics(), HasSubstr("headgate_snapshot_age_seconds 60\n"));
}

}  // namespace
}  // namespace headgate::web
