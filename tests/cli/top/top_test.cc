// top: a live view on a terminal, one snapshot elsewhere.

#include <sys/ioctl.h>
#include <termios.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>

#include "client/cli/top/top_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/json.h"
#include "tests/cli/test_server.h"
#include "tests/testing/silent_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::cli {
namespace {

using engine::RateBudget;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l";
constexpr char kLeave[] = "\x1b[?25h\x1b[?1049l";
constexpr char kHome[] = "\x1b[H";
constexpr char kFrameEnd[] = "\x1b[J";

engine::PolicySpec TwoBudgets() {
  engine::BudgetSpec split = RateBudget("by-job", 10, 100);
  split.split = engine::SplitByDepth{2};
  return engine::Budgets({RateBudget("rows", 10, 200), std::move(split)});
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Bar, ShowsAnythingOwedAndIsFullOnlyWhenItIs) {
  EXPECT_EQ(Bar(0), "....................   0%");
  EXPECT_EQ(Bar(0.001), "#...................  <1%");
  EXPECT_EQ(Bar(0.5), "##########..........  50%");
  EXPECT_EQ(Bar(0.999), "###################. >99%");
  EXPECT_EQ(Bar(1), "#################### 100%");
  EXPECT_EQ(Bar(2.5), "#################### 250%");
}

class TopCommand : public ::testing::Test {
 protected:
  TopCommand() {
    server_.Headgate({"check", "job-7:etl", "--cost", "50"});
    // A refusal, so that the bucket's name is known.
    server_.Headgate({"check", "job-7:etl", "--cost", "60"});
  }

  SubprocessOptions OnTerminal() {
    SubprocessOptions options = server_.Options();
    options.terminal = true;
    return options;
  }

