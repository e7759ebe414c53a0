#include "client/cli/arguments/arguments.h"

#include <cstdlib>

#include "client/cli/arguments/log_arguments.h"
#include "client/cli/output/console.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Arguments Parse(const std::vector<std::string>& words) {
  const Parsed parsed = ParseArguments(words);
  if (const auto* ended = std::get_if<Ended>(&parsed)) {
    ADD_FAILURE() << ended->text;
    return {};
  }
  return std::get<Arguments>(parsed);
}

template <typename Command>
Command ParseAs(const std::vector<std::string>& words) {
  const Arguments arguments = Parse(words);
  const auto* command = std::get_if<Command>(&arguments.command);
  EXPECT_NE(command, nullptr) << "another command";
  return command == nullptr ? Command{} : *command;
}

// What is said of wrong usage.
std::string Refusal(const std::vector<std::string>& words) {
  const Parsed parsed = ParseArguments(words);
  const auto* ended = std::get_if<Ended>(&parsed);
  if (ended == nullptr) return "taken";
  EXPECT_EQ(ended->status, ExitStatus::kUsage);
  return ended->text;
}

TEST(Arguments, GlobalOptionsStandBeforeOrAfterTheCommand) {
  for (const auto& words : {std::vector<std::string>{"-o", "json", "--target", "main", "status"},
                            std::vector<std::string>{"status", "--target", "main", "-o", "json"}}) {
    const Arguments arguments = Parse(words);
    EXPECT_EQ(arguments.globals.format, Format::kJson);
    EXPECT_EQ(arguments.globals.target, "main");
  }
}

TEST(Arguments, AnswersFromTheLogMayTakeLongerUnlessToldOtherwise) {
  EXPECT_EQ(Parse({"status"}).globals.timeout, absl::Seconds(2));
  EXPECT_EQ(Parse({"log"}).globals.timeout, absl::Seconds(30));
  EXPECT_EQ(Parse({"replay", "--config", "x"}).globals.timeout, absl::Minutes(5));
  EXPECT_EQ(Parse({"log", "--timeout", "3s"}).globals.timeout, absl::Seconds(3));
}

TEST(Arguments, TopAndDenialsMayStandWithoutANumber) {
  EXPECT_EQ(ParseAs<LogArguments>({"log", "--top", "etl"}).past.identity, "etl");
  EXPECT_EQ(ParseAs<LogArguments>({"log", "--top", "etl"}).past.limit, 10);
  EXPECT_EQ(ParseAs<LogArguments>({"log", "--top", "3", "etl"}).past.limit, 3);
  EXPECT_EQ(ParseAs<LogArguments>({"log", "etl", "--denials"}).past.limit, 20);
  EXPECT_EQ(ParseAs<LogArguments>({"log", "etl", "--denials=7"}).past.limit, 7);
}

TEST(Arguments, AddressComesFromTheEnvironmentUnlessItIsGiven) {
  ::setenv("HEADGATE_ADDRESS", "gate:9", 1);
  EXPECT_EQ(Parse({"status"}).globals.address, "gate:9");
  EXPECT_EQ(Parse({"status", "--address", "other:1"}).globals.address, "other:1");
  ::unsetenv("HEADGATE_ADDRESS");
  EXPECT_EQ(Parse({"status"}).globals.address, "127.0.0.1:8081");
}

TEST(Arguments, ASwitchOfTheEnvironmentIsTrueOrFalse) {
  for (const auto& [text, is_on] : {std::pair("true", true), std::pair("ON", true),
                                    std::pair("1", true), std::pair("no", false)}) {
    ::setenv("HEADGATE_TLS", text, 1);
    EXPECT_EQ(Parse({"status"}).globals.tls.has_value(), is_on) << text;
  }
  ::setenv("HEADGATE_TLS", "very", 1);
  EXPECT_THAT(Refusal({"status"}), HasSubstr("--tls: 'very' is neither true nor false"));
  ::unsetenv("HEADGATE_TLS");
}

