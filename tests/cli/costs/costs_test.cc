// headgate costs, costs forget and forgive against a server: what an operator does where a job has
// reported in the wrong unit.

#include "gmock/gmock.h"
#include "tests/cli/json.h"
#include "tests/cli/test_server.h"

namespace headgate::cli {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CostsCommand : public ::testing::Test {
 protected:
  void Work(const std::string& identity, const std::string& pattern, const std::string& estimate,
            const std::string& actual) {
    const Finished check = server_.Headgate(
        {"check", identity, "--pattern", pattern, "--cost", estimate, "-o", "json"});
    ASSERT_EQ(check.status, 0) << check.out << check.err;
    const std::string permit = At(ParseJson(check.out)["decision"], "permit_id").string_value();
    ASSERT_EQ(server_.Headgate({"report", permit, "--actual-cost", actual}).status, 0);
  }

  TestServer server_{OneBudget(RateBudget("rows", 10, 1000)),
                     {.overrides = InProcessOptions::kKept}};
};

TEST_F(CostsCommand, ShowsWhatWasLearntOfARootAndItsPatterns) {
  EXPECT_EQ(server_.Headgate({"costs"}).out, "nothing was learnt\n");
  Work("job-7:etl", "copy", "10", "20");
  const Finished all = server_.Headgate({"costs"});
  EXPECT_EQ(all.status, 0);
  EXPECT_THAT(all.out, AllOf(HasSubstr("COST PER ESTIMATE"), HasSubstr("BUSY s PER UNIT"),
                             HasSubstr("  etl "), HasSubstr("copy"), HasSubstr("(all work)")));
  EXPECT_THAT(server_.Headgate({"costs", "--pattern", "copy"}).out,
              AllOf(HasSubstr("copy"), Not(HasSubstr("(all work)"))));
  EXPECT_THAT(server_.Headgate({"costs", "other:job"}).out, "nothing was learnt\n");
  EXPECT_THAT(
      server_.Headgate({"costs", "--pattern", "copy", "-o", "csv"}).out,
      AllOf(StartsWith("target,root,caller,pattern,cost_ratio,"), HasSubstr("\r\n,etl,,copy,")));
  EXPECT_THAT(server_.Headgate({"costs", "-o", "json"}).out, HasSubstr("\"cost_ratio\""));
}

TEST_F(CostsCommand, ForgetsByRootAndByPatternAndKeepsWhoDidIt) {
  Work("job-7:etl", "copy", "10", "20");
  Work("job-8:etl", "purge", "10", "20");
  const Finished pattern = server_.Headgate(
      {"costs", "forget", "--pattern", "copy", "--reason", "bytes for rows", "--actor", "ann"});
  EXPECT_EQ(pattern.status, 0) << pattern.err;
  EXPECT_THAT(pattern.out, StartsWith("forgotten: 1 learnt cost\n"));
  EXPECT_THAT(server_.Headgate({"costs"}).out, AllOf(Not(HasSubstr("copy")), HasSubstr("purge")));
  EXPECT_EQ(server_.Headgate({"costs", "forget", "x:etl", "--reason", "y"}).status, 0);
  EXPECT_EQ(server_.Headgate({"costs"}).out, "nothing was learnt\n");
  const Finished again = server_.Headgate({"costs", "forget", "etl", "--reason", "y"});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("nothing was learnt of its root"));
  EXPECT_THAT(
      server_.Headgate({"overrides", "--events"}).out,
      AllOf(HasSubstr("COSTS_FORGOTTEN"), HasSubstr("1 learnt cost of pattern copy"),
            HasSubstr("ann"), HasSubstr("bytes for rows"), HasSubstr("learnt costs of root etl")));
}

TEST_F(CostsCommand, ForgivesWhatLocksAJobOut) {
  Work("job-7:etl", "copy", "100", "1000");
  EXPECT_EQ(server_.Headgate({"check", "job-7:etl", "--cost", "50"}).status, 1);
  const Finished forgiven =
      server_.Headgate({"forgive", "job-7:etl", "--budget", "rows", "--reason", "bytes for rows"});
  EXPECT_EQ(forgiven.status, 0) << forgiven.err;
  EXPECT_THAT(forgiven.out, StartsWith("forgiven: 1000 that job-7:etl"));
  EXPECT_EQ(server_.Debt("job-7:etl"), 0);
  EXPECT_THAT(server_.Headgate({"overrides", "--events", "-o", "csv"}).out,
              AllOf(HasSubstr("DEBT_FORGIVEN"), HasSubstr("\"1,000 that job-7:etl"),
                    HasSubstr("bytes for rows")));
}

TEST_F(CostsCommand, SaysWhatIsNotThere) {
  const Finished budget =
      server_.Headgate({"forgive", "job-7:etl", "--budget", "bytes", "--reason", "x"});
  EXPECT_EQ(budget.status, 2);
  EXPECT_THAT(budget.err, HasSubstr("no budget 'bytes' is configured"));
  const Finished rule = server_.Headgate({"forgive", "web", "--budget", "rows", "--reason", "x"});
  EXPECT_EQ(rule.status, 2);
  EXPECT_THAT(rule.err, HasSubstr("no rule charges 'web' to budget 'rows'"));
  EXPECT_EQ(server_.Headgate({"costs", "--target", "nowhere"}).status, 2);
}

TEST(CostsWithoutAStateFolder, ShowsThemButChangesNothing) {
  TestServer server(OneBudget(RateBudget("rows", 10, 1000)),
                    {.overrides = InProcessOptions::kWithoutStateFolder});
  EXPECT_EQ(server.Headgate({"costs"}).status, 0);
  const Finished forgive = server.Headgate({"forgive", "etl", "--budget", "rows", "--reason", "x"});
  EXPECT_EQ(forgive.status, 4);
  EXPECT_THAT(forgive.err, HasSubstr("set server.state_dir"));
}

}  // namespace
}  // namespace headgate::cli
