// check, report and explain: the program itself against a server of ours.

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/json.h"
#include "tests/cli/test_server.h"
#include "tests/testing/silent_server.h"
#include "tests/testing/subprocess.h"
#include "tests/testing/wait_until.h"

namespace headgate::cli {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

TEST(CheckCommand, AllowedIsZeroAndPrintsThePermit) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const Finished check = server.Headgate({"check", "job:etl", "--cost", "60"});
  EXPECT_EQ(check.status, 0);
  EXPECT_THAT(check.out, AllOf(StartsWith("ALLOWED\n"), HasSubstr("permit "),
                               HasSubstr("predicted cost  60\n")));
  EXPECT_EQ(check.err, "");
  EXPECT_EQ(server.Debt("job:etl"), 60);
}

TEST(CheckCommand, DeniedIsOneAndSaysWhyAndWhenToComeBack) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  server.Headgate({"check", "job:etl", "--cost", "90"});
  const Finished check = server.Headgate({"check", "job:etl", "--cost", "40"});
  EXPECT_EQ(check.status, 1);
  EXPECT_THAT(check.out,
              AllOf(StartsWith("DENIED by CAPACITY\n"), HasSubstr("retry after     3s\n"),
                    HasSubstr("Denied by budget 'rows': debt would be 130"),
                    HasSubstr("REFUSED BY"), Not(HasSubstr("permit "))));
  EXPECT_EQ(check.err, "");
}

TEST(CheckCommand, JsonHasTheNamesOfTheApi) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const Finished check = server.Headgate({"check", "job:etl", "--cost", "60", "-o", "json"});
  EXPECT_EQ(check.status, 0);
  const auto decision = ParseJson(check.out)["decision"];
  EXPECT_EQ(At(decision, "verdict").string_value(), "VERDICT_ALLOWED");
  EXPECT_EQ(At(decision, "predicted_cost").number_value(), 60);
  EXPECT_THAT(At(decision, "permit_id").string_value(), MatchesRegex("[0-9]+"));
  // Absent is not zero.
  EXPECT_EQ(check.out.find("retry_after"), std::string::npos);
  EXPECT_EQ(check.out.find("chunk_scale"), std::string::npos);
}

TEST(CheckCommand, CsvIsTitlesAndOneRow) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const Finished check =
      server.Headgate({"check", "job:etl", "--cost", "140", "-o", "csv", "--dry-run"});
  EXPECT_EQ(check.status, 1);
  EXPECT_THAT(check.out, AllOf(StartsWith("verdict,reason,permit_id,predicted_cost,retry_after_s,"),
                               HasSubstr("\r\nDENIED,CAPACITY,,140,,0,,rows/burst,")));
}

TEST(CheckCommand, DryRunChargesNothing) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const Finished check = server.Headgate({"check", "job:etl", "--cost", "60", "--dry-run"});
  EXPECT_EQ(check.status, 0);
  EXPECT_THAT(check.out, Not(HasSubstr("permit ")));
  EXPECT_EQ(server.Debt("job:etl"), 0);
}

TEST(CheckCommand, RequestIdMakesARepetitionCountOnce) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const std::vector<std::string> words = {"check", "job:etl", "--cost", "60", "--request-id", "r"};
  const Finished first = server.Headgate(words);
  const Finished second = server.Headgate(words);
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(server.Debt("job:etl"), 60);
}

TEST(CheckCommand, TagsReachTheRules) {
  engine::PolicySpec policy;
  engine::RuleSpec rule = engine::RuleOn("no-tenant-7", "", engine::DenyAction{});
  rule.match.tags = {{"tenant", "7"}};
  policy.rules.push_back(std::move(rule));
  TestServer server(std::move(policy));
  EXPECT_EQ(server.Headgate({"check", "job:etl", "--tag", "tenant=8"}).status, 0);
  const Finished check = server.Headgate({"check", "job:etl", "--tag", "tenant=7"});
  EXPECT_EQ(check.status, 1);
  EXPECT_THAT(check.out, AllOf(HasSubstr("no-tenant-7"), HasSubstr("waiting will not help")));
}

