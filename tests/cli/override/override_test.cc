// pause, throttle, exempt, resume and overrides, against a real server.

#include <pwd.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/json.h"
#include "tests/cli/override/operator_commands.h"

namespace headgate::cli {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

engine::PolicySpec Policy() {
  engine::PolicySpec policy = OneBudget(RateBudget("rows", 10, 100));
  policy.targets.resize(1);
  policy.targets[0].name = "main";
  return policy;
}

class OverrideCommands : public OperatorCommands {
 protected:
  OverrideCommands() : OperatorCommands(Policy(), "alice") {}

  // What is said of an order, and of its end.
  static std::string Made(int id, const std::string& what) {
    return absl::StrCat("override ", id, ": ", what, "\nto end it: headgate overrides delete ", id,
                        " --reason 'what has changed'\n");
  }
  void Pause(const std::string& identity) {
    Out({"pause", identity, "--for", "1h", "--reason", "freeze"});
  }
};

TEST_F(OverrideCommands, PauseSaysWhatItDidInOneLineAndIsInForce) {
  EXPECT_EQ(Out({"pause", "etl", "--for", "2h", "--reason", "stuck shard"}),
            Made(1, "paused etl until 2026-01-01 02:00:00 UTC"));
  const Finished check = Run({"check", "job:etl"});
  EXPECT_EQ(check.status, 1);
  EXPECT_THAT(check.out, HasSubstr("override 1: paused by alice (stuck shard)"));
}

TEST_F(OverrideCommands, EachCommandSaysWhatItDid) {
  EXPECT_EQ(Out({"throttle", "etl", "--ratio", "0.8", "--for", "3d", "--reason", "r"}),
            Made(1, "throttled by 80 % etl until 2026-01-04 00:00:00 UTC"));
  EXPECT_EQ(
      Out({"exempt", "--segment", "vip", "--target", "main", "--for", "never", "--reason", "r"}),
      Made(2, "exempted segment vip on main until it is deleted"));
  EXPECT_EQ(Out({"resume", "job:etl", "--until", "2026-01-01T06:00:00.5Z", "--reason", "r"}),
            Made(3, "resumed job:etl until 2026-01-01 06:00:00 UTC"));
}

// One in a million gets through: whoever made it so wants to see that.
TEST_F(OverrideCommands, AThrottleOfNearlyAllIsNotSaidToBeOfAll) {
  EXPECT_EQ(Out({"throttle", "etl", "--ratio", "0.999999", "--for", "3d", "--reason", "r"}),
            Made(1, "throttled by 99.9999 % etl until 2026-01-04 00:00:00 UTC"));
  EXPECT_THAT(Out({"overrides"}), HasSubstr("THROTTLE 99.9999 %"));
  EXPECT_THAT(Out({"explain", "job:etl"}),
              AllOf(HasSubstr("99.9999 % of such Checks are rejected by chance"),
                    HasSubstr("rejected by chance: 99.9999 % of Checks"),
                    HasSubstr("override 1: throttled by 99.9999 %, by alice (r)"),
                    HasSubstr("rejects 99.9999 % by chance"), Not(HasSubstr("100 %"))));
}

TEST_F(OverrideCommands, WhatIsMissingComesWithAnExample) {
  EXPECT_THAT(
      Refusal({"pause", "etl", "--reason", "r"}),
      AllOf(StartsWith("headgate: pause: needs --for DURATION, --until TIME or --for never"),
            HasSubstr("pause etl --reason r --for 2h; see")));
  EXPECT_THAT(Refusal({"pause", "etl", "--for", "2h"}), HasSubstr("needs --reason"));
  EXPECT_THAT(Refusal({"resume", "etl"}), HasSubstr("needs --reason"));
  EXPECT_THAT(Refusal({"exempt", "--for", "2h", "--reason", "r"}),
              HasSubstr("takes an identity, or --segment SEGMENT"));
  EXPECT_THAT(Refusal({"pause", "etl", "--segment", "x", "--for", "2h", "--reason", "r"}),
              HasSubstr("takes only one of an identity, --segment SEGMENT, or --everything"));
  EXPECT_THAT(Refusal({"throttle", "etl", "--for", "2h", "--reason", "r"}),
              AllOf(HasSubstr("needs --ratio"),
                    HasSubstr("throttle etl --for 2h --reason r --ratio 80%; see")));
  EXPECT_THAT(Refusal({"overrides", "delete", "7"}),
              HasSubstr("overrides delete 7 --reason 'shard is back'; see"));
}

TEST_F(OverrideCommands, WhatIsWrongIsSaid) {
  const auto throttle = [&](const char* ratio) {
    return Refusal({"throttle", "etl", "--ratio", ratio, "--for", "2h", "--reason", "r"});
  };
  EXPECT_THAT(throttle("80"), HasSubstr("above 0 and at most 1, such as 0.8 or 80%"));
  EXPECT_THAT(throttle("0"), HasSubstr("--ratio: '0' is not"));
  EXPECT_THAT(Refusal({"pause", "etl", "--for", "soon", "--reason", "r"}), HasSubstr("--for: "));
  EXPECT_THAT(Refusal({"pause", "etl", "--until", "26:00", "--reason", "r"}),
              HasSubstr("--until: '26:00' is not a time such as 18:00"));
  EXPECT_THAT(Refusal({"pause", "etl", "--for", "8784h0.000000001s", "--reason", "r"}),
              HasSubstr("must be 1 s to 366 days; it is over 366 days"));
  EXPECT_THAT(Refusal({"pause", "etl", "--for", "400d", "--reason", "r"}),
              HasSubstr("must be 1 s to 366 days; it is 400 days"));
  EXPECT_THAT(Refusal({"pause", "etl", "--for", "1h", "--reason", "\xff"}),
              HasSubstr("--reason: '\\xff' is not UTF-8"));
  EXPECT_THAT(Refusal({"pause", "etl", "--for", "1h", "--reason", "r", "--actor", "a\nb"}),
              AllOf(HasSubstr("actor: must be one line"), HasSubstr("--actor or HEADGATE_ACTOR")));
  EXPECT_THAT(Refusal({"overrides", "--since", "1h"}), HasSubstr("--since: goes with --events"));
  EXPECT_THAT(Refusal({"overrides", "--events", "--since", "2026-01-02", "--until", "2026-01-01"}),
              HasSubstr("--since: 2026-01-02 00:00:00 UTC is not before 2026-01-01 00:00:00 UTC"));
  EXPECT_THAT(
      Refusal({"pause", "etl", "--for", "1h", "--until", "2026-01-31T18:00:00Z", "--reason", "r"}),
      HasSubstr("--for"));
  EXPECT_THAT(Refusal({"pause", "a b", "--for", "1h", "--reason", "r"}),
              HasSubstr("identity has the byte ' ' at position 1"));
  EXPECT_THAT(Refusal({"pause", "etl", "--target", "nowhere", "--for", "1h", "--reason", "r"}),
              HasSubstr("--target: no target 'nowhere' is configured; there are: main"));
  EXPECT_THAT(Refusal({"overrides", "delete", "7", "--reason", "r"}),
              HasSubstr("override 7 is not in force"));
}

TEST_F(OverrideCommands, UntilIsTheNextSuchTimeInTheLocalZone) {
  EXPECT_THAT(Out({"pause", "etl", "--until", "2026-01-01 06:30", "--reason", "r"}),
              HasSubstr("until 2026-01-01 06:30:00 UTC"));
  // The program's clock is the machine's, and far ahead of this server's: too far, it says.
  EXPECT_THAT(Refusal({"pause", "etl", "--until", "2036-01-01 06:30", "--reason", "r"}),
              HasSubstr("--until: must be in the future, by 366 days at most"));
}

TEST_F(OverrideCommands, ActorIsTheUserOfTheProcessWhereTheEnvironmentNamesNone) {
  SubprocessOptions options = server_.Options();
  for (const char* name : {"HEADGATE_ACTOR", "USER", "LOGNAME"}) options.environment[name] = "";
  const Finished paused =
      RunHeadgate({"pause", "etl", "--for", "1h", "--reason", "r", "-o", "csv"}, options);
  EXPECT_EQ(paused.status, 0) << paused.err;
  const passwd* user = getpwuid(getuid());
  const std::string name = user == nullptr ? "uid " + std::to_string(getuid()) : user->pw_name;
  EXPECT_THAT(paused.out, HasSubstr("," + name + "@"));
}

TEST_F(OverrideCommands, EventsAreNarrowedByTargetAndTime) {
  Pause("everywhere");
  Out({"pause", "here", "--target", "main", "--for", "1h", "--reason", "r"});
  const auto shown = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"overrides", "--events", "-o", "csv"});
    const std::string out = Out(words);
    std::string found;
    for (const char* who : {"everywhere", "here"}) {
      if (out.find(std::string(",PAUSE,") + who + ",") != std::string::npos) found += who;
      found += '|';
    }
    return found;
  };
  EXPECT_EQ(shown({}), "everywhere|here|");
  EXPECT_EQ(shown({"--target", "main"}), "everywhere|here|");
  EXPECT_EQ(shown({"--target", "other"}), "everywhere||");
  EXPECT_EQ(shown({"--target", "other", "--limit", "1"}), "everywhere||");
  EXPECT_EQ(shown({"--since", "2026-01-01 00:00"}), "everywhere|here|");
  EXPECT_EQ(shown({"--since", "2026-01-01 00:01"}), "||");
  EXPECT_EQ(shown({"--until", "2026-01-01 00:00"}), "||");
  EXPECT_EQ(Out({"overrides", "--events", "--since", "2026-01-01 00:01"}), "no such event\n");
}