TEST(Arguments, CheckTakesEverythingThatDescribesTheWork) {
  const auto check = ParseAs<CheckArguments>(
      {"check", "job-7:etl", "--cost", "2.5", "--tag", "tenant=a=b", "--tag", "zone=", "--pattern",
       "[x,y]", "--request-id", "r1", "--dry-run", "--wait", "1h30m"});
  EXPECT_EQ(check.work.identity, "job-7:etl");
  EXPECT_EQ(check.work.cost, 2.5);
  EXPECT_EQ(check.work.pattern, "[x,y]");
  EXPECT_THAT(check.work.tags, ElementsAre(Pair("tenant", "a=b"), Pair("zone", "")));
  EXPECT_EQ(check.request_id, "r1");
  EXPECT_EQ(check.dry_run, DryRun::kYes);
  EXPECT_EQ(check.wait, absl::Minutes(90));
}

TEST(Arguments, CheckWaitsInTheServerForAnHourAtMost) {
  EXPECT_EQ(ParseAs<CheckArguments>({"check", "job", "--max-wait", "1h"}).max_wait, absl::Hours(1));
  EXPECT_EQ(ParseAs<CheckArguments>({"check", "job"}).max_wait, std::nullopt);
  EXPECT_THAT(Refusal({"check", "job", "--max-wait", "1h1s"}), HasSubstr("more than 1h"));
  EXPECT_THAT(Refusal({"check", "job", "--max-wait", "forever"}), HasSubstr("--max-wait"));
  EXPECT_THAT(Refusal({"check", "job", "--max-wait", "1s", "--wait", "1s"}),
              HasSubstr("--max-wait"));
  EXPECT_THAT(Refusal({"check", "job", "--max-wait", "1s", "--dry-run"}), HasSubstr("--max-wait"));
}

TEST(Arguments, CheckLeavesOutWhatIsNotGiven) {
  const auto check = ParseAs<CheckArguments>({"check", "job"});
  EXPECT_EQ(check.work.cost, std::nullopt);
  EXPECT_EQ(check.wait, std::nullopt);
  EXPECT_EQ(check.dry_run, DryRun::kNo);
}

TEST(Arguments, IdentityMayBeNamedLikeACommandOrAnOption) {
  EXPECT_EQ(ParseAs<CheckArguments>({"check", "report"}).work.identity, "report");
  EXPECT_EQ(ParseAs<CheckArguments>({"check", "--", "-x:etl"}).work.identity, "-x:etl");
}

TEST(Arguments, ReportTakesAPermitAndBothMeasures) {
  const auto bare = ParseAs<ReportArguments>({"report", "18446744073709551615"});
  EXPECT_EQ(bare.permit, 18446744073709551615u);
  EXPECT_EQ(bare.actual_cost, std::nullopt);
  EXPECT_EQ(bare.busy_time, std::nullopt);
  const auto full =
      ParseAs<ReportArguments>({"report", "7", "--actual-cost", "0", "--busy-time", "1m30s"});
  EXPECT_EQ(full.actual_cost, 0);
  EXPECT_EQ(full.busy_time, absl::Seconds(90));
}

TEST(Arguments, CostsAndForgiveTakeWhomAndWhy) {
  const auto costs = ParseAs<CostsArguments>({"costs", "job-7:etl", "--pattern", "copy"});
  EXPECT_EQ(costs.identity, "job-7:etl");
  EXPECT_EQ(costs.pattern, "copy");
  const auto forget =
      ParseAs<ForgetCostsArguments>({"costs", "forget", "--pattern", "copy", "--reason", "units"});
  EXPECT_EQ(forget.pattern, "copy");
  EXPECT_EQ(forget.who.reason, "units");
  const auto forgive =
      ParseAs<ForgiveArguments>({"forgive", "job-7:etl", "--budget", "rows", "--tag-value", "acme",
                                 "--reason", "units", "--actor", "ann"});
  EXPECT_EQ(forgive.identity, "job-7:etl");
  EXPECT_EQ(forgive.budget, "rows");
  EXPECT_EQ(forgive.tag_value, "acme");
  EXPECT_EQ(forgive.who.actor, "ann");
}

TEST(Arguments, CostsAndForgiveShowWhatIsMissing) {
  EXPECT_THAT(Refusal({"costs", "forget", "--reason", "x"}),
              AllOf(HasSubstr("takes an identity"), HasSubstr("headgate costs forget job-7:etl")));
  EXPECT_THAT(Refusal({"costs", "forget", "etl", "--pattern", "p", "--reason", "x"}),
              HasSubstr("takes an identity"));
  EXPECT_THAT(Refusal({"costs", "forget", "etl"}), HasSubstr("needs --reason"));
  EXPECT_THAT(Refusal({"forgive", "etl", "--reason", "x"}), HasSubstr("needs --budget"));
  EXPECT_THAT(Refusal({"forgive", "etl", "--budget", "rows"}), HasSubstr("needs --reason"));
  EXPECT_THAT(Refusal({"forgive", "--budget", "rows", "--reason", "x"}), HasSubstr("identity"));
}