TEST(CheckCommand, BadInputIsTwoAndNamesTheField) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const Finished identity = server.Headgate({"check", "job::etl"});
  EXPECT_EQ(identity.status, 2);
  EXPECT_EQ(identity.out, "");
  EXPECT_THAT(identity.err, AllOf(StartsWith("headgate: "), HasSubstr("identity")));
  const Finished target = server.Headgate({"check", "job:etl", "--target", "nowhere"});
  EXPECT_EQ(target.status, 2);
  EXPECT_THAT(target.err, HasSubstr("nowhere"));
}

TEST(CheckCommand, UnreachableIsThreeAndOneLine) {
  std::string address;
  {
    TestServer server(OneBudget(RateBudget("rows", 10, 100)));
    address = server.address();
  }
  const Finished check = RunHeadgate({"check", "job:etl", "--address", address});
  EXPECT_EQ(check.status, 3);
  EXPECT_EQ(check.out, "");
  EXPECT_EQ(check.err, "headgate: cannot reach " + address + ": Connection refused\n");
}

TEST(CheckCommand, AnAddressThatDoesNotResolveIsThreeAndNamesIt) {
  const std::string address = "no-such-host.invalid:8081";
  const Finished check = RunHeadgate({"check", "job:etl", "--address", address});
  EXPECT_EQ(check.status, 3);
  EXPECT_EQ(check.out, "");
  EXPECT_THAT(check.err, HasSubstr(address));
}

TEST(CheckCommand, AServerThatDoesNotAnswerIsThreeAfterTheTimeout) {
  SilentServer server;
  const Finished check =
      RunHeadgate({"check", "job:etl", "--address", server.address(), "--timeout", "200ms"});
  EXPECT_EQ(check.status, 3);
  EXPECT_EQ(check.err, "headgate: no answer from " + server.address() + " within 200ms\n");
}

TEST(CheckCommand, AFullOutputIsAFailure) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const Finished check =
      Subprocess({"sh", "-c", "exec \"$0\" status >/dev/full", HEADGATE_PROGRAM}, server.Options())
          .Wait();
  EXPECT_EQ(check.status, 4);
  EXPECT_THAT(check.err, HasSubstr("stdout"));
}

TEST(CheckCommand, ColoursAreForTerminalsOrOnDemand) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  EXPECT_THAT(server.Headgate({"check", "job:etl"}).out, StartsWith("ALLOWED"));
  EXPECT_THAT(server.Headgate({"check", "job:etl", "--color", "always"}).out,
              StartsWith("\x1b[32mALLOWED\x1b[0m"));
}

TEST(CheckCommand, WaitsUntilItIsAllowed) {
  TestServer server(OneBudget(RateBudget("rows", 100, 100)));
  server.Headgate({"check", "job:etl", "--cost", "100"});
  Subprocess waiting(HeadgateCommand({"check", "job:etl", "--cost", "1", "--wait", "forever"}),
                     server.Options());
  ASSERT_TRUE(WaitUntil([&] { return server.activity.size() >= 2; }));
  server.clock.Advance(absl::Seconds(1));
  const Finished check = waiting.Wait();
  EXPECT_EQ(check.status, 0);
  EXPECT_THAT(check.out, AllOf(StartsWith("ALLOWED\n"), HasSubstr("permit ")));
  // It is the caller's to report: nothing was given back.
  EXPECT_EQ(server.Debt("job:etl"), 1);
  EXPECT_GE(server.permits(), 1u);
}

TEST(CheckCommand, GivesUpWaitingWithTheDenial) {
  TestServer server(OneBudget(RateBudget("rows", 0.001, 100)));
  server.Headgate({"check", "job:etl", "--cost", "100"});
  Subprocess check(HeadgateCommand({"check", "job:etl", "--cost", "1", "--wait", "30ms"}),
                   server.Options());
  // It waits at the server, whose time passes by this alone.
  EXPECT_TRUE(WaitUntil([&] {
    server.Advance(absl::Milliseconds(10));
    return check.HasEnded();
  }));
  const Finished finished = check.Wait();
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.out, StartsWith("DENIED by CAPACITY\n"));
}

