// log --follow: new denials until somebody ends it.

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/json.h"
#include "tests/cli/log_server.h"
#include "tests/testing/silent_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class LogFollowing : public ::testing::Test {
 protected:
  FakeLog& log() { return server_.log(); }
  Subprocess Follow(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {HEADGATE_PROGRAM, "log", "-f", "--interval", "1ms"});
    return Subprocess(more, server_.Options());
  }
  // Until it has asked a few times more.
  bool WaitForCalls() {
    const int calls = log().denial_calls() + 3;
    return WaitUntil([&] { return log().denial_calls() >= calls; });
  }

  LogServer server_;
};

TEST_F(LogFollowing, BeginsWithTheNewestAndGoesOnUntilInterrupted) {
  for (int i = 1; i <= 12; ++i) log().AddDenial(DenialOf(i, "job-7:etl", Today(7, 0, i)));
  Subprocess follower = Follow();
  ASSERT_TRUE(follower.AwaitOut("07:00:12.000"));
  EXPECT_THAT(follower.Out(),
              StartsWith("times are UTC\n2020-11-20 07:00:03.000  DENIED  job-7:etl  by "));
  log().AddDenial(DenialOf(13, "job-8:etl", Today(7, 1)));
  ASSERT_TRUE(follower.AwaitOut("job-8"));
  ASSERT_TRUE(WaitForCalls());
  follower.Signal(SIGINT);
  const Finished ended = follower.Wait();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(ended.out,
              EndsWith("2020-11-20 07:00:12.000  DENIED  job-7:etl  by replication_lag_seconds on "
                       "standby-2, 7.1 s over hard 5 s; cost 45, retry after 2s\n"
                       "2020-11-20 07:01:00.000  DENIED  job-8:etl  by replication_lag_seconds on "
                       "standby-2, 7.1 s over hard 5 s; cost 45, retry after 2s\n"));
}

TEST_F(LogFollowing, BeginsWithAsManyAsItIsTold) {
  for (int i = 1; i <= 12; ++i) log().AddDenial(DenialOf(i, "job-7:etl", Today(7, 0, i)));
  Subprocess follower = Follow({"--denials", "2"});
  ASSERT_TRUE(follower.AwaitOut("07:00:12.000"));
  EXPECT_THAT(follower.Out(), StartsWith("times are UTC\n2020-11-20 07:00:11.000 "));
}

TEST_F(LogFollowing, JsonIsAnObjectALine) {
  log().AddDenial(DenialOf(1, "job-7:etl", Today(7, 0)));
  Subprocess follower = Follow({"-o", "json"});
  ASSERT_TRUE(follower.AwaitOut("}\n"));
  log().AddDenial(DenialOf(2, "job-8:etl", Today(7, 1)));
  ASSERT_TRUE(follower.AwaitOut("job-8"));
  follower.Signal(SIGINT);
  const std::string out = follower.Wait().out;
  const size_t second = out.find('\n') + 1;
  EXPECT_EQ(ParseJson(out.substr(0, second))["number"].string_value(), "1");
  EXPECT_EQ(ParseJson(out.substr(second))["identity"].string_value(), "job-8:etl");
}

TEST_F(LogFollowing, CsvHasItsTitlesOnce) {
  Subprocess follower = Follow({"-o", "csv"});
  ASSERT_TRUE(follower.AwaitOut("priority\r\n"));
  log().AddDenial(DenialOf(1, "job-7:etl", Today(7, 0)));
  ASSERT_TRUE(follower.AwaitOut("job-7"));
  log().AddDenial(DenialOf(2, "job-8:etl", Today(7, 1)));
  ASSERT_TRUE(follower.AwaitOut("job-8"));
  const std::string out = follower.Out();
  EXPECT_THAT(out, StartsWith("number,at,identity,"));
  EXPECT_EQ(out.find("number,at", 1), std::string::npos);
}

TEST_F(LogFollowing, ShowsOnlyWhatItIsAskedFor) {
  Subprocess follower = Follow({"--budget", "rows"});
  ASSERT_TRUE(WaitForCalls());
  log().AddDenial(DenialOf(1, "job-7:etl", Today(7, 0)));
  v1::Denial full = DenialOf(2, "job-8:etl", Today(7, 1));
  *full.mutable_cause() = BurstCause();
  log().AddDenial(full);
  ASSERT_TRUE(follower.AwaitOut("job-8"));
  EXPECT_THAT(follower.Out(), Not(HasSubstr("job-7")));
}