TEST_F(OverrideCommands, ResumeEndsWhatHoldsExactlyTheSelector) {
  Pause("etl");
  Out({"throttle", "etl", "--ratio", "1", "--for", "1h", "--reason", "slow"});
  Out({"exempt", "vip:etl", "--for", "1h", "--reason", "r"});
  Pause("other");
  EXPECT_EQ(Out({"resume", "etl", "--reason", "over"}),
            "ended override 2 on etl (throttled by 100 % by alice: slow)\n"
            "ended override 1 on etl (paused by alice: freeze)\n");
  EXPECT_TRUE(Admits("job:etl"));
  EXPECT_FALSE(Admits("other"));
}

TEST_F(OverrideCommands, ResumeOfPartOfWhatIsPausedSaysWhatHoldsItAndHowToExceptIt) {
  Pause("etl");
  EXPECT_EQ(Refusal({"resume", "job:etl", "--reason", "over"}),
            "headgate: no override is on exactly job:etl, but it is held by override 1 on etl "
            "(paused by alice: freeze); to make an exception, add --for DURATION\n");
  Out({"resume", "job:etl", "--for", "1h", "--reason", "this one is fine"});
  EXPECT_TRUE(Admits("job:etl"));
  EXPECT_FALSE(Admits("other:etl"));
}