TEST(CheckCommand, DoesNotWaitForWhatWaitingWillNotChange) {
  TestServer server(OneBudget(engine::MaxCostBudget("rows", 10)));
  const Finished check = server.Headgate({"check", "job:etl", "--cost", "11", "--wait", "forever"});
  EXPECT_EQ(check.status, 1);
  EXPECT_THAT(check.out, StartsWith("DENIED by MAX_COST\n"));
}

TEST(ReportCommand, SettlesPermits) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const auto permit = [&] {
    const Finished check = server.Headgate({"check", "job:etl", "--cost", "40", "-o", "json"});
    return At(ParseJson(check.out)["decision"], "permit_id").string_value();
  };
  const std::string first = permit();
  const std::string second = permit();
  const Finished report = server.Headgate({"report", first, "--actual-cost", "30"});
  EXPECT_EQ(report.status, 0);
  EXPECT_THAT(report.out, HasSubstr(first + "  SETTLED"));
  EXPECT_EQ(server.Headgate({"report", second}).status, 0);  // as predicted
  EXPECT_EQ(server.Debt("job:etl"), 70);
  EXPECT_THAT(server.Headgate({"report", first, "-o", "csv"}).out,
              "permit_id,outcome,error,overruns\r\n" + first + ",ALREADY_SETTLED,,\r\n");
}

TEST(ReportCommand, SaysWhatWasNotCharged) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const Finished check = server.Headgate({"check", "job:etl", "--cost", "5", "-o", "json"});
  const std::string permit = At(ParseJson(check.out)["decision"], "permit_id").string_value();
  const Finished report = server.Headgate({"report", permit, "--actual-cost", "1e12"});
  EXPECT_EQ(report.status, 0);
  EXPECT_THAT(report.out,
              AllOf(HasSubstr("CHARGED ONLY"), HasSubstr("rows: 100 of 1000000000000")));
}

TEST(ReportCommand, ABusyTimeThatCannotBeIsTwoAndSaysWhy) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const Finished check = server.Headgate({"check", "job:etl", "--cost", "5", "-o", "json"});
  const std::string permit = At(ParseJson(check.out)["decision"], "permit_id").string_value();
  const Finished report = server.Headgate({"report", permit, "--busy-time", "100h"});
  EXPECT_EQ(report.status, 2);
  EXPECT_THAT(report.out, AllOf(HasSubstr("REFUSED"), HasSubstr("not rows")));
}

TEST(ReportCommand, UnknownPermitIsTwo) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const Finished report = server.Headgate({"report", "12345"});
  EXPECT_EQ(report.status, 2);
  EXPECT_THAT(report.out, HasSubstr("12345  REFUSED"));
}

engine::BudgetSpec BusyBudget(const std::string& name, double rate, double burst) {
  engine::BudgetSpec budget = RateBudget(name, rate, burst);
  budget.unit = engine::BudgetUnit::kBusyTime;
  return budget;
}

TEST(CheckCommand, ShowsThePredictedBusyTimeAndItsUnit) {
  TestServer server(OneBudget(BusyBudget("busy", 0.5, 2)));
  const Finished allowed = server.Headgate({"check", "job:etl", "--cost", "700"});
  EXPECT_EQ(allowed.status, 0);
  EXPECT_THAT(allowed.out, HasSubstr("predicted busy time"));
  const Finished explain = server.Headgate({"explain", "job:etl", "--cost", "700"});
  EXPECT_THAT(explain.out, AllOf(HasSubstr(" 2 s "), HasSubstr(" 0.5 s ")));
  EXPECT_THAT(server.Headgate({"explain", "job:etl", "-o", "csv"}).out,
              AllOf(HasSubstr(",unit,owed_since,owed_report,owed_for_s,waiting,"),
                    HasSubstr(",BUSY_TIME,")));
}

