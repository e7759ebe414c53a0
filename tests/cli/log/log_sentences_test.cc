// log: what it says of what it found, and that it is true of it.

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/log_server.h"

namespace headgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class LogSentences : public ::testing::Test {
 protected:
  LogSentences() {
    log().total = Sum("", 1558, 1422);
    log().intervals = {
        Interval("etl", Today(7, 0), Today(7, 25), 90, {LagCause(1410)}),
        Interval("etl", Today(9, 12), Today(9, 12, 40), 8, {BurstCause(10), LagCause(2)})};
  }

  FakeLog& log() { return server_.log(); }
  Finished Headgate(std::vector<std::string> words) { return server_.Headgate(std::move(words)); }
  void SetSums(const std::vector<v1::LogSum>& sums) {
    for (const v1::LogSum& sum : sums) *log().sums.add_sums() = sum;
  }

  LogServer server_;
};

TEST_F(LogSentences, HeadlineOfSomeDenialsCountsTheSameOnesAsTheTable) {
  log().total = Sum("", 226, 46280);
  log().denied_by_it = 2398;
  log().intervals = {Interval("etl", Today(7, 0), Today(7, 1), 225, {BurstCause(2398)})};
  const Finished shown = Headgate({"log", "--reason", "capacity"});
  EXPECT_THAT(
      shown.out,
      StartsWith("2020-11-20 06:00–14:03 UTC: work was held back for 1m, by budget 'rows': "
                 "burst; 2398 of 2624 Checks were so denied (91 %), not counting 43882 that "
                 "something else denied.\n"));
  EXPECT_THAT(shown.out, HasSubstr("91 %       2623  budget 'rows': burst"));
}

TEST_F(LogSentences, HeadlineSaysSoWhereOnlyOthersDenied) {
  log().intervals.clear();
  EXPECT_THAT(Headgate({"log", "--budget", "rows"}).out,
              EndsWith(": at no time were 50 % of the Checks of work denied like that; 0 of 1558 "
                       "Checks were so denied (0 %), not counting 1422 that something else "
                       "denied.\n"));
}

TEST_F(LogSentences, HeadlineIsOfAllTimesHoweverFewAreShown) {
  const std::string all = Headgate({"log"}).out;
  const std::string one = Headgate({"log", "--limit", "1"}).out;
  EXPECT_EQ(one.substr(0, one.find('\n')), all.substr(0, all.find('\n')));
  EXPECT_THAT(one, AllOf(Not(HasSubstr("09:12")), EndsWith("\nand 1 more\n")));
}

TEST_F(LogSentences, MostlyIsMoreThanHalf) {
  v1::DenialCause cost = BurstCause(33);
  cost.set_limit_kind(v1::LIMIT_KIND_MAX_COST);
  log().intervals = {
      Interval("etl", Today(7, 0), Today(7, 1), 0, {LagCause(34), BurstCause(33), cost})};
  EXPECT_THAT(
      Headgate({"log"}).out,
      HasSubstr("held back for 1m, by several causes, most often by replication_lag_seconds "
                "on standby-2 (34 %); "));
  log().intervals = {Interval("etl", Today(7, 0), Today(7, 1), 0, {LagCause(51), BurstCause(49)})};
  EXPECT_THAT(Headgate({"log"}).out, HasSubstr("for 1m, mostly by replication_lag_seconds"));
  log().intervals = {Interval("etl", Today(7, 0), Today(7, 1), 0, {LagCause(50), BurstCause(50)})};
  EXPECT_THAT(Headgate({"log"}).out, HasSubstr("several causes, most often by"));
}

TEST_F(LogSentences, AStoreThatIsDownIsAnAnswerAndFour) {
  log().query_status = grpc::Status(
      grpc::StatusCode::UNAVAILABLE,
      "the throttle log cannot be read: connection refused\n\tIs the server running?\n", "x");
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"log"}, {"log", "--top"}, {"log", "--heat"}}) {
    const Finished failed = Headgate(words);
    EXPECT_EQ(failed.status, 4);
    EXPECT_EQ(failed.err,
              "headgate: the throttle log cannot be read: connection refused Is the server "
              "running?\n");
  }
  // Whoever answers without saying why is not Headgate.
  log().query_status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "no upstream");
  EXPECT_EQ(Headgate({"log"}).status, 3);
}

TEST_F(LogSentences, SaysSoWhereNoDenialThatIsKeptMatches) {
  log().AddDenial(DenialOf(1, "job-7:etl", Today(7, 0)));
  for (const auto& words : std::vector<std::vector<std::string>>{{"nosuch"},
                                                                 {"--reason", "capacity"},
                                                                 {"--segment", "x"},
                                                                 {"--until", "2020-11-20 06:00"}}) {
    std::vector<std::string> command = {"log", "--denials"};
    command.insert(command.end(), words.begin(), words.end());
    EXPECT_EQ(Headgate(command).out, "no denial that is still kept matches\n") << words[0];
  }
  std::vector<v1::Denial> many;
  for (int i = 1; i <= 1000; ++i) many.push_back(DenialOf(i, "etl", Today(7, 0)));
  log().SetDenials(many);
  EXPECT_EQ(Headgate({"log", "--denials", "--reason", "capacity"}).out,
            "none of the newest 1000 denials matches; older ones are not looked at\n");
}

TEST_F(LogSentences, RefusesStripsThatNobodyCouldLookAt) {
  const Finished refused = Headgate({"log", "--heat", "--by", "step=10s", "--since",
                                     "2020-11-01T00:00:00Z", "--until", "2020-11-21T00:00:00Z"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.err,
            "headgate: --by: step=10s makes strips of 172800 cells; at most 1000. step=24h fits in "
            "this window\n");
  EXPECT_TRUE(log().queries().empty());
}

TEST_F(LogSentences, TopOfStripsIsTheMostDenied) {
  SetSums({Sum("a", 9, 1), Sum("b", 1, 9), Sum("c", 5, 5)});
  for (v1::LogSum& sum : *log().sums.mutable_sums()) Set(Today(7, 0), sum.mutable_from());
  const std::string out = Headgate({"log", "--heat", "--top", "1"}).out;
  EXPECT_THAT(out, AllOf(HasSubstr("\nb  "), Not(HasSubstr("\nc  ")), EndsWith("and 2 more\n")));
}

}  // namespace
}  // namespace headgate::cli
