// run: commands under permits, their exit statuses and their signals.

#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/test_server.h"
#include "tests/client/scripted_server.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate::cli {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> RunWords(std::vector<std::string> options,
                                  std::vector<std::string> command) {
  std::vector<std::string> words = {"run", "--identity", "job:etl"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

class RunCommand : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) { return folder_.File(name); }
  // What a command waits at until the test writes to it.
  std::string Fifo() {
    mkfifo(Path("fifo").c_str(), 0600);  // or it exists already
    return Path("fifo");
  }
  int StatusOf(const std::vector<std::string>& command) {
    return server_.Headgate(RunWords({}, command)).status;
  }

  TempFolder folder_;
  // Its clock stands still, so whoever waited there would wait for good: the client waits.
  TestServer server_{OneBudget(RateBudget("seconds", 1, 100)),
                     InProcessOptions{.lines = {.max_waiting = 0}}};
};

TEST_F(RunCommand, ExitStatusIsTheCommands) {
  EXPECT_EQ(StatusOf({"true"}), 0);
  EXPECT_EQ(StatusOf({"sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(StatusOf({"sh", "-c", "kill -KILL $$"}), 128 + SIGKILL);
  EXPECT_EQ(StatusOf({"sh", "-c", "kill -INT $$"}), 128 + SIGINT);
}

// As some supervisors start their programs.
TEST_F(RunCommand, ExitStatusIsTheCommandsWhereChildrenAreIgnored) {
  SubprocessOptions options = server_.Options();
  options.ignored = SIGCHLD;
  const Finished run = RunHeadgate(RunWords({}, {"sh", "-c", "exit 7"}), options);
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err, "");
}

TEST_F(RunCommand, WhatCannotBeRunEndsAsInAShell) {
  const Finished missing = server_.Headgate(RunWords({}, {"no-such-program"}));
  EXPECT_EQ(missing.status, 127);
  EXPECT_EQ(missing.err, "headgate: cannot run 'no-such-program': No such file or directory\n");
  const Finished folder = server_.Headgate(RunWords({}, {"/"}));
  EXPECT_EQ(folder.status, 126);
  // What did not run cost nothing.
  EXPECT_EQ(server_.Debt("job:etl"), 0);
  EXPECT_EQ(server_.permits(), 0u);
}

TEST_F(RunCommand, StreamsAreTheCommands) {
  const Finished run = Subprocess({"sh", "-c",
                                   "echo in | \"$0\" run --identity job:etl -- "
                                   "sh -c 'cat; echo err >&2'",
                                   HEADGATE_PROGRAM},
                                  server_.Options())
                           .Wait();
  EXPECT_EQ(run.out, "in\n");
  EXPECT_EQ(run.err, "err\n");
}

// The server's clock stands still: what it is charged is what the command measured.
TEST_F(RunCommand, ReportsTheTimeThatItTook) {
  engine::BudgetSpec busy = RateBudget("busy", 1, 100);
  busy.unit = engine::BudgetUnit::kBusyTime;
  busy.default_cost = 90;
  TestServer server(OneBudget(busy));
  EXPECT_EQ(server.Headgate(RunWords({}, {"sleep", "0.01"})).status, 0);
  EXPECT_GE(server.Debt("job:etl"), 0.01);
  EXPECT_LT(server.Debt("job:etl"), 60);
  EXPECT_EQ(server.permits(), 0u);
}

TEST_F(RunCommand, LeavesTheCostAsPredictedUnlessTold) {
  EXPECT_EQ(server_.Headgate(RunWords({"--cost", "90"}, {"true"})).status, 0);
  EXPECT_EQ(server_.Debt("job:etl"), 90);
  EXPECT_EQ(server_.permits(), 0u);
}

TEST_F(RunCommand, CostsNothingWhereTheCommandDidNotRun) {
  EXPECT_EQ(server_.Headgate(RunWords({"--cost", "90"}, {"no-such-program"})).status, 127);
  EXPECT_EQ(server_.Debt("job:etl"), 0);
}

TEST_F(RunCommand, ReportsAnotherCostIfTold) {
  EXPECT_EQ(server_.Headgate(RunWords({"--cost", "90", "--report-cost", "25"}, {"false"})).status,
            1);
  EXPECT_EQ(server_.Debt("job:etl"), 25);
}

TEST_F(RunCommand, WithoutAPermitNothingRuns) {
  server_.Headgate({"check", "job:etl", "--cost", "100"});
  const Finished run = server_.Headgate(RunWords({"--cost", "5", "--wait", "0"}, {"echo", "ran"}));
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, StartsWith("headgate: no permit: Denied by budget 'seconds'"));
}

TEST_F(RunCommand, WaitsForItsTurnAndSaysSo) {
  server_.Headgate({"check", "job:etl", "--cost", "100"});
  Subprocess run(HeadgateCommand(RunWords({"--cost", "1"}, {"echo", "ran"})), server_.Options());
  ASSERT_TRUE(run.AwaitErr("headgate: "));
  EXPECT_THAT(run.Err(), StartsWith("headgate: waiting: Denied by budget 'seconds'"));
  EXPECT_EQ(run.Out(), "");
  server_.clock.Advance(absl::Seconds(50));
  EXPECT_EQ(run.Wait().status, 0);
  EXPECT_EQ(run.Out(), "ran\n");
}

TEST_F(RunCommand, LateReportOfAnExpiredPermitStillSettles) {
  Subprocess run(
      HeadgateCommand(RunWords({"--cost", "80", "--report-cost", "95"},
                               {"sh", "-c", "echo ready; read line <\"$0\"; exit 3", Fifo()})),
      server_.Options());
  ASSERT_TRUE(run.AwaitOut("ready"));
  server_.clock.Advance(absl::Seconds(70));  // a permit lives for one minute
  EXPECT_EQ(server_.permits(), 0u);
  std::ofstream(Fifo()) << "\n";
  const Finished finished = run.Wait();
  EXPECT_EQ(finished.status, 3);
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(server_.Debt("job:etl"), 80 - 70 + 15);
}

TEST_F(RunCommand, AReportThatIsLostIsSaidAndChangesNoStatus) {
  Subprocess run(
      HeadgateCommand(RunWords({"--timeout", "5s"},
                               {"sh", "-c", "echo ready; read line <\"$0\"; exit 5", Fifo()})),
      server_.Options());
  ASSERT_TRUE(run.AwaitOut("ready"));
  server_.Stop();
  std::ofstream(Fifo()) << "\n";
  const Finished finished = run.Wait();
  EXPECT_EQ(finished.status, 5);
  EXPECT_THAT(finished.err, HasSubstr("could not be reported"));
}

TEST(RunReports, ThatAreLostWithTheirCallAreNotTakenForUnknownPermits) {
  ScriptedServer server;
  server.FailReports({grpc::StatusCode::PERMISSION_DENIED, "caller 'job' may not"});
  const Finished run = RunHeadgate(RunWords({"--address", server.address()}, {"true"}));
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(
      run.err,
      "headgate: what it cost could not be reported: PERMISSION_DENIED: caller 'job' may not\n");
}

TEST(RunReports, OfPermitsThatTheServerDoesNotKnowSaySo) {
  ScriptedServer server;
  v1::ReportResult unknown;
  unknown.mutable_error()->set_code(grpc::StatusCode::NOT_FOUND);
  server.SetReportResult(unknown);
  const Finished run = RunHeadgate(RunWords({"--address", server.address()}, {"true"}));
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err,
            "headgate: the server does not know the permit any more; its cost was not reported\n");
}