  TestServer server_{TwoBudgets()};
};

TEST_F(TopCommand, PrintsOneSnapshotWhereThereIsNoTerminal) {
  const Finished top = server_.Headgate({"top"});
  EXPECT_EQ(top.status, 0);
  EXPECT_THAT(top.out, AllOf(StartsWith("headgated 1.2.3 at "),
                             HasSubstr("##########..........  50%    50    100"),
                             HasSubstr("#####...............  25%    50    200"),
                             HasSubstr("job-7:etl        by-job"), Not(HasSubstr("\x1b"))));
}

TEST_F(TopCommand, PrintsOneSnapshotOnATerminalIfTold) {
  Subprocess top(HeadgateCommand({"top", "--once"}), OnTerminal());
  const Finished finished = top.Wait();
  EXPECT_EQ(finished.status, 0);
  EXPECT_THAT(finished.out, AllOf(HasSubstr("rows"), Not(HasSubstr(kEnter))));
}

TEST_F(TopCommand, SpeaksJsonAndCsv) {
  auto fields = ParseJson(server_.Headgate({"top", "-o", "json"}).out);
  const auto& budgets = At(fields["budgets"], "budgets").list_value();
  EXPECT_EQ(At(budgets.values(0), "budget").string_value(), "rows");
  EXPECT_EQ(At(At(fields["buckets"], "buckets").list_value().values(0), "debt").number_value(), 50);
  EXPECT_THAT(
      server_.Headgate({"top", "-o", "csv"}).out,
      AllOf(StartsWith("kind,target,budget,bucket,"),
            HasSubstr("\r\nbudget,,rows,,ENFORCE,50,200,10,1,,,,COST,0,,,,,,,,,,,,,,\r\n"),
            HasSubstr("\r\nbucket,,by-job,job-7:etl,,50,,,,,0.5,5,COST,,,,,,,,,,,,,,,\r\n")));
}

TEST_F(TopCommand, RefreshesUntilAKeyEndsItAndGivesTheTerminalBack) {
  Subprocess top(HeadgateCommand({"top", "--interval", "10ms"}), OnTerminal());
  termios before = {};
  ASSERT_TRUE(WaitUntil([&] { return Count(top.Out(), kHome) >= 3; }));
  EXPECT_EQ(tcgetattr(top.terminal(), &before), 0);
  EXPECT_EQ(before.c_lflag & (ICANON | ECHO), 0u);
  top.Type("q");
  const Finished finished = top.Wait();
  EXPECT_EQ(finished.status, 0);
  EXPECT_THAT(finished.out, AllOf(StartsWith(kEnter), EndsWith(kLeave)));
  termios after = {};
  EXPECT_EQ(tcgetattr(top.terminal(), &after), 0);
  EXPECT_EQ(after.c_lflag & (ICANON | ECHO), static_cast<tcflag_t>(ICANON | ECHO));
}

TEST_F(TopCommand, KeysAskForHelpSortAndScroll) {
  Subprocess top(HeadgateCommand({"top", "--interval", "1h"}), OnTerminal());
  const auto shows = [&](const char* text) {
    return WaitUntil([&] {
      const std::string shown = top.Out();
      return shown.find(text, shown.rfind(kHome)) != std::string::npos;
    });
  };
  ASSERT_TRUE(shows("by most denied"));
  top.Type("?");
  EXPECT_TRUE(shows("any key goes back"));
  top.Type("x");
  EXPECT_TRUE(shows("by most denied"));
  top.Type("w");
  EXPECT_TRUE(shows("by longest waiting"));
  winsize size = {};
  size.ws_row = 4;
  size.ws_col = 80;
  ASSERT_EQ(ioctl(top.terminal(), TIOCSWINSZ, &size), 0);
  EXPECT_TRUE(shows("lines 1-2 of "));
  top.Type("j\x1b[B");
  EXPECT_TRUE(shows("lines 3-4 of "));
  top.Type("q");
  EXPECT_EQ(top.Wait().status, 0);
}

TEST_F(TopCommand, InterruptGivesTheTerminalBack) {
  Subprocess top(HeadgateCommand({"top"}), OnTerminal());
  ASSERT_TRUE(WaitUntil([&] { return Count(top.Out(), kHome) >= 1; }));
  top.Type("\x03");
  const Finished finished = top.Wait();
  EXPECT_EQ(finished.status, 0);
  EXPECT_THAT(finished.out, EndsWith(kLeave));
}

TEST_F(TopCommand, TerminationGivesTheTerminalBackToo) {
  Subprocess top(HeadgateCommand({"top"}), OnTerminal());
  ASSERT_TRUE(WaitUntil([&] { return Count(top.Out(), kHome) >= 1; }));
  top.Signal(SIGTERM);
  const Finished finished = top.Wait();
  EXPECT_EQ(finished.status, 128 + SIGTERM);
  EXPECT_THAT(finished.out, EndsWith(kLeave));
}

TEST(TopOfASilentServer, EndsAtOnceWhenItIsTold) {
  SilentServer server;
  Subprocess top({HEADGATE_PROGRAM, "top", "--address", server.address(), "--timeout", "1h"});
  ASSERT_TRUE(WaitUntil([&] { return server.connected(); }));
  top.Signal(SIGINT);
  EXPECT_EQ(top.Wait().status, 128 + SIGINT);
}

TEST_F(TopCommand, FollowsTheSizeOfTheWindow) {
  Subprocess top(HeadgateCommand({"top", "--interval", "1h"}), OnTerminal());
  ASSERT_TRUE(WaitUntil([&] { return Count(top.Out(), kFrameEnd) == 1; }));
  winsize size = {};
  size.ws_row = 3;
  size.ws_col = 12;
  const size_t drawn = top.Out().size();
  ASSERT_EQ(ioctl(top.terminal(), TIOCSWINSZ, &size), 0);
  ASSERT_TRUE(WaitUntil([&] { return Count(top.Out(), kFrameEnd) == 2; }));
  top.Type("q");
  const std::string second = top.Wait().out.substr(drawn);
  EXPECT_EQ(Count(second, "\r\n"), 2);  // between three rows
  EXPECT_THAT(second, AllOf(HasSubstr("headgated 1."), Not(HasSubstr("headgated 1.2"))));
}

TEST_F(TopCommand, StopsAndComesBack) {
  Subprocess top(HeadgateCommand({"top", "--interval", "1h"}), OnTerminal());
  ASSERT_TRUE(WaitUntil([&] { return Count(top.Out(), kHome) == 1; }));
  top.Type("\x1a");
  const auto stopped = [&] {
    std::ifstream file(absl::StrCat("/proc/", top.pid(), "/stat"));
    std::stringstream stat;
    stat << file.rdbuf();
    return stat.str().find(") T ") != std::string::npos;
  };
  ASSERT_TRUE(WaitUntil(stopped));
  EXPECT_THAT(top.Out(), EndsWith(kLeave));
  top.Signal(SIGCONT);
  ASSERT_TRUE(WaitUntil([&] { return Count(top.Out(), kHome) == 2; }));
  EXPECT_EQ(Count(top.Out(), kEnter), 2);
  top.Type("q");
  EXPECT_EQ(top.Wait().status, 0);
}

TEST_F(TopCommand, KeepsWhatItKnewWhileTheServerIsAway) {
  Subprocess top(HeadgateCommand({"top", "--interval", "10ms"}), OnTerminal());
  ASSERT_TRUE(WaitUntil([&] { return Count(top.Out(), kHome) >= 1; }));
  server_.Stop();
  ASSERT_TRUE(WaitUntil([&] {
    const std::string shown = top.Out();
    const size_t at = shown.find("what follows is old");
    return at != std::string::npos && shown.find("rows", at) != std::string::npos;
  }));
  top.Type("q");
  EXPECT_EQ(top.Wait().status, 0);
}

}  // namespace
}  // namespace headgate::cli
