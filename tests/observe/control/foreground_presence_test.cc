#include "server/observe/control/foreground_presence.h"

#include "gtest/gtest.h"

namespace headgate::control {
namespace {

class PresenceTest : public testing::Test {
 protected:
  // Of writers, which transaction ids count.
  Foreground After(double throughput, double active = 0, bool asked = true) {
    Flow flow;
    flow.seconds = 0.2;
    flow.throughput = flow.transactions = throughput;
    flow.asked = asked;
    presence_.Look(flow, active);
    return presence_.foreground();
  }
  // Of readers, which statements count alone.
  Foreground AfterReads(double statements, Flow::Source source, double active = 0) {
    Flow flow;
    flow.seconds = 0.5;
    flow.source = source;
    flow.throughput = source == Flow::Source::kTransactionIds ? 0 : statements;
    presence_.Look(flow, active);
    return presence_.foreground();
  }
  Foreground AfterMany(int flows, double throughput) {
    for (int i = 1; i < flows; ++i) (void)After(throughput);
    return After(throughput);
  }

  Presence presence_;
};

TEST_F(PresenceTest, ManyActiveSessionsAreAForegroundAtOnce) {
  EXPECT_EQ(After(0), Foreground::kNone);
  EXPECT_EQ(After(100, 4), Foreground::kBusy);
}

TEST_F(PresenceTest, ManyTransactionsAreOneAtTheirSecondFlow) {
  EXPECT_NE(After(1000), Foreground::kBusy);
  EXPECT_EQ(After(1000), Foreground::kBusy);
}

TEST_F(PresenceTest, OneBurstOfAMonitorsStatementsIsNotBusy) {
  (void)AfterMany(5, 0);
  EXPECT_NE(After(500), Foreground::kBusy);
  EXPECT_NE(After(0), Foreground::kBusy);
}

TEST_F(PresenceTest, AFewTransactionsASecondAreSparse) {
  EXPECT_EQ(AfterMany(10, 5), Foreground::kSparse);
  // One in each second flow.
  for (int i = 0; i < 10; ++i) {
    (void)After(0);
    EXPECT_EQ(After(5), Foreground::kSparse);
  }
}

TEST_F(PresenceTest, AForegroundThatWentIsForgottenInASecond) {
  (void)AfterMany(10, 5000);
  EXPECT_EQ(After(0), Foreground::kSparse);
  EXPECT_EQ(AfterMany(4, 0), Foreground::kNone);
}

TEST_F(PresenceTest, ReadersWhoseStatementsAreNotCountedAnyMoreAreKnownByTheirSessions) {
  for (int i = 0; i < 4; ++i) (void)AfterReads(2000, Flow::Source::kStatements);
  // Reset, or not recorded: one in forty samples meets a session.
  for (int i = 0; i < 400; ++i) {
    const double active = i % 40 == 39 ? 1 : 0;
    ASSERT_EQ(AfterReads(2000, Flow::Source::kTransactionIds, active), Foreground::kBusy) << i;
  }
  for (int i = 0; i < 120; ++i) (void)AfterReads(0, Flow::Source::kTransactionIds);
  EXPECT_EQ(AfterReads(0, Flow::Source::kTransactionIds), Foreground::kNone);
}

TEST_F(PresenceTest, ReadersWhoseStatementsWereNeverCountedAreKnownOnceTheyAreMetOften) {
  for (int i = 0; i < 400; ++i) {
    const Foreground seen = AfterReads(0, Flow::Source::kTransactionIds, i % 10 == 9 ? 1 : 0);
    if (i <= 100) continue;
    ASSERT_EQ(seen, Foreground::kBusy) << i;
  }
}

TEST_F(PresenceTest, AMonitorThatIsMetEachMinuteIsNotAForeground) {
  for (int i = 0; i < 1200; ++i) {
    const Foreground seen = AfterReads(0, Flow::Source::kTransactionIds, i % 120 == 9 ? 1 : 0);
    if (i % 120 <= 12) continue;
    ASSERT_EQ(seen, Foreground::kNone) << i;
  }
}

TEST_F(PresenceTest, ReadersWhoseStatementsAreCountedAreForgottenAtOnce) {
  for (int i = 0; i < 4; ++i) (void)AfterReads(2000, Flow::Source::kStatements, 1);
  for (int i = 0; i < 3; ++i) (void)AfterReads(0, Flow::Source::kStatements);
  EXPECT_EQ(AfterReads(0, Flow::Source::kStatements), Foreground::kNone);
}

TEST_F(PresenceTest, ReadersWhoseStatementsAreOnlyKnownToHaveRunAreThere) {
  for (int i = 0; i < 4; ++i) (void)AfterReads(600, Flow::Source::kAllStatements);
  EXPECT_EQ(AfterReads(600, Flow::Source::kAllStatements), Foreground::kBusy);
}

// More may have run than is known, so none says less than it does where all are compared.
TEST_F(PresenceTest, WhereOnlySomeAreKnownToHaveRunSessionsCountToo) {
  for (int i = 0; i < 4; ++i) (void)AfterReads(600, Flow::Source::kAllStatements, 1);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(AfterReads(0, Flow::Source::kAllStatements), Foreground::kBusy) << i;
  }
  for (int i = 0; i < 120; ++i) (void)AfterReads(0, Flow::Source::kAllStatements);
  EXPECT_EQ(AfterReads(0, Flow::Source::kAllStatements), Foreground::kNone);
}

TEST_F(PresenceTest, NobodyAsksAfterTwoSecondsWithoutACheck) {
  (void)After(0);
  for (int i = 0; i < 9; ++i) (void)After(0, 0, /*asked=*/false);
  EXPECT_TRUE(presence_.somebody_asks());
  (void)After(0, 0, false);
  (void)After(0, 0, false);
  EXPECT_FALSE(presence_.somebody_asks());
  (void)After(0);
  EXPECT_TRUE(presence_.somebody_asks());
}

}  // namespace
}  // namespace headgate::control