TEST(Arguments, OrdersAboutServersTakeWhichAndWhy) {
  const auto move = ParseAs<MoveArguments>(
      {"move", "orders", "--to", "headgate-1", "--reason", "nearer", "--actor", "ann"});
  EXPECT_EQ(move.target, "orders");
  EXPECT_EQ(move.member, "headgate-1");
  EXPECT_EQ(move.who.reason, "nearer");
  EXPECT_EQ(ParseAs<MoveArguments>({"move", "orders", "--anywhere", "--reason", "r"}).member, "");
  EXPECT_THAT(Refusal({"move", "orders", "--reason", "r"}), HasSubstr("--to MEMBER or --anywhere"));
  EXPECT_THAT(Refusal({"move", "orders", "--to", "", "--reason", "r"}), HasSubstr("is empty"));
  EXPECT_THAT(Refusal({"move", "orders", "--to", "a", "--anywhere", "--reason", "r"}),
              HasSubstr("--anywhere"));
  EXPECT_THAT(Refusal({"move", "orders", "--to", "a"}), HasSubstr("needs --reason"));
  const auto drain = ParseAs<DrainArguments>({"drain", "headgate-1", "--reason", "r"});
  EXPECT_EQ(drain.action, DrainArguments::Action::kDrain);
  EXPECT_EQ(drain.member, "headgate-1");
  EXPECT_EQ(ParseAs<DrainArguments>({"undrain", "headgate-1", "--reason", "r"}).action,
            DrainArguments::Action::kUndrain);
  EXPECT_THAT(Refusal({"drain", "headgate-1"}), HasSubstr("needs --reason"));
  EXPECT_THAT(Refusal({"drain", "--reason", "r"}), HasSubstr("needs the name of a server"));
}

TEST(Arguments, RunLeavesItsCommandUntouched) {
  const auto run = ParseAs<RunArguments>({"run", "--identity", "job", "--wait", "forever",
                                          "--on-unreachable", "proceed", "--report-cost", "3", "--",
                                          "sh", "-c", "[a,b]", "--", "--identity", "%%", ""});
  EXPECT_THAT(run.command, ElementsAre("sh", "-c", "[a,b]", "--", "--identity", "%%", ""));
  EXPECT_EQ(run.work.identity, "job");
  EXPECT_EQ(run.wait, absl::InfiniteDuration());
  EXPECT_EQ(run.on_unreachable, OnUnreachable::kProceed);
  EXPECT_EQ(run.report_cost, 3);
}

TEST(Arguments, ConfigCheckTakesAFile) {
  EXPECT_EQ(ParseAs<ConfigCheckArguments>({"config", "check", "a b.yaml"}).file, "a b.yaml");
  EXPECT_FALSE(ParseAs<ConfigCheckArguments>({"config", "check", "a.yaml"}).is_offline);
  EXPECT_TRUE(ParseAs<ConfigCheckArguments>({"config", "check", "--offline", "a"}).is_offline);
}

