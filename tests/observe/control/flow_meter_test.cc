#include "server/observe/control/flow_meter.h"

#include "gtest/gtest.h"

namespace headgate::control {
namespace {

using Outcome = FlowMeter::Outcome;

// Samples of which each continues the one before.
class Samples {
 public:
  Samples() {
    sample_.work.sampled_at_ns = 1'000'000'000;
    sample_.work.next_xid = 1000;
    sample_.work.statements = health::WorkCounters::Statements{.generation = 1};
  }

  ControlSample& After(double seconds) {
    sample_.work.sampled_at_ns += static_cast<int64_t>(seconds * 1e9);
    return sample_;
  }
  void Report(uint64_t chunks, double busy_seconds) {
    sample_.transactions += chunks;
    sample_.work.next_xid += static_cast<int64_t>(chunks);
    sample_.busy_seconds += busy_seconds;
  }

  ControlSample sample_;
};

Flow Take(FlowMeter& meter, const ControlSample& sample) {
  Flow flow, glance;
  EXPECT_EQ(meter.Take(sample, flow, glance), Outcome::kFlow);
  return flow;
}

class FlowMeterTest : public testing::Test {
 protected:
  FlowMeterTest() {
    Flow flow, glance;
    EXPECT_EQ(meter_.Take(samples_.sample_, flow, glance), Outcome::kBroken);
  }

