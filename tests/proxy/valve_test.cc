// What may pass, and how long the server worked, on conversations as libpq and others have them.

#include "client/proxy/valve.h"

#include <string_view>

#include "gtest/gtest.h"

namespace headgate::proxy {
namespace {

constexpr int64_t kMs = 1'000'000;

class ValveTest : public ::testing::Test {
 protected:
  explicit ValveTest(Hold hold = Hold::kTransactions) : valve_({.hold = hold}) {
    Server('R');
    Server(kReadyForQuery, "I");
  }

  // A message passes.
  void Client(char type) {
    ASSERT_TRUE(MayClient(type)) << type;
    valve_.Passed(Sender::kClient, {.type = type, .size = 5, .body = {}}, now_);
  }
  void Server(char type, std::string_view body = {}) {
    ASSERT_TRUE(MayServer(type)) << type;
    valve_.Passed(Sender::kServer, {.type = type, .size = 5, .body = body}, now_);
  }
  bool MayClient(char type) {
    return valve_.MayPass(Sender::kClient, {.type = type, .size = 5, .body = {}}, now_);
  }
  bool MayServer(char type) {
    return valve_.MayPass(Sender::kServer, {.type = type, .size = 5, .body = {}}, now_);
  }
  void Work(int64_t ms) { now_ += ms * kMs; }
  void Open() { valve_.Open(now_); }
  int64_t BusyMs() { return absl::ToInt64Milliseconds(valve_.TakeBusyTime(now_)); }

  // A statement of the simple protocol, from its ReadyForQuery to the next.
  void Statement(std::string_view command, char status, int64_t ms = 1) {
    Client(kQuery);
    Work(ms);
    Server(kCommandComplete, command);
    Server(kReadyForQuery, std::string_view(&status, 1));
  }