TEST_F(OverrideCommands, ResumeOfWhatNothingHoldsSaysSo) {
  Pause("other");
  EXPECT_THAT(Refusal({"resume", "etl", "--reason", "over"}),
              StartsWith("headgate: no override pauses or throttles etl; `headgate explain`"));
}

TEST_F(OverrideCommands, ListShowsWhatIsInForceTheNewestFirst) {
  EXPECT_EQ(Out({"overrides"}), "no override is in force\n");
  Pause("etl");
  Out({"throttle", "--segment", "vcopier", "--ratio", "0.3", "--for", "never", "--actor", "bob",
       "--reason", "disk is slow"});
  EXPECT_EQ(Out({"overrides"}),
            "times are UTC\n"
            "ID  WHAT           WHOM             UNTIL                BY     REASON        MADE\n"
            " 2  THROTTLE 30 %  segment vcopier  never                bob    disk is slow  "
            "2026-01-01 00:00:00\n"
            " 1  PAUSE          etl              2026-01-01 01:00:00  alice  freeze        "
            "2026-01-01 00:00:00\n");
}

TEST_F(OverrideCommands, DeleteEndsOneAndEventsTellTheStory) {
  Pause("etl");
  EXPECT_EQ(Out({"overrides", "delete", "1", "--reason", "it is over"}),
            "ended override 1 on etl (paused by alice: freeze)\n");
  EXPECT_TRUE(Admits("etl"));
  EXPECT_EQ(Out({"overrides", "--events"}),
            "times are UTC\n"
            "WHEN                 EVENT    ID  WHAT   WHOM  BY     REASON\n"
            "2026-01-01 00:00:00  DELETED   1  PAUSE  etl   alice  it is over\n"
            "2026-01-01 00:00:00  CREATED   1  PAUSE  etl   alice  freeze\n");
  EXPECT_THAT(Out({"overrides", "--events", "--limit", "1"}), Not(HasSubstr("CREATED")));
}