  FlowMeter meter_;
  Samples samples_;
};

TEST_F(FlowMeterTest, CountsStatementsWhereThereAreAny) {
  ControlSample& sample = samples_.After(0.5);
  sample.work.next_xid += 100;
  sample.work.statements->calls += 700;
  sample.work.statements->busy_seconds += 0.4;
  sample.checks += 1;
  const Flow flow = Take(meter_, sample);
  EXPECT_EQ(flow.source, Flow::Source::kStatements);
  EXPECT_DOUBLE_EQ(flow.seconds, 0.5);
  EXPECT_DOUBLE_EQ(flow.throughput, 1400);
  EXPECT_DOUBLE_EQ(flow.transactions, 200);
  EXPECT_DOUBLE_EQ(flow.occupancy, 0.8);
  EXPECT_TRUE(flow.asked);
  EXPECT_FALSE(Take(meter_, samples_.After(0.5)).asked);
}

TEST_F(FlowMeterTest, ElseTransactionIdsLessThoseOfTheBatch) {
  samples_.sample_.work.statements.reset();
  samples_.sample_.work.statements_missing = "not installed";
  (void)Take(meter_, samples_.After(0.8));
  samples_.Report(20, 0.1);
  samples_.sample_.work.next_xid += 100;
  samples_.sample_.work.foreground_active = 4;
  const Flow flow = Take(meter_, samples_.After(0.5));
  EXPECT_EQ(flow.source, Flow::Source::kTransactionIds);
  EXPECT_DOUBLE_EQ(flow.throughput, 200);
  // Where it began, something else was: a pause begins with the last sample of work.
  EXPECT_DOUBLE_EQ(flow.sessions, 4);
}

TEST_F(FlowMeterTest, WaitsForStatementsThatNotEverySampleHas) {
  const auto statements = samples_.sample_.work.statements;
  samples_.sample_.work.statements.reset();
  Flow flow, glance;
  EXPECT_EQ(meter_.Take(samples_.After(0.2), flow, glance), Outcome::kMore);
  EXPECT_EQ(meter_.Take(samples_.After(0.2), flow, glance), Outcome::kMore);
  samples_.sample_.work.statements = statements;
  samples_.sample_.work.statements->calls += 60;
  flow = Take(meter_, samples_.After(0.2));
  EXPECT_EQ(flow.source, Flow::Source::kStatements);
  EXPECT_NEAR(flow.throughput, 100, 1e-6);
}

TEST_F(FlowMeterTest, ButNotForEver) {
  samples_.sample_.work.statements.reset();
  Flow flow, glance;
  for (int i = 0; i < 31; ++i) {
    samples_.sample_.work.next_xid += 300;
    EXPECT_EQ(meter_.Take(samples_.After(2.9), flow, glance), Outcome::kMore);
  }
  samples_.sample_.work.next_xid += 700;
  (void)Take(meter_, samples_.After(2.9));
}

TEST_F(FlowMeterTest, AndNotWhereThereWillBeNone) {
  samples_.sample_.work.statements.reset();
  samples_.sample_.work.statements_missing = "it was dropped";
  samples_.sample_.work.next_xid += 80;
  EXPECT_DOUBLE_EQ(Take(meter_, samples_.After(0.8)).throughput, 100);
}

TEST_F(FlowMeterTest, AGlanceShowsWhatIsKnownUntilThen) {
  samples_.sample_.work.statements.reset();
  Flow flow, glance;
  samples_.sample_.work.foreground_active = 2;
  samples_.Report(4, 0.02);
  samples_.sample_.work.next_xid += 50;
  EXPECT_EQ(meter_.Take(samples_.After(0.5), flow, glance), Outcome::kMore);
  EXPECT_DOUBLE_EQ(glance.transactions, 100);
  EXPECT_DOUBLE_EQ(glance.seconds, 0.5);
  EXPECT_NEAR(glance.in_flight, 0.04, 1e-9);
}

TEST_F(FlowMeterTest, TheMeanAndTheDeviationOfTimesAreThoseOfTheFlowAlone) {
  samples_.sample_.work.batch_active = 1;  // its sessions are told apart
  auto& statements = *samples_.sample_.work.statements;
  statements = {.calls = 1e6,
                .busy_seconds = 1e3,
                .timed_calls = 1e6,
                .timed_seconds = 1e3,
                .timed_deviations = 2,
                .generation = 1};
  (void)Take(meter_, samples_.After(0.5));
  statements.calls += 100;
  statements.timed_calls += 100;  // half of them take 1 ms, half 3 ms
  statements.timed_seconds += 0.2;
  statements.timed_deviations += 100 * 1e-6;
  const Flow flow = Take(meter_, samples_.After(0.5));
  EXPECT_NEAR(flow.mean, 0.002, 1e-9);
  EXPECT_NEAR(flow.deviation, 0.001, 1e-9);
}

TEST_F(FlowMeterTest, ResidenceFollowsFromTheSessionsAtWork) {
  samples_.sample_.work.statements.reset();
  samples_.sample_.work.statements_missing = "there are none";
  samples_.sample_.work.foreground_active = 3;
  (void)Take(meter_, samples_.After(0.5));
  samples_.sample_.work.next_xid += 500;
  EXPECT_NEAR(Take(meter_, samples_.After(0.5)).residence, 0.003, 1e-9);
}

TEST_F(FlowMeterTest, StatisticsThatWereResetAreNotTrustedForAWhile) {
  samples_.sample_.work.statements = health::WorkCounters::Statements{.calls = 5, .generation = 2};
  EXPECT_EQ(Take(meter_, samples_.After(0.5)).source, Flow::Source::kTransactionIds);
  EXPECT_EQ(Take(meter_, samples_.After(2.5)).source, Flow::Source::kTransactionIds);
  for (int i = 0; i < 4; ++i) (void)Take(meter_, samples_.After(2.5));
  EXPECT_EQ(Take(meter_, samples_.After(0.5)).source, Flow::Source::kStatements);
}

// Each statement is new, and is evicted before it is read again.
TEST_F(FlowMeterTest, WhatRanCountsWhereNothingCanBeCompared) {
  samples_.sample_.work.foreground_active = 3;
  for (int i = 0; i < 5; ++i) {
    samples_.sample_.work.statements->ran += 300;
    const Flow flow = Take(meter_, samples_.After(0.5));
    EXPECT_EQ(flow.source, Flow::Source::kAllStatements);
    EXPECT_DOUBLE_EQ(flow.throughput, 600);
    EXPECT_DOUBLE_EQ(flow.residence, 0.005);
    EXPECT_EQ(flow.mean, 0);
  }
}

// Each runs often, and is evicted all the same.
TEST_F(FlowMeterTest, EvictionsAfterWhichNothingCanBeComparedLeaveWhatRan) {
  auto& statements = *samples_.sample_.work.statements;
  for (int i = 0; i < 40; ++i) {
    ++statements.generation;
    statements.ran += 300;
    statements.calls += 20;
    EXPECT_DOUBLE_EQ(Take(meter_, samples_.After(0.5)).throughput, 600) << i;
  }
  // For a while after the last of them, too.
  const auto source_after = [&](double seconds) {
    for (; seconds > 0; seconds -= 0.5) {
      statements.ran += 300;
      statements.calls += 300;
      const Flow flow = Take(meter_, samples_.After(0.5));
      EXPECT_DOUBLE_EQ(flow.throughput, 600);
      if (seconds <= 0.5) return flow.source;
    }
    return Flow::Source::kTransactionIds;
  };
  EXPECT_EQ(source_after(9), Flow::Source::kAllStatements);
  EXPECT_EQ(source_after(2), Flow::Source::kStatements);
}

TEST_F(FlowMeterTest, WhatIsComparedStandsForAllThatRunsWhereItIsMostOfIt) {
  samples_.sample_.work.batch_active = 1;  // its sessions are told apart
  auto& statements = *samples_.sample_.work.statements;
  const auto source_with = [&](double compared, double ran) {
    statements.calls += compared;
    statements.timed_calls += compared;
    statements.timed_seconds += 0.001 * compared;
    statements.ran += ran;
    const Flow flow = Take(meter_, samples_.After(0.5));
    EXPECT_NEAR(flow.mean, 0.001, 1e-9);  // of those that are compared, in any case
    return flow.source;
  };
  EXPECT_EQ(source_with(80, 100), Flow::Source::kStatements);
  EXPECT_EQ(source_with(60, 100), Flow::Source::kAllStatements);
  EXPECT_EQ(source_with(80, 100), Flow::Source::kAllStatements);
  EXPECT_EQ(source_with(95, 100), Flow::Source::kStatements);
  EXPECT_EQ(source_with(6, 15), Flow::Source::kStatements);  // of so few nothing follows
}

TEST_F(FlowMeterTest, WhereNobodyKnowsWhatRanTransactionIdsCount) {
  auto& statements = *samples_.sample_.work.statements;
  statements.ran += 300;
  EXPECT_EQ(Take(meter_, samples_.After(0.5)).source, Flow::Source::kAllStatements);
  ++statements.ran_generation;
  samples_.sample_.work.next_xid += 50;
  const Flow flow = Take(meter_, samples_.After(0.5));
  EXPECT_EQ(flow.source, Flow::Source::kTransactionIds);
  EXPECT_DOUBLE_EQ(flow.throughput, 100);
}

TEST_F(FlowMeterTest, CountersThatDoNotContinueBeginAnew) {
  Flow flow, glance;
  samples_.sample_.work.next_xid = 10;  // another server
  EXPECT_EQ(meter_.Take(samples_.After(0.5), flow, glance), Outcome::kBroken);
  (void)Take(meter_, samples_.After(0.5));
  EXPECT_EQ(meter_.Take(samples_.After(60), flow, glance), Outcome::kBroken);  // after a rest
  EXPECT_EQ(meter_.Take(samples_.After(0), flow, glance), Outcome::kBroken);
  meter_.Forget();
  EXPECT_EQ(meter_.Take(samples_.After(0.5), flow, glance), Outcome::kBroken);
}

TEST_F(FlowMeterTest, WorkInFlightIsWhatWasReported) {
  samples_.Report(10, 0.1);
  EXPECT_NEAR(Take(meter_, samples_.After(0.5)).in_flight, 0.2, 1e-9);
  EXPECT_NEAR(meter_.chunk(), 0.01, 1e-9);
}

TEST_F(FlowMeterTest, AChunkThatRunsCountsBeforeItIsReported) {
  samples_.sample_.outstanding = 1;
  samples_.sample_.work.batch_active = 1;
  (void)Take(meter_, samples_.After(0.2));
  EXPECT_NEAR(Take(meter_, samples_.After(0.2)).in_flight, 1, 1e-9);
  EXPECT_NEAR(Take(meter_, samples_.After(0.2)).in_flight, 1, 1e-9);
  samples_.sample_.outstanding = 0;
  samples_.sample_.work.batch_active = 0;
  samples_.Report(1, 10);  // which is not all of this flow's
  EXPECT_LE(Take(meter_, samples_.After(0.2)).in_flight, 1);
  EXPECT_EQ(Take(meter_, samples_.After(0.2)).in_flight, 0);
}

TEST_F(FlowMeterTest, APermitThatNobodyWillReportIsNoWork) {
  samples_.sample_.outstanding = 1;
  samples_.sample_.work.batch_active = 1;
  (void)Take(meter_, samples_.After(0.2));
  samples_.sample_.work.batch_active = 0;  // its session is gone
  (void)Take(meter_, samples_.After(0.2));
  EXPECT_EQ(Take(meter_, samples_.After(0.2)).in_flight, 0);
}

TEST_F(FlowMeterTest, SessionsOfBatchWorkThatDoesNotAskAreNoWorkOfOurs) {
  samples_.sample_.outstanding = 1;
  (void)Take(meter_, samples_.After(0.2));
  samples_.sample_.outstanding = 0;
  samples_.sample_.work.batch_active = 3;
  (void)Take(meter_, samples_.After(0.2));
  EXPECT_EQ(Take(meter_, samples_.After(0.2)).in_flight, 0);
}

TEST_F(FlowMeterTest, WherePermitsAreNotCountedSessionsAre) {
  samples_.sample_.work.batch_active = 2;
  (void)Take(meter_, samples_.After(0.2));
  EXPECT_NEAR(Take(meter_, samples_.After(0.2)).in_flight, 2, 1e-9);
}

TEST_F(FlowMeterTest, BatchWorkThatIsNotToldApartIsTakenOff) {
  samples_.sample_.outstanding = 1;
  samples_.sample_.work.foreground_active = 3;  // of which one is the batch's
  for (int i = 0; i < 10; ++i) (void)Take(meter_, samples_.After(0.2));
  EXPECT_EQ(meter_.active(), 2);
  samples_.Report(2, 0.1);
  samples_.sample_.work.statements->calls += 102;
  samples_.sample_.work.statements->busy_seconds += 0.3;
  const Flow flow = Take(meter_, samples_.After(0.5));
  EXPECT_DOUBLE_EQ(flow.throughput, 200);
  EXPECT_DOUBLE_EQ(flow.occupancy, 0.4);
}

TEST_F(FlowMeterTest, ABatchThatIsBlamedTwiceForItsIdsIsBelieved) {
  samples_.sample_.work.statements.reset();
  samples_.sample_.work.statements_missing = "not installed";
  (void)Take(meter_, samples_.After(0.8));
  const auto chunks_of_five = [this] {
    samples_.Report(10, 0.1);
    samples_.sample_.work.next_xid += 40;
    return Take(meter_, samples_.After(0.5)).throughput;
  };
  EXPECT_DOUBLE_EQ(chunks_of_five(), 80);
  meter_.BlameBatch();
  EXPECT_DOUBLE_EQ(chunks_of_five(), 80);
  meter_.AcquitBatch();  // it was chance
  meter_.BlameBatch();
  EXPECT_DOUBLE_EQ(chunks_of_five(), 80);
  meter_.BlameBatch();
  EXPECT_DOUBLE_EQ(chunks_of_five(), 0);
}

// Eight chunks a second, each of half a second on one of four sessions.
class UnderstatedTest : public FlowMeterTest {
 protected:
  // After so many seconds of which each chunk reports `busy_seconds`.
  bool AfterSeconds(int seconds, double busy_seconds) {
    for (int i = 0; i < 2 * seconds; ++i) {
      samples_.sample_.outstanding = 4;
      samples_.sample_.work.batch_active = 5;  // one does not ask
      samples_.Report(4, 4 * busy_seconds);
      (void)Take(meter_, samples_.After(0.5));
    }
    return meter_.is_understated();
  }
};

TEST_F(UnderstatedTest, HonestReportsAreBelieved) { EXPECT_FALSE(AfterSeconds(120, 0.5)); }

TEST_F(UnderstatedTest, ReportsOfNothingAreNotBelievedForAMinute) {
  EXPECT_TRUE(AfterSeconds(3, 0));
  samples_.sample_.outstanding = 0;
  samples_.sample_.work.batch_active = 0;
  for (int i = 0; i < 100; ++i) (void)Take(meter_, samples_.After(0.5));
  EXPECT_TRUE(meter_.is_understated());
  for (int i = 0; i < 25; ++i) (void)Take(meter_, samples_.After(0.5));
  EXPECT_FALSE(meter_.is_understated());
}

TEST_F(UnderstatedTest, NorThoseOfATenthOfTheTime) { EXPECT_TRUE(AfterSeconds(5, 0.05)); }

TEST_F(UnderstatedTest, ALongChunkThatHasNotReportedYetIsAtWork) {
  samples_.sample_.outstanding = 1;
  samples_.sample_.work.batch_active = 1;
  for (int i = 0; i < 60; ++i) (void)Take(meter_, samples_.After(0.5));
  EXPECT_FALSE(meter_.is_understated());
}

}  // namespace
}  // namespace headgate::control