class RunSignals : public RunCommand, public ::testing::WithParamInterface<int> {};

TEST_P(RunSignals, ArePassedOn) {
  const std::string name = std::to_string(GetParam());
  Subprocess run(HeadgateCommand(RunWords({}, {"sh", "-c",
                                               "trap 'echo caught; exit 9' " + name +
                                                   "; echo ready; while :; do sleep 0.02; done"})),
                 server_.Options());
  ASSERT_TRUE(run.AwaitOut("ready"));
  run.Signal(GetParam());
  const Finished finished = run.Wait();
  EXPECT_EQ(finished.status, 9);
  EXPECT_EQ(finished.out, "ready\ncaught\n");
  EXPECT_EQ(server_.permits(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Each, RunSignals,
                         ::testing::Values(SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2));

TEST_F(RunCommand, EndsAsItsCommandThatASignalEnded) {
  Subprocess run(HeadgateCommand(RunWords({}, {"sh", "-c", "echo ready; exec sleep 1000"})),
                 server_.Options());
  ASSERT_TRUE(run.AwaitOut("ready"));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait().status, 128 + SIGTERM);
}

TEST_F(RunCommand, WaitsWhileItIsPausedForGood) {
  TestServer server(
      OneBudget(RateBudget("seconds", 1, 100)),
      InProcessOptions{.overrides = InProcessOptions::kKept, .lines = {.max_waiting = 0}});
  ASSERT_EQ(server.Headgate({"pause", "etl", "--for", "never", "--reason", "stuck shard"}).status,
            0);
  // Again where no answer came in that time.
  Finished run;
  EXPECT_TRUE(WaitUntil([&] {
    run = server.Headgate(RunWords({"--wait", "3s"}, {"true"}));
    return run.status == 1;
  })) << run.status
      << run.err;
  EXPECT_THAT(run.err, StartsWith("headgate: waiting: Denied by rule 'override 1: paused by "));
  EXPECT_THAT(run.err, HasSubstr("which lasts until somebody ends it"));
}

TEST_F(RunCommand, ASignalEndsTheWaitForAPermit) {
  server_.Headgate({"check", "job:etl", "--cost", "100"});
  Subprocess run(HeadgateCommand(RunWords({}, {"echo", "ran"})), server_.Options());
  ASSERT_TRUE(run.AwaitErr("headgate: waiting: "));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait().status, 128 + SIGTERM);
  EXPECT_EQ(run.Out(), "");
}