// "owes 909 s since a Report of 1,000 s": who is locked out by an earlier Report is told so.
TEST(CheckCommand, SaysSinceWhichReportTheDebtIsOwed) {
  TestServer server(OneBudget(BusyBudget("busy", 1, 2)));
  const Finished check = server.Headgate({"check", "job:etl", "-o", "json"});
  const std::string permit = At(ParseJson(check.out)["decision"], "permit_id").string_value();
  EXPECT_EQ(server.Headgate({"report", permit, "--busy-time", "1000s"}).status, 0);
  const Finished denied = server.Headgate({"check", "job:etl"});
  EXPECT_EQ(denied.status, 1);
  EXPECT_THAT(denied.out, AllOf(HasSubstr("OWED SINCE"), HasSubstr("a Report of 1000 s, for ")));
  EXPECT_THAT(server.Headgate({"explain", "job:etl"}).out, HasSubstr("a Report of 1000 s, for "));
  EXPECT_THAT(server.Headgate({"check", "job:etl", "-o", "csv"}).out, HasSubstr(",1000,"));
}

TEST(ExplainCommand, ShowsRulesBucketsAndWhatWouldHelp) {
  engine::PolicySpec policy = OneBudget(RateBudget("rows", 10, 100));
  TestServer server(std::move(policy));
  server.Headgate({"check", "job:etl", "--cost", "90"});
  const Finished explain = server.Headgate({"explain", "job:etl", "--cost", "40"});
  EXPECT_EQ(explain.status, 1);
  EXPECT_THAT(explain.out,
              AllOf(StartsWith("DENIED by CAPACITY\n"),
                    HasSubstr("RULE    WHAT IT DOES  EXPIRES  WHAT CAME OF IT\n"
                              "charge  charges rows  never    applies\n"),
                    HasSubstr("ROOM IN"), HasSubstr("\nto be allowed:\n"),
                    HasSubstr("has to drain to 60, which it does in 3s; or ask for at most 10")));
  EXPECT_EQ(server.Debt("job:etl"), 90);
}

TEST(ExplainCommand, ShowsTheHealthItWasMadeUnder) {
  engine::PolicySpec policy = OneBudget(RateBudget("rows", 10, 100));
  policy.profiles.push_back({.name = "careful", .signals = {"replication_lag_seconds"}});
  policy.budgets[0].health = "careful";
  TestServer server(std::move(policy));
  const engine::Health health = {.speed = 0,
                                 .status = engine::HealthStatus::kHealthy,
                                 .gate_shut = true,
                                 .pressure = 1.5,
                                 .signal = 0,
                                 .sampled_at_ns = FakeClock::kStartMonotonicNs};
  ASSERT_TRUE(server.engine.SetHealth("", "careful", health, server.clock.Read()).ok());
  server.clock.Advance(absl::Milliseconds(300));
  const Finished explain = server.Headgate({"explain", "job:etl", "--cost", "40"});
  EXPECT_EQ(explain.status, 1);
  EXPECT_THAT(explain.out,
              AllOf(StartsWith("DENIED by HEALTH\n"),
                    HasSubstr("careful: SHUT, speed 0, pressure 1.5 (replication_lag_seconds), "
                              "sampled 300ms ago"),
                    HasSubstr("replication_lag_seconds has to fall below its hard threshold")));
}