TEST_F(OverrideCommands, JsonIsTheResponseOfTheApi) {
  auto made = ParseJson(
      Out({"throttle", "etl", "--ratio", "0.5", "--for", "1h", "--reason", "r", "-o", "json"}));
  EXPECT_EQ(At(made["override"], "id").string_value(), "1");
  EXPECT_EQ(At(made["override"], "kind").string_value(), "OVERRIDE_KIND_THROTTLE");
  EXPECT_EQ(At(made["override"], "ratio").number_value(), 0.5);
  auto listed = ParseJson(Out({"overrides", "-o", "json"}));
  EXPECT_EQ(listed["overrides"].list_value().values_size(), 1);
  auto events = ParseJson(Out({"overrides", "--events", "-o", "json"}));
  EXPECT_EQ(events["events"].list_value().values_size(), 1);
  auto ended = ParseJson(Out({"resume", "etl", "--reason", "r", "-o", "json"}));
  EXPECT_EQ(ended["overrides"].list_value().values_size(), 1);
}

TEST_F(OverrideCommands, CsvHasARowForEach) {
  const std::string columns =
      "id,kind,identity,segment,target,ratio,actor,reason,created_at,expires_at,"
      "everything";
  const std::string titles = columns + "\r\n";
  const std::string row =
      "1,THROTTLE,etl,,,0.5,alice,\"a, b\",2026-01-01T00:00:00+00:00,2026-01-01T01:00:00+00:00,"
      "false";
  const auto csv = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"-o", "csv"});
    return Out(std::move(words));
  };
  EXPECT_EQ(csv({"throttle", "etl", "--ratio", "0.5", "--for", "1h", "--reason", "a, b"}),
            titles + row + "\r\n");
  EXPECT_EQ(csv({"overrides"}), titles + row + "\r\n");
  EXPECT_EQ(csv({"overrides", "--events"}),
            "event,happened_at,what,by,why," + columns + ",change\r\n" +
                "1,2026-01-01T00:00:00+00:00,CREATED,alice,\"a, b\"," + row + ",\r\n");
}

TEST_F(OverrideCommands, AServerThatCannotDoItIsFourAndNotUnreachable) {
  server_.refusal = absl::InternalError("out of order");
  const Finished finished = Run({"pause", "etl", "--for", "1h", "--reason", "r"});
  EXPECT_EQ(finished.status, 4);
  EXPECT_EQ(finished.err, "headgate: nothing has changed: out of order\n");
}

TEST(OverrideCommandsWithoutAStateFolder, SayWhatToSet) {
  const TestServer server(Policy(), {.overrides = InProcessOptions::kWithoutStateFolder});
  const Finished finished =
      server.Headgate({"pause", "etl", "--for", "1h", "--reason", "r", "--actor", "a"});
  EXPECT_EQ(finished.status, 4);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("server.state_dir"), HasSubstr("--state-dir")));
}

TEST(OverrideCommandsUnreachable, AreThree) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"overrides"},
                                             {"pause", "etl", "--for", "1h", "--reason", "r"},
                                             {"resume", "etl", "--reason", "r"}}) {
    std::vector<std::string> command = words;
    command.insert(command.end(), {"--address", "127.0.0.1:1"});
    const Finished finished = RunHeadgate(command);
    EXPECT_EQ(finished.status, 3) << words[0];
    EXPECT_THAT(finished.err, StartsWith("headgate: cannot reach 127.0.0.1:1: ")) << words[0];
  }
}

}  // namespace
}  // namespace headgate::cli