TEST(Arguments, WrongUsageSaysWhatIsWrong) {
  EXPECT_THAT(Refusal({}), HasSubstr("a command is needed"));
  EXPECT_EQ(Refusal({"frobnicate"}), "there is no command frobnicate; see headgate --help");
  EXPECT_EQ(Refusal({"stauts"}),
            "there is no command stauts; did you mean status?; see headgate --help");
  EXPECT_THAT(Refusal({"check"}), HasSubstr("identity"));
  EXPECT_THAT(Refusal({"check", "a", "b"}), HasSubstr("b"));
  EXPECT_THAT(Refusal({"check", "a", "--cost", "nan"}), HasSubstr("--cost: 'nan'"));
  EXPECT_THAT(Refusal({"check", "a", "--tag", "x"}), HasSubstr("key=value"));
  EXPECT_THAT(Refusal({"check", "a", "--tag", "x=1", "--tag", "x=2"}), HasSubstr("twice"));
  EXPECT_THAT(Refusal({"check", "a", "--wait", "5"}), HasSubstr("--wait: '5' is not a duration"));
  EXPECT_THAT(Refusal({"status", "--target", ""}), HasSubstr("--target: it is empty"));
  EXPECT_THAT(Refusal({"check", "a", "--colour"}), HasSubstr("--colour"));
  EXPECT_THAT(Refusal({"report"}), HasSubstr("permit"));
  EXPECT_THAT(Refusal({"report", "1", "41.5"}), HasSubstr("headgate report 1 --actual-cost 41.5"));
  EXPECT_THAT(Refusal({"report", "-1"}), HasSubstr("-1"));
  EXPECT_THAT(Refusal({"report", "1.5"}), HasSubstr("'1.5' is not a permit"));
  EXPECT_THAT(Refusal({"report", "99999999999999999999"}), HasSubstr("is not a permit"));
  EXPECT_THAT(Refusal({"report", "1", "--actual-cost", "-2"}), HasSubstr("--actual-cost"));
  EXPECT_THAT(Refusal({"report", "1", "--busy-time", "90"}), HasSubstr("--busy-time"));
  EXPECT_THAT(Refusal({"run", "--identity", "a"}), HasSubstr("command after --"));
  EXPECT_THAT(Refusal({"run", "--identity", "a", "--"}), HasSubstr("command after --"));
  EXPECT_THAT(Refusal({"run", "--identity", "a", "ls"}), HasSubstr("ls"));
  EXPECT_THAT(Refusal({"run", "--", "ls"}), HasSubstr("--identity"));
  EXPECT_THAT(Refusal({"status", "-o", "xml"}), HasSubstr("--output: 'xml' is not one of"));
  EXPECT_THAT(Refusal({"status", "--timeout", "0"}), HasSubstr("--timeout"));
  EXPECT_THAT(Refusal({"status", "--address", ""}), HasSubstr("--address"));
  EXPECT_THAT(Refusal({"config"}), HasSubstr("takes a command: check"));
}

TEST(Arguments, AddressMayBeAHostOrANameOfGrpcs) {
  for (const char* address :
       {"gate", "gate:1", "10.0.0.1", "[::1]", "[::1]:8081", "unix:/run/gate", "unix-abstract:gate",
        "dns:///gate:8081", "ipv4:1.2.3.4:1,1.2.3.5:1"}) {
    EXPECT_EQ(Parse({"status", "--address", address}).globals.address, address);
  }
}

TEST(Arguments, AddressThatLeadsNowhereIsWrongUsage) {
  for (const char* address : {"127.0.0.1:70000", "gate:0", "gate:", ":8081", "gate:http", "::1",
                              "a b", "http://gate:8081", "unix:"}) {
    EXPECT_THAT(Refusal({"status", "--address", address}), HasSubstr("--address: '")) << address;
  }
  ::setenv("HEADGATE_ADDRESS", "127.0.0.1:70000", 1);
  EXPECT_THAT(Refusal({"status"}), HasSubstr("'127.0.0.1:70000'"));
  ::unsetenv("HEADGATE_ADDRESS");
}

TEST(Arguments, HelpAndVersionAreNoFailures) {
  for (const auto& words :
       {std::vector<std::string>{"--help"}, std::vector<std::string>{"run", "--help"}}) {
    const Parsed parsed = ParseArguments(words);
    ASSERT_TRUE(std::holds_alternative<Ended>(parsed));
    EXPECT_EQ(std::get<Ended>(parsed).status, ExitStatus::kOk);
    EXPECT_THAT(std::get<Ended>(parsed).text, HasSubstr("Exit status"));
  }
  EXPECT_THAT(std::get<Ended>(ParseArguments({"--version"})).text, HasSubstr("headgate 0."));
}

TEST(ParseArguments, RunWithoutDashesSaysWhatIsMissing) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "--identity", "job:etl"},
        {"run", "--identity", "job:etl", "--"},
        {"run", "--identity", "job:etl", "psql", "-c", "VACUUM"},
        {"run", "psql", "-c", "VACUUM"}}) {
    const Parsed parsed = ParseArguments(words);
    const auto* const ended = std::get_if<Ended>(&parsed);
    ASSERT_NE(ended, nullptr);
    EXPECT_EQ(ended->status, ExitStatus::kUsage);
    EXPECT_THAT(ended->text, testing::HasSubstr("run: takes a command after --")) << words.back();
  }
}

}  // namespace
}  // namespace headgate::cli
