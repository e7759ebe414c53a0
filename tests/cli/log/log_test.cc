// log: the program itself against a log of ours.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/json.h"
#include "tests/cli/log_server.h"

namespace headgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kMigration[] = "d666bbfc_169e:vcopier:vreplication:online-ddl";

class LogCommand : public ::testing::Test {
 protected:
  LogCommand() {
    log().total = Sum("", 1558, 1422);
    log().intervals = {
        Interval(kMigration, Today(7, 0), Today(7, 25), 90, {LagCause(1410)}),
        Interval(kMigration, Today(9, 12), Today(9, 12, 40), 8, {BurstCause(10), LagCause(2)})};
  }

  FakeLog& log() { return server_.log(); }
  Finished Headgate(std::vector<std::string> words) { return server_.Headgate(std::move(words)); }
  void SetSums(const std::vector<v1::LogSum>& sums) {
    log().sums.clear_sums();
    for (const v1::LogSum& sum : sums) *log().sums.add_sums() = sum;
  }

  LogServer server_;
};

TEST_F(LogCommand, SaysWhenWhoWasHeldBackAndByWhat) {
  const Finished shown = Headgate({"log", "online-ddl"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.err, "");
  EXPECT_EQ(
      shown.out,
      "2020-11-20 06:00–14:03 UTC: online-ddl was held back for 25m40s, mostly by "
      "replication_lag_seconds on standby-2; 1422 of 2980 Checks were denied (48 %).\n"
      "\n"
      "WHEN               FOR  WHO                                            DENIED  OF CHECKS  "
      "BY                                    AT WORST\n"
      "07:00–07:25        25m  d666bbfc_169e:vcopier:vreplication:online-ddl    94 %       1500  "
      "replication_lag_seconds on standby-2  7.1 s over hard 5 s\n"
      "09:12:00–09:12:40  40s  d666bbfc_169e:vcopier:vreplication:online-ddl    60 %         20  "
      "budget 'rows': burst (83 %), 1 more   debt 130 over 100\n");
}

TEST_F(LogCommand, ShowsWhomNoRuleMatches) {
  SetSums({Sum("job-7:elt", 40, 0)});
  const Finished shown = Headgate({"log", "--unmatched"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.out, HasSubstr("job-7:elt      40"));
  ASSERT_EQ(log().queries().size(), 1);
  const v1::QueryThrottleLogRequest query = log().queries()[0];
  EXPECT_THAT(query.filter().reasons(), ElementsAre(v1::REASON_UNMATCHED));
  EXPECT_THAT(query.group_by(), ElementsAre(v1::LOG_GROUP_IDENTITY));
  EXPECT_EQ(query.order(), v1::LOG_ORDER_MOST_CHECKS);
  SetSums({});
  EXPECT_THAT(Headgate({"log", "--unmatched"}).out,
              EndsWith(": every Check was matched by some rule.\n"));
  EXPECT_EQ(Headgate({"log", "--unmatched", "--heat"}).status, 2);
}

TEST_F(LogCommand, AsksWhetherARuleOfOtherCapitalsWasMeant) {
  v1::LogSum capitals = Sum("job-7:ETL", 40, 0);
  capitals.set_did_you_mean("job-7:etl");
  SetSums({capitals, Sum("report", 3, 0)});
  const Finished shown = Headgate({"log", "--unmatched"});
  EXPECT_THAT(shown.out, HasSubstr("COST DENIED  DID YOU MEAN\n"));
  EXPECT_THAT(shown.out, HasSubstr("job-7:ETL      40       0  0 %           400            0  "
                                   "job-7:etl\n"));
  EXPECT_THAT(shown.out, EndsWith("\nidentities are case-sensitive: rules are for what is under "
                                  "DID YOU MEAN, and limit nothing of what is under WHO\n"));
  EXPECT_THAT(Headgate({"log", "--unmatched", "-o", "csv"}).out,
              HasSubstr(",job-7:etl,0,0,0,0,,,\r\n"));
}

TEST_F(LogCommand, SaysHowManyChecksAreMissingWhileTheStoreIsBehind) {
  SetSums({Sum("job-7:etl", 40, 2)});
  log().sums.set_waiting_checks(73);
  EXPECT_THAT(Headgate({"log", "--top"}).out,
              EndsWith("73 newer Checks are missing here, because the log's store is behind: "
                       "headgate status says why\n"));
}

TEST_F(LogCommand, AsksForWhatItWasTold) {
  Headgate({"log",          "online-ddl",
            "--target",     "main",
            "--since",      "2020-11-20T06:00:00Z",
            "--until",      "2020-11-20 14:00",
            "--reason",     "health",
            "--reason",     "max-cost",
            "--budget",     "rows",
            "--signal",     "replication_lag_seconds",
            "--level",      "2",
            "--min-denied", "0.25"});
  ASSERT_EQ(log().interval_queries().size(), 1u);
  const v1::ListThrottledIntervalsRequest query = log().interval_queries()[0];
  const v1::LogFilter& filter = query.filter();
  EXPECT_EQ(filter.identity(), "online-ddl");
  EXPECT_EQ(filter.target(), "main");
  EXPECT_EQ(filter.from().seconds(), absl::ToUnixSeconds(Today(6, 0)));
  EXPECT_EQ(filter.to().seconds(), absl::ToUnixSeconds(Today(14, 0)));
  EXPECT_THAT(filter.reasons(), ElementsAre(v1::REASON_HEALTH, v1::REASON_MAX_COST));
  EXPECT_THAT(filter.budgets(), ElementsAre("rows"));
  EXPECT_THAT(filter.signals(), ElementsAre("replication_lag_seconds"));
  EXPECT_EQ(query.level(), 2);
  EXPECT_EQ(query.min_denied_ratio(), 0.25);
  // The whole is told whatever denied, and what this did of it.
  ASSERT_EQ(log().queries().size(), 2u);
  EXPECT_EQ(log().queries()[0].filter().reasons_size(), 0);
  EXPECT_EQ(log().queries()[0].filter().identity(), "online-ddl");
  EXPECT_EQ(log().queries()[1].filter().reasons_size(), 2);
  EXPECT_THAT(log().queries()[1].filter().outcomes(),
              ElementsAre(v1::OUTCOME_DENIED, v1::OUTCOME_WAITED));
}

TEST_F(LogCommand, LeavesToTheServerWhatIsNotTold) {
  Headgate({"log"});
  const v1::ListThrottledIntervalsRequest query = log().interval_queries().at(0);
  EXPECT_FALSE(query.filter().has_from());
  EXPECT_FALSE(query.filter().has_to());
  EXPECT_FALSE(query.has_min_denied_ratio());
}

TEST_F(LogCommand, SaysThatNothingWasDeniedAndThatNobodyWaited) {
  log().intervals.clear();
  EXPECT_EQ(Headgate({"log", "online-ddl"}).out,
            "2020-11-20 06:00–14:03 UTC: at no time were 50 % of the Checks of online-ddl denied; "
            "1422 of 2980 Checks were denied (48 %).\n");
  log().total = Sum("", 1558, 0);
  EXPECT_EQ(Headgate({"log", "--segment", "vcopier", "--target", "main"}).out,
            "2020-11-20 06:00–14:03 UTC: no Check of segment vcopier on main was denied, and none "
            "waited; all 1558 Checks were allowed.\n");
  log().total.set_would_be_denied(3);
  EXPECT_THAT(Headgate({"log"}).out, HasSubstr("no Check of work was denied, and none waited; all "
                                               "1561 Checks were allowed, and budgets that only "
                                               "WARN would have denied 3.\n"));
  log().total = v1::LogSum();
  const Finished nobody = Headgate({"log", "online-ddl"});
  EXPECT_EQ(nobody.status, 0);
  EXPECT_THAT(nobody.out, EndsWith(": nothing of online-ddl is in the log.\n"));
}

// Of 1,558 Checks that were all allowed, 50 waited, for the most part in one interval.
TEST_F(LogCommand, SaysWhoWaitedForHowLongAndForWhat) {
  v1::ThrottledInterval interval = log().intervals.at(0);
  interval.set_allowed(48);
  interval.set_denied(0);
  interval.set_waited_ratio(0.82);
  interval.mutable_causes(0)->set_denied(0);
  interval.mutable_causes(0)->mutable_waiting()->mutable_waited()->set_seconds(1488);
  interval.mutable_waiting()->set_began(48);
  interval.mutable_waiting()->mutable_waited()->set_seconds(1488);
  log().intervals = {interval};
  log().total = Sum("", 1558, 0);
  log().total.mutable_waiting()->set_began(50);
  log().total.mutable_waiting()->mutable_waited()->set_seconds(1500);
  log().total.mutable_waiting()->mutable_longest()->set_seconds(70);
  const std::string shown = Headgate({"log", "online-ddl"}).out;
  EXPECT_THAT(shown, HasSubstr("online-ddl was held back for 25m, by replication_lag_seconds on "
                               "standby-2; all 1558 Checks were allowed; 50 Checks waited 25m in "
                               "all (30s each, 1m10s at most).\n"));
  EXPECT_THAT(shown, HasSubstr("WAITED  EACH  DENIED"));
  EXPECT_THAT(shown, HasSubstr("82 %   31s     0 %         48  replication_lag_seconds on "));
  log().intervals.clear();
  EXPECT_THAT(Headgate({"log", "online-ddl"}).out,
              HasSubstr(": no Check of online-ddl was denied, and at no time did one wait for 50 % "
                        "of the time; all 1558 Checks were allowed; 50 Checks waited 25m in all"));
  v1::LogSum waited = Sum("job-7:etl", 40, 0);
  *waited.mutable_waiting() = log().total.waiting();
  SetSums({waited});
  EXPECT_THAT(Headgate({"log", "--top"}).out,
              AllOf(HasSubstr("WAITED  EACH  AT MOST"), HasSubstr("25m   30s    1m10s")));
}

TEST_F(LogCommand, ShowsTimesOfSeveralDaysWithTheirDates) {
  log().intervals = {Interval("a", Today(7, 0) - absl::Hours(24), Today(7, 25), 0, {LagCause(9)})};
  EXPECT_THAT(Headgate({"log"}).out, HasSubstr("2020-11-19 07:00–2020-11-20 07:25  24h25m  a"));
}

TEST_F(LogCommand, ShowsTheLocalZoneOnDemand) {
  SubprocessOptions options = server_.Options();
  options.environment["TZ"] = "Europe/Berlin";
  const Finished shown = RunHeadgate({"log", "--local"}, options);
  EXPECT_THAT(shown.out,
              AllOf(StartsWith("2020-11-20 07:00–15:03 CET: "), HasSubstr("\n08:00–08:25 ")));
  RunHeadgate({"log", "--local", "--since", "2020-11-20 06:00"}, options);
  EXPECT_EQ(log().interval_queries().at(1).filter().from().seconds(),
            absl::ToUnixSeconds(Today(5, 0)));
}

TEST_F(LogCommand, FetchesAllPagesOrAsManyRowsAsItMay) {
  log().max_in_page = 2;
  log().intervals.clear();
  for (int i = 0; i < 5; ++i) {
    log().intervals.push_back(
        Interval("job-" + std::to_string(i), Today(7, i), Today(7, i + 1), 0, {LagCause(5)}));
  }
  EXPECT_THAT(Headgate({"log"}).out, AllOf(HasSubstr("job-4"), Not(HasSubstr("and more"))));
  EXPECT_EQ(log().interval_queries().size(), 3u);
  const Finished three = Headgate({"log", "--limit", "3"});
  EXPECT_THAT(three.out,
              AllOf(HasSubstr("job-2"), Not(HasSubstr("job-3")), EndsWith("and 2 more\n")));
  Headgate({"log", "--limit", "3", "-o", "csv"});
  EXPECT_EQ(log().interval_queries().back().page_size(), 1);
  EXPECT_EQ(At(ParseJson(Headgate({"log", "-o", "json"}).out)["intervals"].list_value().values(4),
               "identity")
                .string_value(),
            "job-4");
}

TEST_F(LogCommand, DisarmsHostileNames) {
  log().intervals = {Interval("\x1b[2Jevil\u202e:etl", Today(7, 0), Today(7, 1), 0, {LagCause(5)})};
  log().intervals[0].mutable_causes(0)->set_signal("lag\x07 on \x1b]0;x");
  SetSums({Sum("\x1b[31mred\n", 1, 1)});
  v1::Denial denial = DenialOf(1, "\x1b[2J:etl", Today(7, 0));
  denial.set_target("\x1b[1m");
  log().AddDenial(denial);
  for (const auto& words : std::vector<std::vector<std::string>>{{"log"},
                                                                 {"log", "--top"},
                                                                 {"log", "--heat"},
                                                                 {"log", "--denials"},
                                                                 {"log", "-o", "csv"},
                                                                 {"log", "--top", "-o", "csv"}}) {
    const Finished shown = Headgate(words);
    EXPECT_EQ(shown.status, 0);
    EXPECT_THAT(shown.out,
                AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07")), HasSubstr("\\x1b[")))
        << words.back();
  }
}

TEST_F(LogCommand, SumsByWhatItIsTold) {
  v1::LogSum sum = Sum("etl", 90, 10);
  sum.set_signal("replication_lag_seconds on standby-2");
  Set(Today(7, 0), sum.mutable_from());
  v1::LogSum other = Sum("etl", 100, 0);
  Set(Today(7, 0, 30), other.mutable_from());
  other.set_would_be_denied(25);
  SetSums({sum, other});
  const Finished shown = Headgate({"log", "--by", "level=1,signal", "--by", "step=30s"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.out,
            "2020-11-20 06:00–14:03 UTC\n"
            "\n"
            "WHO  SIGNAL                                FROM      CHECKS  DENIED        WOULD BE  "
            "COST ALLOWED  COST DENIED\n"
            "etl  replication_lag_seconds on standby-2  07:00:00     100      10  10 %         0  "
            "         900          100\n"
            "etl  -                                     07:00:30     125       0   0 %        25  "
            "        1000            0\n");
  const v1::QueryThrottleLogRequest query = log().queries().at(0);
  EXPECT_THAT(query.group_by(),
              ElementsAre(v1::LOG_GROUP_IDENTITY, v1::LOG_GROUP_SIGNAL, v1::LOG_GROUP_STEP));
  EXPECT_EQ(query.level(), 1);
  EXPECT_EQ(query.step().seconds(), 30);
  EXPECT_EQ(query.order(), v1::LOG_ORDER_UNSPECIFIED);
}

TEST_F(LogCommand, TopIsByIdentityMostHeldBackFirst) {
  SetSums({Sum("job-7:etl", 90, 1410), Sum("job-8:etl", 900, 1), Sum("job-9:etl", 900, 0)});
  const Finished two = Headgate({"log", "--top", "2", "etl"});
  EXPECT_EQ(two.status, 0);
  EXPECT_THAT(two.out, AllOf(HasSubstr("job-7:etl    1500    1410  94 %"),
                             HasSubstr("job-8:etl     901       1  <1 %"), EndsWith("and more\n")));
  const v1::QueryThrottleLogRequest query = log().queries().at(0);
  EXPECT_THAT(query.group_by(), ElementsAre(v1::LOG_GROUP_IDENTITY));
  EXPECT_EQ(query.order(), v1::LOG_ORDER_MOST_HELD_BACK);
  EXPECT_EQ(query.filter().identity(), "etl");
  // The number may be left out, and a selector is none.
  Headgate({"log", "--top", "etl"});
  EXPECT_EQ(log().queries().at(1).filter().identity(), "etl");
  EXPECT_EQ(log().queries().at(1).page_size(), 10);
}

TEST_F(LogCommand, SumsAndFiltersByTheServerThatDecided) {
  v1::LogSum sum = Sum("", 90, 1410);
  sum.set_server("headgate-1");
  SetSums({sum});
  EXPECT_THAT(Headgate({"log", "--by", "server", "--server", "headgate-1"}).out,
              AllOf(HasSubstr("SERVER"), HasSubstr("headgate-1")));
  EXPECT_EQ(log().queries().at(0).group_by(0), v1::LOG_GROUP_SERVER);
  EXPECT_EQ(log().queries().at(0).filter().server(), "headgate-1");
}

TEST_F(LogCommand, CsvHasTheSameColumnsWhateverIsAsked) {
  SetSums({Sum("job-7:etl", 90, 1410)});
  EXPECT_EQ(Headgate({"log", "--top", "-o", "csv"}).out,
            "from,identity,target,outcome,reason,budget,rule,signal,allowed,would_be_denied,denied,"
            "allowed_cost,denied_cost,folded,server,did_you_mean,waits_began,waits_admitted,"
            "waits_denied,waits_left,waited_s,held_s,longest_wait_s\r\n"
            ",job-7:etl,,,,,,,90,0,1410,900,14100,0,,,0,0,0,0,,,\r\n");
  EXPECT_THAT(Headgate({"log", "-o", "csv"}).out,
              AllOf(StartsWith("from,to,identity,target,allowed,denied,denied_cost,reason,"),
                    HasSubstr("\r\n2020-11-20T07:00:00+00:00,2020-11-20T07:25:00+00:00,"
                              "d666bbfc_169e:vcopier:vreplication:online-ddl,main,90,1410,0,HEALTH,"
                              "health,,,replication_lag_seconds on standby-2,1410,7.1,5,\"A "
                              "sentence, of the server's.\",1,0,0,,,\r\n")));
}

TEST_F(LogCommand, ShowsTheNewestDenialsInFull) {
  log().AddDenial(DenialOf(1, "job-7:etl", Today(7, 0, 1.25)));
  v1::Denial warned = DenialOf(2, "job-8:etl", Today(7, 0, 2.5));
  warned.set_outcome(v1::OUTCOME_WOULD_BE_DENIED);
  *warned.mutable_cause() = BurstCause();
  log().AddDenial(warned);
  v1::Denial never = DenialOf(3, "job-9:etl", Today(7, 0, 3));
  never.clear_retry_after();
  log().AddDenial(never);
  EXPECT_EQ(
      Headgate({"log", "--denials"}).out,
      "AT (UTC)                 WHO        OUTCOME          COST  BY                          "
      "          OBSERVED             RETRY AFTER  TARGET\n"
      "2020-11-20 07:00:03.000  job-9:etl  DENIED             45  replication_lag_seconds on "
      "standby-2  7.1 s over hard 5 s        never\n"
      "2020-11-20 07:00:02.500  job-8:etl  WOULD_BE_DENIED    45  budget 'rows': burst        "
      "          debt 130 over 100\n"
      "2020-11-20 07:00:01.250  job-7:etl  DENIED             45  replication_lag_seconds on "
      "standby-2  7.1 s over hard 5 s           2s\n");
  EXPECT_THAT(Headgate({"log", "--denials", "1", "-o", "csv"}).out,
              EndsWith("\r\n3,2020-11-20T07:00:03+00:00,job-9:etl,,DENIED,45,HEALTH,health,,,"
                       "replication_lag_seconds on standby-2,7.1,5,,0\r\n"));
}

TEST_F(LogCommand, NarrowsDownDenialsAsItDoesSums) {
  log().AddDenial(DenialOf(1, "job-7:etl", Today(7, 0)));
  v1::Denial full = DenialOf(2, "job-8:nightly:etl", Today(8, 0));
  *full.mutable_cause() = BurstCause();
  full.set_target("main");
  log().AddDenial(full);
  const auto shown = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"log", "--denials"});
    const std::string out = Headgate(words).out;
    return std::string(out.find("job-7") != std::string::npos ? "7" : "") +
           (out.find("job-8") != std::string::npos ? "8" : "");
  };
  EXPECT_EQ(shown({}), "78");
  EXPECT_EQ(shown({"--signal", "replication_lag_seconds"}), "7");
  EXPECT_EQ(shown({"--signal", "replication_lag"}), "");
  EXPECT_EQ(shown({"--signal", "replication_lag_seconds on standby-2"}), "7");
  EXPECT_EQ(shown({"--budget", "rows"}), "8");
  EXPECT_EQ(shown({"--reason", "CAPACITY"}), "8");
  EXPECT_EQ(shown({"--outcome", "would-be-denied"}), "");
  EXPECT_EQ(shown({"--segment", "nightly"}), "8");
  EXPECT_EQ(shown({"--target", "main"}), "8");
  EXPECT_EQ(shown({"--since", "2020-11-20T07:30:00Z"}), "8");
  EXPECT_EQ(shown({"--since", "2020-11-20T07:00:00Z", "--until", "2020-11-20T08:00:00Z"}), "7");
}

TEST_F(LogCommand, SaysWhatIsNotCountedUnderItsOwnIdentity) {
  SetSums({Sum("etl", 90, 10)});
  log().sums.mutable_sums(0)->set_folded(40);
  log().total.set_folded(40);
  constexpr char kFolded[] =
      "\n40 Checks of too many identities at a time are counted under a level above their own\n";
  EXPECT_THAT(Headgate({"log", "--top"}).out, EndsWith(kFolded));
  EXPECT_THAT(Headgate({"log"}).out, HasSubstr(kFolded));
}

TEST_F(LogCommand, WhatHealthDeniedIsOneCauseWhicheverBudgetRefusedToo) {
  v1::DenialCause slowed = LagCause(800);
  slowed.set_limit_kind(v1::LIMIT_KIND_BURST);
  slowed.set_budget("rows");
  slowed.set_peak(9);
  log().intervals = {
      Interval("etl", Today(7, 0), Today(7, 25), 90, {BurstCause(790), slowed, LagCause(610)})};
  EXPECT_THAT(
      Headgate({"log"}).out,
      HasSubstr("  replication_lag_seconds on standby-2 (64 %), 1 more  9 s over hard 5 s\n"));
}

TEST_F(LogCommand, SaysSoWhereNothingWasDenied) {
  const Finished shown = Headgate({"log", "--denials"});
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(shown.out, "nothing was denied that is still kept\n");
  EXPECT_THAT(Headgate({"log", "--top"}).out, EndsWith("UTC: no such Check is in the log.\n"));
}

TEST_F(LogCommand, StripsShowTheShareThatWasDenied) {
  std::vector<v1::LogSum> sums;
  for (int hour = 6; hour < 14; ++hour) {
    sums.push_back(Sum("job-7:etl", 100 - 14 * (hour - 6), 14 * (hour - 6)));
    Set(Today(hour, 0), sums.back().mutable_from());
  }
  sums.push_back(Sum("job-8:etl", 10, 0));
  Set(Today(13, 0), sums.back().mutable_from());
  SetSums(sums);
  const std::vector<std::string> words = {"log", "--heat", "--by", "step=1h"};
  EXPECT_EQ(Headgate(words).out,
            "2020-11-20 06:00–14:03 UTC, 1h a cell:\n"
            "· not held back, ░ up to 25 %, ▒ 50 %, ▓ 75 %, █ more\n"
            "\n"
            "             08:00\n"
            "job-7:etl  ·░▒▒▓▓██     49 %\n"
            "job-8:etl         ·      0 %\n");
  const v1::QueryThrottleLogRequest query = log().queries().at(0);
  EXPECT_THAT(query.group_by(), ElementsAre(v1::LOG_GROUP_IDENTITY, v1::LOG_GROUP_STEP));
  EXPECT_EQ(query.step().seconds(), 3600);
}

TEST_F(LogCommand, WrongUsageSaysWhatIsWrong) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--since", "25:00"}, "--since: '25:00' is not a time such as 1h (ago)"},
      {{"--since", "2040-01-01"}, "--since: 2040-01-01 00:00:00 UTC is not before "},
      {{"--by", "colour"}, "'colour' is not one of identity|target|outcome|reason|"},
      {{"--by", "level"}, "'' is not a whole number above 0"},
      {{"--by", "step=1.5s"}, "whole seconds"},
      {{"--by", "signal,signal"}, "given twice"},
      {{"--by", "signal=3"}, "takes no value"},
      {{"--top", "0"}, "'0' is not a whole number above 0"},
      {{"--reason", "weather"}, "not one of exempt|deny-rule|reject-ratio|health|"},
      {{"--outcome", "denied"}, "it goes with --by"},
      {{"--denials", "--outcome", "allowed"}, "what was allowed is no denial"},
      {{"--follow", "--outcome", "allowed"}, "what was allowed is no denial"},
      {{"--top", "-3"}, "'-3' is not a whole number above 0"},
      {{"--denials", "-1"}, "'-1' is not a whole number above 0"},
      {{"\xff\xfe"}, "selector: '\\xff\\xfe' is not UTF-8"},
      {{"--budget", "\xc3"}, "--budget: '\\xc3' is not UTF-8"},
      {{"--target", "\xc3"}, "--target: '\\xc3' is not UTF-8"},
      {{"--follow", "--top"}, "single denials are not summed up"},
      {{"--heat", "--by", "signal"}, "--heat takes step=DURATION alone"},
      {{"--min-denied", "2"}, "is not a share above 0 and at most 1"},
      {{"--heat", "--min-denied", "0.2"}, "--min-denied"},
      {{"etl", "--segment", "a"}, "excludes"}};
  for (auto [words, message] : wrong) {
    words.insert(words.begin(), "log");
    const Finished refused = Headgate(words);
    EXPECT_EQ(refused.status, 2) << message;
    EXPECT_EQ(refused.out, "") << message;
    EXPECT_THAT(refused.err, AllOf(StartsWith("headgate: "), HasSubstr(message)));
  }
}

TEST(LogUnreachable, IsThree) {
  for (const char* view : {"--top", "--heat", "--denials", "--follow", "--local"}) {
    const Finished log = RunHeadgate({"log", view, "--address", "127.0.0.1:1"});
    EXPECT_EQ(log.status, 3) << view;
    EXPECT_THAT(log.err, StartsWith("headgate: cannot reach 127.0.0.1:1: ")) << view;
  }
}

}  // namespace
}  // namespace headgate::cli