TEST(ExplainCommand, ShowsHowTheJobItselfAsks) {
  engine::BudgetSpec split = RateBudget("rows", 10, 100);
  split.split = engine::SplitByTag{"tenant"};
  TestServer server(OneBudget(split));
  EXPECT_THAT(
      server.Headgate({"explain", "job:etl"}).out,
      AllOf(HasSubstr("not as the job asks: budget 'rows' has a bucket for each value of the "
                      "tag 'tenant', which is not given"),
            Not(HasSubstr("ITS NEWEST CHECKS"))));
  server.Headgate({"check", "job:etl", "--cost", "90", "--pattern", "copy", "--tag", "tenant=a b"});
  const std::string out = server.Headgate({"explain", "job:etl", "--cost", "1"}).out;
  EXPECT_THAT(out, ContainsRegex("ITS NEWEST CHECKS +AGO +COST +PREDICTED +PATTERN +TAGS\n"
                                 "ALLOWED +.* +90 +90 +copy +tenant=a b\n"));
  EXPECT_THAT(out,
              HasSubstr("\nas it asks: headgate explain job:etl --cost 90 --pattern copy --tag "
                        "'tenant=a b'\n"));
  EXPECT_THAT(server
                  .Headgate({"explain", "job:etl", "--cost", "90", "--pattern", "copy", "--tag",
                             "tenant=a b"})
                  .out,
              Not(HasSubstr("as it asks")));
}

TEST(ExplainCommand, SaysWhichRuleWonAndWhyTheOthersLost) {
  engine::PolicySpec policy = OneBudget(RateBudget("rows", 10, 100));
  policy.rules.push_back(engine::RuleOn("half", "etl", engine::RejectAction{0.5}));
  engine::RuleSpec freeze = engine::RuleOn("freeze", "etl", engine::DenyAction{});
  freeze.expires_at = absl::FromUnixNanos(FakeClock::kStartWallNs) + absl::Hours(2);
  policy.rules.push_back(freeze);
  TestServer server(std::move(policy));
  const Finished explain = server.Headgate({"explain", "job:etl", "--cost", "40"});
  EXPECT_EQ(explain.status, 1);
  EXPECT_THAT(
      explain.out,
      AllOf(StartsWith("DENIED by DENY_RULE\n"),
            HasSubstr(
                "half    rejects 50 % by chance  never                    overruled by 'freeze': "
                "deny wins over a share\n"),
            HasSubstr("freeze  denies                  2026-01-01 02:00:00 UTC  applies\n"),
            HasSubstr("rule 'freeze' has to end, which it does in 2h, or no longer match this "
                      "identity; headgate resume lets it through meanwhile\n")));
  const auto json = server.Headgate({"explain", "job:etl", "-o", "json"});
  const auto rules = ParseJson(json.out)["matched_rules"].list_value();
  EXPECT_EQ(At(rules.values(1), "effect").string_value(), "RULE_EFFECT_OVERRULED");
  EXPECT_EQ(At(rules.values(2), "expires_at").string_value(), "2026-01-01T02:00:00Z");
}

TEST(ExplainCommand, HasTheAdviceInEveryFormat) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  server.Headgate({"check", "job:etl", "--cost", "90"});
  const std::string advice =
      "budget 'rows' owes 90 and has to drain to 60, which it does in 3s; or ask for at most 10 "
      "now";
  EXPECT_THAT(server.Headgate({"explain", "job:etl", "--cost", "40"}).out, HasSubstr(advice));
  auto json = ParseJson(server.Headgate({"explain", "job:etl", "--cost", "40", "-o", "json"}).out);
  ASSERT_EQ(json["to_be_allowed"].list_value().values_size(), 1);
  EXPECT_EQ(json["to_be_allowed"].list_value().values(0).string_value(), advice);
  EXPECT_THAT(server.Headgate({"explain", "job:etl", "--cost", "40", "-o", "csv"}).out,
              HasSubstr("\r\nDENIED,rows,,charge,40,90,100,10,1,,,,3,CAPACITY,0,false,burst,\"" +
                        advice + "\",COST,,,,,,,,\r\n"));
}