TEST_F(LogFollowing, WaitsForAServerThatIsAwayAndSaysSoOnce) {
  log().AddDenial(DenialOf(1, "job-7:etl", Today(7, 0)));
  Subprocess follower = Follow();
  ASSERT_TRUE(follower.AwaitOut("job-7"));
  server_.Stop();
  ASSERT_TRUE(follower.AwaitErr("trying on"));
  log().AddDenial(DenialOf(2, "job-8:etl", Today(7, 1)));
  server_.Start();
  ASSERT_TRUE(follower.AwaitOut("job-8"));
  follower.Signal(SIGINT);
  const Finished ended = follower.Wait();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.out.find("job-7"), ended.out.rfind("job-7"));
  EXPECT_EQ(ended.err.find("trying on"), ended.err.rfind("trying on"));
}

TEST_F(LogFollowing, GoesOnWithOneIdentityWhereTheCallerMaySeeNoOthers) {
  const auto refused = std::make_shared<std::atomic<int>>(0);
  log().SetRefusal([refused](const v1::ListDenialsRequest& request) {
    if (request.identity() == "etl") return grpc::Status();
    refused->fetch_add(1);
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "caller 'job' may not");
  });
  log().AddDenial(DenialOf(1, "job-7:etl", Today(7, 0)));
  Subprocess follower = Follow({"etl"});
  ASSERT_TRUE(follower.AwaitOut("job-7"));
  log().AddDenial(DenialOf(2, "other", Today(7, 1)));
  log().AddDenial(DenialOf(3, "job-8:etl", Today(7, 2)));
  ASSERT_TRUE(follower.AwaitOut("job-8"));
  log().AddDenial(DenialOf(30, "job-9:etl", Today(7, 3)));
  ASSERT_TRUE(follower.AwaitOut("job-9"));
  ASSERT_TRUE(WaitForCalls());
  EXPECT_EQ(refused->load(), 1);
  EXPECT_EQ(follower.Err(),
            "headgate: others' denials are not for this caller: what is missing is not counted\n");
  EXPECT_THAT(follower.Out(), Not(HasSubstr("other")));
  EXPECT_EQ(follower.Out().find("job-8"), follower.Out().rfind("job-8"));
}

// The newest of one identity makes room for others' denials.
TEST_F(LogFollowing, GoesOnWithOneIdentityWhoseNewestDenialIsNotKept) {
  log().SetRefusal([](const v1::ListDenialsRequest& request) {
    return request.identity() == "etl" ? grpc::Status()
                                       : grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "no");
  });
  log().AddDenial(DenialOf(7, "job-7:etl", Today(7, 0)));
  Subprocess follower = Follow({"etl"});
  ASSERT_TRUE(follower.AwaitOut("job-7"));
  log().SetDenials({DenialOf(8, "other", Today(7, 1))});
  ASSERT_TRUE(WaitForCalls());
  log().AddDenial(DenialOf(9, "job-8:etl", Today(7, 2)));
  ASSERT_TRUE(follower.AwaitOut("job-8"));
  ASSERT_TRUE(WaitForCalls());
  EXPECT_EQ(follower.Out().find("job-8"), follower.Out().rfind("job-8"));
}

TEST_F(LogFollowing, WaitsAfterAFailureOfItsSecondRound) {
  log().SetRefusal([](const v1::ListDenialsRequest& request) {
    return request.identity() == "etl" ? grpc::Status()
                                       : grpc::Status(grpc::StatusCode::UNAVAILABLE, "stopping");
  });
  Subprocess follower({HEADGATE_PROGRAM, "log", "-f", "--interval", "1h", "etl"},
                      server_.Options());
  ASSERT_TRUE(follower.AwaitErr("trying on"));
  EXPECT_FALSE(WaitUntil([&] { return log().denial_calls() > 2; }, absl::Milliseconds(300)));
}

TEST_F(LogFollowing, EndsWithWhatAskingAgainWillNotChange) {
  const std::vector<std::pair<grpc::StatusCode, int>> finals = {
      {grpc::StatusCode::PERMISSION_DENIED, 4},
      {grpc::StatusCode::UNIMPLEMENTED, 4},
      {grpc::StatusCode::INVALID_ARGUMENT, 2}};
  for (const auto& [code, status] : finals) {
    log().SetRefusal(nullptr);
    Subprocess follower = Follow({"etl"});
    ASSERT_TRUE(WaitForCalls());
    log().SetRefusal([code = code](const auto&) { return grpc::Status(code, "for good"); });
    const Finished ended = follower.Wait();
    EXPECT_EQ(ended.status, status) << code;
    EXPECT_THAT(ended.err, EndsWith("for good\n")) << code;
    EXPECT_THAT(ended.err, Not(HasSubstr("trying on"))) << code;
  }
}

