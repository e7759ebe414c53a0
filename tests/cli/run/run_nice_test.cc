// run --nice: the command and all that it starts run at idle priority, and everything else is as it
// was.

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/scheduling/kernel_file.h"
#include "client/scheduling/threads.h"
#include "common/file_descriptor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/test_server.h"
#include "tests/scheduling/autogroups.h"
#include "tests/testing/temp_folder.h"

namespace headgate::cli {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using scheduling::AutogroupsDecide;
using ::testing::HasSubstr;

constexpr char kSays[] = "headgate: the command runs at idle priority: SCHED_IDLE, idle I/O";

int NiceOfAutogroup(int pid) {
  const std::string text =
      scheduling::ReadSmallFile(absl::StrCat("/proc/", pid, "/autogroup")).value_or(" none");
  int nice = 99;
  EXPECT_TRUE(absl::SimpleAtoi(text.substr(text.rfind(' ') + 1), &nice)) << text;
  return nice;
}

class RunNice : public ::testing::Test {
 protected:
  // A command in a session of its own outlives a test that has failed: it ends here.
  void TearDown() override {
    const FileDescriptor fifo(open(folder_.File("fifo").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (fifo.ok()) (void)!write(fifo.number(), "\n", 1);
  }
  // A command that tells its number and that of a child, and ends with 7 at a line in its fifo.
  std::vector<std::string> Waiting(std::vector<std::string> options) {
    mkfifo(folder_.File("fifo").c_str(), 0600);
    std::vector<std::string> words = {"run", "--identity", "job:etl"};
    words.insert(words.end(), options.begin(), options.end());
    for (const char* word : {"--", "sh", "-c",
                             "sleep 600 & echo \"child $! \"; echo \"number $$ \"; echo ready; "
                             "read line <\"$0\"; kill $!; exit 7"}) {
      words.push_back(word);
    }
    words.push_back(folder_.File("fifo"));
    return words;
  }
  void LetEnd() { std::ofstream(folder_.File("fifo")) << "\n"; }

  // The number that the command told after this word.
  static int Told(Subprocess& run, const std::string& word) {
    const std::string out = run.Out();
    const size_t at = out.find(word + " ");
    int pid = -1;
    if (at == out.npos) return pid;
    const size_t begin = at + word.size() + 1;
    (void)absl::SimpleAtoi(out.substr(begin, out.find(' ', begin) - begin), &pid);
    return pid;
  }
  static void RunsIdly(int pid) {
    EXPECT_EQ(sched_getscheduler(pid), SCHED_IDLE);
    EXPECT_TRUE(scheduling::IsIdleIo(scheduling::IoPriorityOf(pid)));
    if (AutogroupsDecide()) {
      EXPECT_EQ(NiceOfAutogroup(pid), 19);
    }
  }

  TempFolder folder_;
  TestServer server_{OneBudget(RateBudget("seconds", 1, 100))};
};

TEST_F(RunNice, TheCommandAndItsChildrenYieldAndHeadgateDoesNot) {
  Subprocess run(HeadgateCommand(Waiting({"--nice"})), server_.Options());
  ASSERT_TRUE(run.AwaitErr(kSays)) << run.Err();
  ASSERT_TRUE(run.AwaitOut("ready"));
  RunsIdly(Told(run, "number"));
  RunsIdly(Told(run, "child"));
  // As this process, which began it.
  EXPECT_EQ(sched_getscheduler(run.pid()), sched_getscheduler(0));
  LetEnd();
  const Finished finished = run.Wait();
  EXPECT_EQ(finished.status, 7);
  EXPECT_EQ(absl::StrCat(finished.err).find('\n'), finished.err.size() - 1) << finished.err;
}

TEST_F(RunNice, WithoutItNothingIsLowered) {
  for (const char* unset : {"", "false", "0", "No"}) {
    SubprocessOptions options = server_.Options();
    if (*unset != '\0') options.environment["HEADGATE_RUN_NICE"] = unset;
    Subprocess run(HeadgateCommand(Waiting({})), options);
    ASSERT_TRUE(run.AwaitOut("ready"));
    EXPECT_EQ(sched_getscheduler(Told(run, "number")), sched_getscheduler(0));
    LetEnd();
    EXPECT_EQ(run.Wait().err, "");
  }
}

TEST_F(RunNice, TheEnvironmentAsksForItToo) {
  SubprocessOptions options = server_.Options();
  options.environment["HEADGATE_RUN_NICE"] = "true";
  Subprocess run(HeadgateCommand(Waiting({})), options);
  ASSERT_TRUE(run.AwaitErr(kSays)) << run.Err();
  ASSERT_TRUE(run.AwaitOut("ready"));
  RunsIdly(Told(run, "number"));
  LetEnd();
  EXPECT_EQ(run.Wait().status, 7);
  options.environment["HEADGATE_RUN_NICE"] = "very";
  const Finished refused = RunHeadgate(Waiting({}), options);
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(
      refused.err,
      "headgate: HEADGATE_RUN_NICE: 'very' is neither true nor false; see headgate run --help\n");
  // It is nobody else's.
  EXPECT_EQ(RunHeadgate({"check", "job:etl"}, options).status, 0);
}

TEST_F(RunNice, WhatCannotBeRunIsAllThatIsSaid) {
  const Finished run =
      server_.Headgate({"run", "--identity", "job:etl", "--nice", "--", "no-such-program"});
  EXPECT_EQ(run.status, 127);
  EXPECT_EQ(run.err, "headgate: cannot run 'no-such-program': No such file or directory\n");
}

TEST_F(RunNice, WhatCannotBeLoweredRunsAndSaysWhyNot) {
  if (Subprocess({"chrt", "-f", "1", "true"}).Wait().status != 0) {
    GTEST_SKIP() << "SCHED_FIFO takes CAP_SYS_NICE, a share of real time, and chrt";
  }
  std::vector<std::string> words = {"chrt", "-f", "1"};
  for (const std::string& word :
       HeadgateCommand({"run", "--identity", "job:etl", "--nice", "--", "sh", "-c", "exit 7"})) {
    words.push_back(word);
  }
  const Finished run = Subprocess(words, server_.Options()).Wait();
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.err,
            "headgate: the command runs at no lower priority: it has a real-time policy, which is "
            "left as it is\n");
}

// Where headgate did not begin its session, as in a script of several steps. Where autogroups
// decide nothing, sessions are left as they are.
class RunNiceInAScript : public RunNice {
 protected:
  std::vector<std::string> Script() {
    std::vector<std::string> words = {"sh", "-c", "\"$0\" \"$@\"; exit $?"};
    for (const std::string& word : HeadgateCommand(Waiting({"--nice"}))) words.push_back(word);
    return words;
  }
  static void IsAsItWas(int script) {
    EXPECT_EQ(sched_getscheduler(script), sched_getscheduler(0));
    if (AutogroupsDecide()) {
      EXPECT_EQ(NiceOfAutogroup(script), 0);
    }
  }
};

TEST_F(RunNiceInAScript, TheCommandHasASessionOfItsOwnAndTheScriptIsAsItWas) {
  Subprocess script(Script(), server_.Options());
  const std::string says = absl::StrCat(kSays, AutogroupsDecide() ? ", autogroup nice 19\n" : "");
  ASSERT_TRUE(script.AwaitErr(says)) << script.Err();
  ASSERT_TRUE(script.AwaitOut("ready"));
  const int command = Told(script, "number");
  RunsIdly(command);
  RunsIdly(Told(script, "child"));
  EXPECT_EQ(getsid(command), AutogroupsDecide() ? command : script.pid());
  IsAsItWas(script.pid());
  LetEnd();
  EXPECT_EQ(script.Wait().status, 7);
}

// A session of its own would lose the terminal, and with it Ctrl-C and passwords.
TEST_F(RunNiceInAScript, AtATerminalTheSessionIsLeftAndThatIsSaid) {
  SubprocessOptions options = server_.Options();
  options.terminal = true;
  Subprocess script(Script(), options);
  ASSERT_TRUE(script.AwaitOut(AutogroupsDecide() ? "it counts within this session alone" : kSays))
      << script.Out();
  ASSERT_TRUE(script.AwaitOut("ready"));
  const int command = Told(script, "number");
  EXPECT_EQ(sched_getscheduler(command), SCHED_IDLE);
  EXPECT_EQ(getsid(command), script.pid());
  IsAsItWas(script.pid());
  LetEnd();
  EXPECT_EQ(script.Wait().status, 7);
}

TEST_F(RunNice, SignalsReachTheCommandOnce) {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2}) {
    // The shell around it makes headgate the leader of no session; it says its number.
    Subprocess script({"sh", "-c",
                       "\"$0\" --timeout 60s run --identity job:etl --nice -- sh -c 'trap \"echo "
                       "caught; exit 9\" \"$1\"; echo \"headgate $PPID \"; echo ready; while :; do "
                       "sleep 0.02; done' \"$0\" \"$1\"; exit $?",
                       HEADGATE_PROGRAM, std::to_string(signal)},
                      server_.Options());
    ASSERT_TRUE(script.AwaitOut("ready")) << script.Err();
    kill(Told(script, "headgate"), signal);
    const Finished finished = script.Wait();
    EXPECT_EQ(finished.status, 9) << signal;
    EXPECT_TRUE(absl::EndsWith(finished.out, "ready\ncaught\n")) << finished.out;
  }
}

}  // namespace
}  // namespace headgate::cli