TEST(ExplainCommand, HasARowForARuleThatDeniesWhatIsChargedToNothing) {
  engine::PolicySpec policy;
  policy.rules = {engine::RuleOn("freeze", "etl", engine::DenyAction{})};
  TestServer server(std::move(policy));
  const Finished csv = server.Headgate({"explain", "job:etl", "-o", "csv"});
  EXPECT_EQ(csv.status, 1);
  EXPECT_THAT(csv.out,
              HasSubstr("\r\nDENIED,,,freeze,,,,,,,,,,DENY_RULE,0,,rule,\"rule 'freeze' has to be "
                        "removed, or no longer match this identity; headgate resume lets it "
                        "through meanwhile\",,,,,,,,,\r\n"));
  const Finished allowed = server.Headgate({"explain", "job:other", "-o", "csv"});
  EXPECT_THAT(allowed.out, HasSubstr("\r\nALLOWED,,,,,,,,,,,,,,0,,,,,,,,,,,,\r\n"));
}

TEST(ExplainCommand, SaysInTheHeadlineWhatChanceRejects) {
  engine::PolicySpec policy = OneBudget(RateBudget("rows", 10, 100));
  policy.rules.push_back(engine::RuleOn("half", "etl", engine::RejectAction{0.5}));
  TestServer server(std::move(policy));
  const Finished explain = server.Headgate({"explain", "job:etl", "--cost", "1"});
  EXPECT_EQ(explain.status, 0);
  EXPECT_THAT(explain.out,
              AllOf(StartsWith("ALLOWED, but 50 % of such Checks are rejected by chance\n"),
                    HasSubstr("Allowed. But a rule rejects 50 % of such Checks by chance.\n")));
}

TEST(ExplainCommand, SaysNothingOfChanceWhereTheCheckIsExempt) {
  engine::PolicySpec policy = OneBudget(RateBudget("rows", 10, 100));
  policy.rules.push_back(engine::RuleOn("all", "etl", engine::RejectAction{1}));
  policy.rules.push_back(engine::RuleOn("free", "etl", engine::ExemptAction{}));
  TestServer server(std::move(policy));
  const Finished explain = server.Headgate({"explain", "job:etl", "--cost", "1"});
  EXPECT_THAT(explain.out, AllOf(StartsWith("ALLOWED by EXEMPT\n"), Not(HasSubstr("such Checks")),
                                 Not(HasSubstr("rejected by chance"))));
}

TEST(ExplainCommand, SaysThatPermitsComeBackWithReports) {
  TestServer server(OneBudget(engine::ConcurrencyBudget("jobs", 1)));
  server.Headgate({"check", "job:etl"});
  const Finished explain = server.Headgate({"explain", "job:etl"});
  EXPECT_EQ(explain.status, 1);
  EXPECT_THAT(explain.out,
              AllOf(HasSubstr("100ms, to ask again: room comes with the next Report\n"),
                    HasSubstr("  with the next Report\n")));
}

TEST(ExplainCommand, SaysSoWhereNoRuleMatches) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const Finished explain = server.Headgate({"explain", "job:other"});
  EXPECT_EQ(explain.status, 0);
  EXPECT_THAT(explain.out, HasSubstr("\nno rule matches\nit would be charged to no budget\n"));
}

TEST(ExplainCommand, AllowedIsZeroInEveryFormat) {
  TestServer server(OneBudget(RateBudget("rows", 10, 100)));
  const Finished json = server.Headgate({"explain", "job:etl", "--cost", "40", "-o", "json"});
  EXPECT_EQ(json.status, 0);
  auto explanation = ParseJson(json.out);
  const auto& bucket = explanation["buckets"].list_value().values(0);
  EXPECT_EQ(At(bucket, "budget").string_value(), "rows");
  EXPECT_EQ(At(bucket, "burst").number_value(), 100);
  const Finished csv = server.Headgate({"explain", "job:etl", "--cost", "40", "-o", "csv"});
  EXPECT_EQ(csv.status, 0);
  EXPECT_THAT(csv.out,
              HasSubstr("\r\nALLOWED,rows,,charge,40,0,100,10,1,,,,0,,0,false,,,COST,,,,,,,,\r\n"));
}

}  // namespace
}  // namespace headgate::cli