TEST_F(LogFollowing, TriesAFewTimesForAnotherToken) {
  log().SetRefusal([](const v1::ListDenialsRequest& request) {
    return request.identity() == "etl" ? grpc::Status()
                                       : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "who?");
  });
  Subprocess follower = Follow({"etl"});
  const Finished ended = follower.Wait();
  EXPECT_EQ(ended.status, 4);
  EXPECT_EQ(ended.err, "headgate: who?; trying on\nheadgate: UNAUTHENTICATED: who?\n");
  EXPECT_EQ(log().denial_calls(), 4);
}

TEST_F(LogFollowing, GoesOnWithAServerThatCountsAnew) {
  for (int i = 1; i <= 5; ++i) log().AddDenial(DenialOf(i, "old:etl", Today(7, 0, i)));
  Subprocess follower = Follow();
  ASSERT_TRUE(follower.AwaitOut("07:00:05"));
  log().SetDenials({});
  ASSERT_TRUE(WaitForCalls());
  log().AddDenial(DenialOf(1, "new:etl", Today(8, 0)));
  ASSERT_TRUE(follower.AwaitOut("new:etl"));
  // Others under numbers that were seen already.
  log().SetDenials(
      {DenialOf(1, "newer-1:etl", Today(9, 0)), DenialOf(2, "newer-2:etl", Today(9, 1))});
  ASSERT_TRUE(follower.AwaitOut("newer-2"));
  EXPECT_THAT(follower.Out(), HasSubstr("newer-1"));
}

TEST_F(LogFollowing, SaysWhatItMissed) {
  log().AddDenial(DenialOf(1, "job-7:etl", Today(7, 0)));
  Subprocess follower = Follow();
  ASSERT_TRUE(follower.AwaitOut("job-7"));
  log().SetDenials({DenialOf(5000, "job-8:etl", Today(7, 1))});
  ASSERT_TRUE(follower.AwaitOut("job-8"));
  EXPECT_EQ(follower.Err(),
            "headgate: 4998 denials are missing here, whoever's: more at once than "
            "the server keeps, or than an answer holds\n");
}

TEST_F(LogFollowing, SaysWhatItMissedWithinAnAnswer) {
  log().AddDenial(DenialOf(1, "job-7:etl", Today(7, 0)));
  Subprocess follower = Follow();
  ASSERT_TRUE(follower.AwaitOut("job-7"));
  log().SetDenials({DenialOf(1, "job-7:etl", Today(7, 0)), DenialOf(2, "job-7:etl", Today(7, 0, 1)),
                    DenialOf(4, "job-8:etl", Today(7, 1))});
  ASSERT_TRUE(follower.AwaitOut("job-8"));
  EXPECT_THAT(follower.Err(), StartsWith("headgate: 1 denial is missing here"));
  EXPECT_EQ(follower.Err().find("missing"), follower.Err().rfind("missing"));
}

TEST_F(LogFollowing, SaysWhatItMissedWhoeverItFollowsAndNotWhatOthersWereDenied) {
  for (int i = 1; i <= 3; ++i) log().AddDenial(DenialOf(i, "job-7:etl", Today(7, 0, i)));
  log().AddDenial(DenialOf(4, "other", Today(7, 0, 4)));
  Subprocess follower = Follow({"etl"});
  ASSERT_TRUE(follower.AwaitOut("07:00:03"));
  ASSERT_TRUE(WaitForCalls());
  log().AddDenial(DenialOf(5, "other", Today(7, 0, 5)));
  log().AddDenial(DenialOf(6, "job-8:etl", Today(7, 0, 6)));
  ASSERT_TRUE(follower.AwaitOut("job-8"));
  EXPECT_EQ(follower.Err(), "");
  log().AddDenial(DenialOf(17, "job-9:etl", Today(7, 0, 17)));
  ASSERT_TRUE(follower.AwaitOut("job-9"));
  EXPECT_THAT(follower.Err(), StartsWith("headgate: 10 denials are missing here, whoever's"));
  EXPECT_THAT(follower.Out(), Not(HasSubstr("other")));
}

TEST_F(LogFollowing, OtherSignalsEndItAsShellsCountThem) {
  Subprocess follower = Follow();
  ASSERT_TRUE(WaitForCalls());
  follower.Signal(SIGTERM);
  EXPECT_EQ(follower.Wait().status, 128 + SIGTERM);
}

TEST(LogFollowingASilentServer, EndsAtOnceWhenItIsTold) {
  SilentServer server;
  Subprocess follower(
      {HEADGATE_PROGRAM, "log", "-f", "--address", server.address(), "--timeout", "1h"});
  ASSERT_TRUE(WaitUntil([&] { return server.connected(); }));
  follower.Signal(SIGINT);
  EXPECT_EQ(follower.Wait().status, 128 + SIGINT);
}

}  // namespace
}  // namespace headgate::cli