  Valve valve_;
  int64_t now_ = 1'000'000 * kMs;
};

TEST_F(ValveTest, AUnitWaitsForLeaveAndWhatFollowsItDoesNot) {
  EXPECT_FALSE(MayClient(kParse));
  EXPECT_TRUE(valve_.IsHeld());
  Open();
  EXPECT_FALSE(valve_.IsHeld());
  for (const char type : {kParse, kBind, kDescribe, kExecute, kSync}) Client(type);
  EXPECT_FALSE(valve_.IsIdle());
  Server(kReadyForQuery, "I");
  EXPECT_TRUE(valve_.IsIdle());
}

TEST_F(ValveTest, WhatBelongsToNoUnitPasses) {
  for (const char type : {kSync, kFlush, kTerminate, 'p'}) EXPECT_TRUE(MayClient(type)) << type;
  for (const char type : {kNotification, kNoticeResponse, kParameterStatus}) {
    EXPECT_TRUE(MayServer(type)) << type;
  }
}

TEST_F(ValveTest, UnitsPassUntilTheSliceIsUsed) {
  Open();
  Statement("SELECT 1", 'I', 4);
  Statement("SELECT 1", 'I', 5);
  Statement("SELECT 1", 'I', 1);
  EXPECT_TRUE(valve_.IsSliceUsed(now_));
  EXPECT_FALSE(MayClient(kQuery));
  EXPECT_EQ(BusyMs(), 10);
  Open();
  Client(kQuery);
}

TEST_F(ValveTest, InATransactionOnlyStreamsWait) {
  Open();
  Statement("BEGIN", 'T');
  valve_.TakeBusyTime(now_);
  EXPECT_TRUE(MayClient(kQuery)) << "it holds locks";
  Statement("SELECT 1", 'T');
  Client(kQuery);
  EXPECT_FALSE(MayServer(kDataRow));
}

TEST_F(ValveTest, InATransactionThatHasWrittenOnlyTheClientsDataWaits) {
  Open();
  Statement("BEGIN", 'T');
  Statement("UPDATE 7", 'T');
  valve_.TakeBusyTime(now_);
  Client(kQuery);
  EXPECT_TRUE(MayServer(kDataRow));
  Server(kCommandComplete, "SELECT 9");
  Server(kCopyInResponse);
  EXPECT_FALSE(MayClient(kCopyData));
}

TEST_F(ValveTest, ACommitEndsWhatWasWritten) {
  Open();
  Statement("BEGIN", 'T');
  Statement("INSERT 0 1", 'T');
  Statement("COMMIT", 'I');
  Statement("BEGIN", 'T');
  valve_.TakeBusyTime(now_);
  Client(kQuery);
  EXPECT_FALSE(MayServer(kDataRow));
}

TEST_F(ValveTest, ACopyToTheClientStopsWithinItself) {
  Open();
  Client(kQuery);
  Server(kCopyOutResponse);
  Server(kCopyData);
  Work(10);
  EXPECT_FALSE(MayServer(kCopyData));
  EXPECT_EQ(BusyMs(), 10);
  Work(500);
  EXPECT_EQ(BusyMs(), 0) << "it is stopped";
  Open();
  Server(kCopyData);
  Work(2);
  Server(kCopyDone);
  Server(kCommandComplete, "COPY 3");
  Server(kReadyForQuery, "I");
  EXPECT_EQ(BusyMs(), 2);
}

TEST_F(ValveTest, ACopyToTheClientHasWrittenNothing) {
  Open();
  Statement("BEGIN", 'T');
  Client(kQuery);
  Server(kCopyOutResponse);
  Server(kCommandComplete, "COPY 3");
  Server(kReadyForQuery, "T");
  valve_.TakeBusyTime(now_);
  Client(kQuery);
  EXPECT_FALSE(MayServer(kDataRow));
}

TEST_F(ValveTest, ACopyFromTheClientStopsWithinItself) {
  Open();
  Client(kQuery);
  Server(kCopyInResponse);
  Client(kCopyData);
  Work(10);
  EXPECT_FALSE(MayClient(kCopyData));
  EXPECT_EQ(BusyMs(), 10);
  Open();
  Client(kCopyData);
  valve_.TakeBusyTime(now_);
  EXPECT_TRUE(MayClient(kCopyDone)) << "its end never waits";
}

TEST_F(ValveTest, WhatTheClientTakesIsNotTheServers) {
  Open();
  Client(kQuery);
  Server(kCopyInResponse);
  Work(3);
  valve_.ClientHasTheBall(true, now_);
  Work(1000);
  valve_.ClientHasTheBall(false, now_);
  Work(2);
  EXPECT_EQ(BusyMs(), 5);
}

TEST_F(ValveTest, ALongStatementIsCountedWhileItRuns) {
  Open();
  Client(kQuery);
  Work(70);
  EXPECT_TRUE(valve_.IsSliceUsed(now_));
  EXPECT_EQ(BusyMs(), 70);
  Work(30);
  EXPECT_EQ(BusyMs(), 30);
  Server(kCommandComplete, "UPDATE 1");
  Server(kReadyForQuery, "I");
  Work(1000);
  EXPECT_EQ(BusyMs(), 0);
  EXPECT_FALSE(MayClient(kQuery));
}

TEST_F(ValveTest, OfAPipelineAllUnitsAreOne) {
  Open();
  for (int i = 0; i < 3; ++i) {
    for (const char type : {kParse, kBind, kExecute, kSync}) Client(type);
  }
  Work(20);
  EXPECT_TRUE(MayClient(kParse)) << "others are out";
  Server(kReadyForQuery, "I");
  Server(kReadyForQuery, "I");
  EXPECT_FALSE(valve_.IsIdle());
  Server(kReadyForQuery, "I");
  EXPECT_TRUE(valve_.IsIdle());
  EXPECT_EQ(BusyMs(), 20);
}

// The server takes no notice of a Sync within a COPY, and answers none.
TEST_F(ValveTest, ASyncWithinACopyEndsNoUnit) {
  Open();
  Client(kQuery);
  Server(kCopyInResponse);
  Client(kSync);
  Client(kCopyDone);
  Server(kCommandComplete, "COPY 1");
  Server(kReadyForQuery, "I");
  EXPECT_TRUE(valve_.IsIdle());
}

// The Sync was on its way when the COPY failed.
TEST_F(ValveTest, ACopyThatFailsBeforeItsSyncLeavesNothingUnderWay) {
  Open();
  for (const char type : {kParse, kBind, kExecute}) Client(type);
  Server(kCopyInResponse);
  Client(kSync);
  Server(kErrorResponse);
  Server(kReadyForQuery, "I");
  EXPECT_TRUE(valve_.IsIdle());
}

TEST_F(ValveTest, WhatIsGivenUpCountsForNothing) {
  EXPECT_FALSE(MayClient(kQuery));
  Work(100);
  valve_.GiveUp(now_);
  EXPECT_TRUE(valve_.IsIdle());
  EXPECT_EQ(BusyMs(), 0);
}

TEST_F(ValveTest, TimeThatRunsBackwardsIsNone) {
  Open();
  Client(kQuery);
  Work(-50);
  EXPECT_EQ(BusyMs(), 0);
}

class StatementsValveTest : public ValveTest {
 protected:
  StatementsValveTest() : ValveTest(Hold::kStatements) {}
};
TEST_F(StatementsValveTest, EachStatementWaits) {
  Open();
  Statement("BEGIN", 'T');
  Statement("UPDATE 7", 'T');
  valve_.TakeBusyTime(now_);
  EXPECT_FALSE(MayClient(kQuery));
  Open();
  Client(kQuery);
  Work(10);
  EXPECT_FALSE(MayServer(kDataRow));
}

class NothingValveTest : public ValveTest {
 protected:
  NothingValveTest() : ValveTest(Hold::kNothing) {}
};
TEST_F(NothingValveTest, NothingWaitsAndAllIsCounted) {
  Client(kQuery);
  Server(kCopyOutResponse);
  Work(70);
  Server(kCopyData);
  EXPECT_EQ(BusyMs(), 70);
}

TEST(ValveAtStart, PassesWhateverIsSaidBeforeTheSessionIsReady) {
  Valve valve({});
  for (const char type : {'p', kQuery, kCopyData}) {
    EXPECT_TRUE(valve.MayPass(Sender::kClient, {.type = type, .size = 5, .body = {}}, 0)) << type;
  }
}

}  // namespace
}  // namespace headgate::proxy
