#include "client/agent/processor_floor.h"

#include <vector>

#include "gtest/gtest.h"

namespace headgate::agent {
namespace {

constexpr int64_t kMsNs = 1'000'000;

// Looks each 100 ms at sessions that get so much of a processor each.
class FloorTest : public ::testing::Test {
 protected:
  struct Job {
    int sessions = 1;
    double yielding = 0;     // processors, of each session
    double relieved = 0;     // the same while there is relief
    int64_t wants_each = 1;  // so many looks: at the first of them it wants to run
    int64_t look_ms = 100;
  };
  struct Outcome {
    double relieved = 0;    // share of the time
    double processors = 0;  // of all sessions
  };
  Outcome For60Seconds(double processors, const Job& work) {
    ProcessorFloor floor(processors);
    std::vector<int64_t> ran_ns(static_cast<size_t>(work.sessions), 700 * kMsNs);
    int64_t now_ns = 5'000 * kMsNs;
    double relieved = 0, had_ns = 0;
    bool relieves = false;
    const int64_t looks = 60'000 / work.look_ms;
    for (int64_t i = 0; i < looks; ++i) {
      now_ns += work.look_ms * kMsNs;
      std::vector<BatchSession> sessions;
      const bool wants = i % work.wants_each == 0;
      const bool asks = floor.AsksProcessorTime(now_ns, wants ? ran_ns.size() : 0);
      for (int64_t& ran : ran_ns) {
        const double got_ns =
            (relieves ? work.relieved : work.yielding) * static_cast<double>(work.look_ms * kMsNs);
        ran += static_cast<int64_t>(got_ns);
        had_ns += got_ns;
        BatchSession& session = sessions.emplace_back();
        session.pid = static_cast<int>(sessions.size());
        if (wants) session.work = Work::kProcessor;
        if (asks) session.ran_ns = ran;
      }
      relieves = floor.Decide(sessions, now_ns);
      if (relieves) relieved += 1 / static_cast<double>(looks);
    }
    return {.relieved = relieved, .processors = had_ns / (60'000 * kMsNs)};
  }
};

TEST_F(FloorTest, WhoGetsLessHasTheFloorInTheEnd) {
  for (const double yielding : {0.0, 0.01, 0.05, 0.09}) {
    for (const double relieved : {0.2, 0.5, 1.0}) {
      const Outcome outcome = For60Seconds(0.1, {.yielding = yielding, .relieved = relieved});
      EXPECT_GT(outcome.relieved, 0) << yielding << " " << relieved;
      EXPECT_NEAR(outcome.processors, 0.1, 0.006) << yielding << " " << relieved;
    }
  }
}

TEST_F(FloorTest, AllSessionsHaveItTogether) {
  const Outcome outcome = For60Seconds(0.1, {.sessions = 4, .yielding = 0.005, .relieved = 0.3});
  EXPECT_NEAR(outcome.processors, 0.1, 0.006);
  EXPECT_LT(outcome.relieved, 0.1);
}

TEST_F(FloorTest, WhoGetsMoreByItselfIsNeverRelieved) {
  EXPECT_EQ(For60Seconds(0.1, {.yielding = 0.11, .relieved = 1}).relieved, 0);
  EXPECT_EQ(For60Seconds(0.1, {.sessions = 4, .yielding = 0.03, .relieved = 1}).relieved, 0);
}

// On many processors the floor is more than one session can have.
TEST_F(FloorTest, WhoGetsHalfOfWhatItWantsIsNeverRelieved) {
  EXPECT_EQ(For60Seconds(3.2, {.yielding = 0.51, .relieved = 1}).relieved, 0);
  EXPECT_EQ(For60Seconds(3.2, {.yielding = 0.99, .relieved = 1}).relieved, 0);
  const Outcome starved = For60Seconds(3.2, {.yielding = 0.01, .relieved = 0.9});
  EXPECT_NEAR(starved.processors, 0.5, 0.05);
}

TEST_F(FloorTest, WhoWantsToRunNowAndThenIsDueAsMuch) {
  const Outcome outcome = For60Seconds(0.1, {.relieved = 0.5, .wants_each = 10});
  EXPECT_LE(outcome.processors, 0.06);
  EXPECT_EQ(For60Seconds(0.1, {.yielding = 0.06, .wants_each = 10}).relieved, 0);
}

TEST_F(FloorTest, AReliefThatBringsNothingComesSeldom) {
  EXPECT_LT(For60Seconds(0.1, {}).relieved, 0.2);
  EXPECT_LT(For60Seconds(0.1, {.yielding = 0.01, .relieved = 0.01}).relieved, 0.2);
}

TEST_F(FloorTest, LooksThatAreFarApartChangeLittle) {
  const Outcome outcome = For60Seconds(0.1, {.yielding = 0.02, .relieved = 0.3, .look_ms = 400});
  EXPECT_NEAR(outcome.processors, 0.1, 0.02);
}

TEST_F(FloorTest, OfNothingThereIsNoRelief) {
  EXPECT_FALSE(ProcessorFloor(0).AsksProcessorTime(1, 1));
  EXPECT_EQ(For60Seconds(0, {}).relieved, 0);
}

TEST_F(FloorTest, ProcessorTimeIsAskedForWhereItSaysSomething) {
  ProcessorFloor floor(0.1);
  const auto look = [&](int64_t ms, bool counted) {
    BatchSession session{.pid = 1, .work = Work::kProcessor};
    if (counted) session.ran_ns = 0;
    return floor.Decide({session}, ms * kMsNs);
  };
  EXPECT_FALSE(floor.AsksProcessorTime(1000 * kMsNs, 0));
  EXPECT_TRUE(floor.AsksProcessorTime(1000 * kMsNs, 1));
  EXPECT_FALSE(look(1000, true));
  EXPECT_FALSE(floor.AsksProcessorTime(1499 * kMsNs, 1));
  EXPECT_FALSE(look(1499, false));
  EXPECT_TRUE(floor.AsksProcessorTime(1500 * kMsNs, 1));
  EXPECT_TRUE(look(1500, true));
  EXPECT_TRUE(floor.AsksProcessorTime(1501 * kMsNs, 0));  // a relief is looked at each time
}

// What a worker of a parallel query has run it has run since it began; what another session ran
// before it was seen is nobody's business.
TEST_F(FloorTest, WhoIsNewCountsFromItsBeginningIfItIsAWorker) {
  for (const int leader : {0, 1}) {
    ProcessorFloor floor(0.1);
    const BatchSession one{.pid = 1, .work = Work::kProcessor, .ran_ns = 0};
    floor.Decide({one}, 1000 * kMsNs);
    const BatchSession other{
        .pid = 2, .leader = leader, .work = Work::kProcessor, .ran_ns = 400 * kMsNs};
    EXPECT_EQ(floor.Decide({one, other}, 1500 * kMsNs), leader == 0);
  }
}

}  // namespace
}  // namespace headgate::agent