TEST_F(RunCommand, InterruptFromTheTerminalReachesTheCommandOnce) {
  SubprocessOptions options = server_.Options();
  options.terminal = true;
  Subprocess run(
      HeadgateCommand(RunWords({}, {"sh", "-c",
                                    "n=0; trap 'n=$((n+1)); echo interrupted' INT; echo ready; "
                                    "while [ ! -e \"$0\" ]; do sleep 0.02; done; echo times $n",
                                    Path("go")})),
      options);
  ASSERT_TRUE(run.AwaitOut("ready"));
  run.Type("\x03");
  ASSERT_TRUE(run.AwaitOut("interrupted"));
  std::ofstream(Path("go")) << "\n";
  const Finished finished = run.Wait();
  EXPECT_EQ(finished.status, 0);
  EXPECT_THAT(finished.out, HasSubstr("times 1\r\n"));
}

TEST_F(RunCommand, CommandInheritsNothingOfOurs) {
  // Its signals and open files are the ones that headgate was started with; 32 and 33 are the C
  // library's own.
  const std::vector<std::string> look = {
      "sh", "-c",
      "grep -E '^Sig(Blk|Ign)' /proc/self/status | sed 's/0180000000$/0000000000/'; "
      "ls /proc/self/fd | wc -l"};
  const Finished direct = Subprocess(look).Wait();
  EXPECT_EQ(server_.Headgate(RunWords({}, look)).out, direct.out);
}

TEST_F(RunCommand, IgnoredSignalsStayIgnored) {
  const Finished run = Subprocess({"sh", "-c",
                                   "trap '' HUP; exec \"$0\" run --identity job:etl -- sh -c "
                                   "'kill -HUP $PPID; kill -HUP $$; echo alive'",
                                   HEADGATE_PROGRAM},
                                  server_.Options())
                           .Wait();
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, "alive\n");
}

TEST(RunUnreachable, FailIsThree) {
  const Finished run =
      RunHeadgate(RunWords({"--address", "127.0.0.1:1", "--timeout", "1s"}, {"echo", "ran"}));
  EXPECT_EQ(run.status, 3);
  EXPECT_EQ(run.out, "");
  // The last try may end with the time that there is.
  EXPECT_THAT(run.err, AnyOf(StartsWith("headgate: cannot reach 127.0.0.1:1: "),
                             StartsWith("headgate: no answer from 127.0.0.1:1 within 1s")));
}

TEST(RunUnreachable, ProceedRunsAndSaysSo) {
  const Finished run = RunHeadgate(
      RunWords({"--address", "127.0.0.1:1", "--timeout", "100ms", "--on-unreachable", "proceed"},
               {"sh", "-c", "echo ran; exit 4"}));
  EXPECT_EQ(run.status, 4);
  EXPECT_EQ(run.out, "ran\n");
  EXPECT_THAT(run.err, StartsWith("headgate: going on without a permit"));
}

TEST(RunUnreachable, WaitGoesOnOnceThereIsAServer) {
  engine::PolicySpec policy = OneBudget(RateBudget("seconds", 1, 100));
  int port = 0;
  {
    TestServer gone(policy);
    port = gone.port();
  }
  Subprocess run(HeadgateCommand(RunWords({"--address", absl::StrCat("127.0.0.1:", port),
                                           "--timeout", "1s", "--on-unreachable", "wait"},
                                          {"echo", "ran"})));
  ASSERT_TRUE(run.AwaitErr("headgate: "));
  EXPECT_THAT(run.Err(), AnyOf(StartsWith("headgate: waiting: cannot reach 127.0.0.1:"),
                               StartsWith("headgate: waiting: no answer from 127.0.0.1:")));
  InProcessOptions options;
  options.rpc.address = absl::StrCat("127.0.0.1:", port);
  TestServer server(policy, options);
  EXPECT_EQ(run.Wait().status, 0);
  EXPECT_EQ(run.Out(), "ran\n");
}

TEST(RunUnreachable, WaitThatIsOverIsThree) {
  const Finished run = RunHeadgate(RunWords({"--address", "127.0.0.1:1", "--timeout", "50ms",
                                             "--on-unreachable", "wait", "--wait", "100ms"},
                                            {"echo", "ran"}));
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(run.err, HasSubstr("got no permit within 100ms"));
}

}  // namespace
}  // namespace headgate::cli
