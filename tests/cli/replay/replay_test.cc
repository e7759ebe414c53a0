// replay: the program itself against a log of ours.

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/json.h"
#include "tests/cli/log_server.h"
#include "tests/testing/temp_folder.h"

namespace headgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ReplayCommand : public ::testing::Test {
 protected:
  ReplayCommand() : file_(folder_.File("new.yaml")) {
    std::ofstream(file_) << "targets: []\n";
    Set(Today(6, 0), log().replayed.mutable_from());
    Set(Today(14, 0), log().replayed.mutable_to());
  }

  FakeLog& log() { return server_.log(); }
  void Add(const std::string& who, int64_t denied_before, int64_t denied_after) {
    v1::ReplayedIdentity& replayed = *log().replayed.add_identities();
    replayed.set_identity(who);
    replayed.set_allowed_before(100 - denied_before);
    replayed.set_denied_before(denied_before);
    replayed.set_allowed_after(100 - denied_after);
    replayed.set_denied_after(denied_after);
    replayed.set_allowed_cost_before(static_cast<double>(100 - denied_before) * 10);
    replayed.set_allowed_cost_after(static_cast<double>(100 - denied_after) * 10);
  }
  Finished Replay(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"replay", "--config", file_});
    return server_.Headgate(more);
  }

  TempFolder folder_;
  const std::string file_;
  LogServer server_;
};

TEST_F(ReplayCommand, ShowsWhatWouldChangeMostFirst) {
  Add("job-1:etl", 0, 0);
  Add("job-2:etl", 50, 0);
  Add("job-3:etl", 0, 80);
  Add("job-4:etl", 3, 3);
  log().replayed.add_caveats("The log divides time into steps of 10 s.");
  const Finished shown = Replay();
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.err, "");
  EXPECT_EQ(shown.out,
            "2020-11-20 06:00–14:00 UTC: 53 of 400 Checks (13 %) were denied; with " + file_ +
                " 83 of 400 Checks (21 %) would be. Cost allowed: 3470; with it: 3170.\n"
                "\n"
                "WHO        CHECKS  DENIED        WOULD BE        CHANGE  COST ALLOWED  WOULD BE\n"
                "job-3:etl     100       0   0 %        80  80 %     +80          1000       200\n"
                "job-2:etl     100      50  50 %         0   0 %     -50           500      1000\n"
                "2 identities do not change\n"
                "\n"
                "what makes this inexact:\n"
                "  - The log divides time into steps of 10 s.\n");
  EXPECT_THAT(Replay({"--limit", "1"}).out,
              AllOf(HasSubstr("job-3:etl "), HasSubstr("\nand 1 more that change\n2 identities")));
}

TEST_F(ReplayCommand, ShowsWhatDiffersFromAReplayOfTheConfigurationInForce) {
  Add("job-1:etl", 0, 30);
  Add("job-2:etl", 50, 60);
  for (v1::ReplayedIdentity& replayed : *log().replayed.mutable_identities()) {
    replayed.set_denied_in_force(30);
    replayed.set_allowed_in_force(70);
    replayed.set_allowed_cost_in_force(700);
  }
  EXPECT_EQ(Replay().out,
            "2020-11-20 06:00–14:00 UTC: 50 of 200 Checks (25 %) were denied. Replayed, the "
            "configuration in force denies 60 (30 %) and " +
                file_ +
                " 90 (45 %). Cost allowed: 1500; replayed: 1400 and 1100.\n"
                "\n"
                "WHO        CHECKS  DENIED        REPLAYED  WOULD BE        CHANGE  COST ALLOWED  "
                "WOULD BE\n"
                "job-2:etl     100      50  50 %        30        60  60 %     +30           500  "
                "     400\n"
                "1 identity does not change\n");
}

TEST_F(ReplayCommand, SendsTheFileAndWhatToReplay) {
  Replay({"etl", "--since", "2020-11-20T06:00:00Z", "--until", "2020-11-20T14:00:00Z", "--target",
          "main"});
  const v1::ReplayThrottleLogRequest request = log().replay_request();
  EXPECT_EQ(request.config_yaml(), "targets: []\n");
  EXPECT_EQ(request.filter().identity(), "etl");
  EXPECT_EQ(request.filter().target(), "main");
  EXPECT_EQ(request.filter().from().seconds(), absl::ToUnixSeconds(Today(6, 0)));
}

TEST_F(ReplayCommand, SaysSoWhereThereIsNothingToReplay) {
  const Finished shown = Replay();
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.out, "2020-11-20 06:00–14:00 UTC: no such Check is in the log.\n");
}

TEST_F(ReplayCommand, JsonAndCsvHaveEverything) {
  Add("job-1:etl", 0, 0);
  Add("job-3:etl", 0, 80);
  EXPECT_EQ(Replay({"-o", "csv"}).out,
            "identity,target,allowed_before,denied_before,allowed_after,denied_after,"
            "allowed_cost_before,allowed_cost_after,allowed_in_force,denied_in_force,allowed_cost_"
            "in_force\r\n"
            "job-3:etl,,100,0,20,80,1000,200,,,\r\n"
            "job-1:etl,,100,0,100,0,1000,1000,,,\r\n");
  auto fields = ParseJson(Replay({"-o", "json"}).out);
  EXPECT_EQ(fields["identities"].list_value().values_size(), 2);
}

TEST_F(ReplayCommand, ARefusedConfigurationIsTwoWithEachFindingUnderItsName) {
  log().replay_status = grpc::Status(
      grpc::StatusCode::INVALID_ARGUMENT,
      "config_yaml: line 3, column 5: nam: unknown key\nline 7, column 1: \x1b[2J\nand 7 more");
  const Finished refused = Replay();
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err, file_ + ":3:5: nam: unknown key\n" + file_ + ":7:1: \\x1b[2J\n" + file_ +
                             ": and 7 more\n");
  const Finished json = Replay({"-o", "json"});
  EXPECT_EQ(json.status, 2);
  auto fields = ParseJson(json.out);
  EXPECT_FALSE(fields["ok"].bool_value());
  EXPECT_EQ(fields["errors"].list_value().values_size(), 3);
}

TEST_F(ReplayCommand, OtherRefusalsAreNotTheFiles) {
  log().replay_status =
      grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "filter.from: too long ago");
  EXPECT_EQ(Replay().err, "headgate: --since: too long ago\n");
  log().replay_status = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "a replay is running");
  const Finished busy = Replay();
  EXPECT_EQ(busy.status, 4);
  EXPECT_EQ(busy.err, "headgate: RESOURCE_EXHAUSTED: a replay is running\n");
}

TEST_F(ReplayCommand, AFileThatCannotBeReadIsTwo) {
  const Finished missing = server_.Headgate({"replay", "--config", folder_.File("none.yaml")});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, AllOf(StartsWith("headgate: cannot read "), HasSubstr("none.yaml")));
  EXPECT_EQ(server_.Headgate({"replay", "--config", folder_.File("")}).status, 2);
  std::ofstream(file_) << std::string((1 << 20) + 1, '#');
  EXPECT_THAT(Replay().err, HasSubstr("has 1048577 bytes; at most 1048576"));
}

}  // namespace
}  // namespace headgate::cli
