// Orders and questions about an identity that nobody uses, mistyped as a rule.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/run_headgate.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/wait_until.h"

namespace headgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class UnusedIdentity : public ::testing::Test {
 protected:
  UnusedIdentity() { server_.Check("nightly-export:etl"); }

  std::vector<std::string> Words(std::vector<std::string> words) const {
    words.insert(words.end(), {"--address", server_.address()});
    return words;
  }
  Finished Headgate(std::vector<std::string> words) const {
    return RunHeadgate(Words(std::move(words)));
  }
  Finished Pause(const std::string& who, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"pause", who, "--for", "1h", "--reason", "r"};
    words.insert(words.end(), more.begin(), more.end());
    return Headgate(words);
  }
  // At a terminal, to the answer.
  Finished PauseAnswered(const std::string& answer) const {
    Subprocess pause(
        HeadgateCommand(Words({"pause", "nightly-exprt:etl", "--for", "1h", "--reason", "r"})),
        {.terminal = true});
    EXPECT_TRUE(WaitUntil([&] { return pause.Out().find("[y/N]") != std::string::npos; }));
    pause.Type(answer);
    return pause.Wait();
  }
  std::string InForce() const { return Headgate({"overrides"}).out; }

  RunningHeadgated server_;
};

TEST_F(UnusedIdentity, IsPausedForAScriptWithAWarningThatNamesTheNearest) {
  const Finished paused = Pause("nightly-exprt:etl");
  EXPECT_EQ(paused.status, 0);
  EXPECT_THAT(paused.out, HasSubstr("paused nightly-exprt:etl until"));
  EXPECT_EQ(paused.err,
            "headgate: warning: nobody has used nightly-exprt:etl in the last hour; did you mean "
            "nightly-export:etl?\n");
}

TEST_F(UnusedIdentity, NobodyIsWarnedOfOneThatIsUsedOrThatTheyAreSureOf) {
  EXPECT_THAT(Pause("nightly-export:etl").err, IsEmpty());
  EXPECT_THAT(Pause("etl").err, IsEmpty());
  EXPECT_THAT(Pause("nightly-exprt:etl", {"--yes"}).err, IsEmpty());
  EXPECT_THAT(Headgate({"pause", "--everything", "--for", "1h", "--reason", "r"}).err, IsEmpty());
}

TEST_F(UnusedIdentity, IsAskedAboutAtATerminalAndOnlyYesMeansYes) {
  for (const char* answer : {"\n", "n\n", "nightly\n"}) {
    const Finished asked = PauseAnswered(answer);
    EXPECT_EQ(asked.status, 2);
    EXPECT_THAT(asked.out,
                AllOf(HasSubstr("did you mean nightly-export:etl? pause nightly-exprt:etl all the "
                                "same? [y/N]"),
                      HasSubstr("nothing has changed")));
    EXPECT_EQ(InForce(), "no override is in force\n");
  }
  EXPECT_EQ(PauseAnswered("y\n").status, 0);
  EXPECT_THAT(InForce(), HasSubstr("nightly-exprt:etl"));
}

TEST_F(UnusedIdentity, OfASegmentTheNearestSegmentIsNamed) {
  EXPECT_THAT(Headgate({"throttle", "--segment", "nightly-exprot", "--ratio", "80%", "--for", "1h",
                        "--reason", "r"})
                  .err,
              HasSubstr("nobody has used segment nightly-exprot in the last hour; did you mean "
                        "nightly-export?"));
}

TEST_F(UnusedIdentity, IsToldToWhoeverExemptsExplainsOrReads) {
  constexpr char kMeant[] = "did you mean nightly-export:etl?";
  EXPECT_THAT(Headgate({"exempt", "nightly-exprt:etl", "--for", "1h", "--reason", "r"}).err,
              HasSubstr(kMeant));
  EXPECT_THAT(Headgate({"explain", "nightly-exprt:etl"}).err, HasSubstr(kMeant));
  EXPECT_THAT(Headgate({"explain", "nightly-export:etl"}).err, IsEmpty());
  EXPECT_THAT(Headgate({"explain", "unlike:any"}).err, IsEmpty());
  EXPECT_THAT(Headgate({"log", "nightly-exprt:etl"}).err, HasSubstr(kMeant));
  EXPECT_THAT(Headgate({"log", "--identity", "nightly-exprt:etl", "--top"}).err, HasSubstr(kMeant));
  EXPECT_THAT(Headgate({"log", "nightly-export:etl"}).err, IsEmpty());
  EXPECT_THAT(Headgate({"log", "--target", "nowhere"}).err,
              HasSubstr("--target: no target 'nowhere' is configured"));
}

TEST_F(UnusedIdentity, ResumeNamesTheNearestThatIsHeld) {
  Pause("nightly-export:etl");
  EXPECT_THAT(Headgate({"resume", "nightly-exprt:etl", "--reason", "r"}).err,
              HasSubstr("no override pauses or throttles nightly-exprt:etl; did you mean "
                        "nightly-export:etl?"));
}

}  // namespace
}  // namespace headgate::cli
