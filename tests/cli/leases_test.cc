// Who holds leases, as leases, explain, status and top show it.

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/cli/output/lease_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/json.h"
#include "tests/cli/line_server.h"
#include "tests/cli/run_headgate.h"
#include "tests/cli/test_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::LeaseCharge ChargeOf(const std::string& budget, double cost, v1::BudgetUnit unit) {
  v1::LeaseCharge charge;
  charge.set_budget(budget);
  charge.set_cost(cost);
  charge.set_unit(unit);
  return charge;
}

// One who holds two and is overdue with a third, and one who is overdue of whom nothing is known.
LeaseHolders TwoHolders() {
  LeaseHolders holders;
  v1::LeaseHolder& job = *holders.Add();
  job.set_target("main");
  job.set_identity("job-7:etl\x1b[2J");
  job.set_leases(2);
  job.set_amount(900);
  job.mutable_ends_in()->set_nanos(400'000'000);
  *job.add_charges() = ChargeOf("busy", 0.5, v1::BUDGET_UNIT_BUSY_TIME);
  *job.add_charges() = ChargeOf("rows", 900, v1::BUDGET_UNIT_COST);
  job.set_overdue(1);
  job.set_overdue_amount(40);
  v1::HeldLease& lease = *job.add_held();
  lease.set_amount(600);
  lease.mutable_granted_ago()->set_nanos(600'000'000);
  lease.mutable_ends_in()->set_nanos(400'000'000);
  *lease.add_charges() = ChargeOf("rows", 600, v1::BUDGET_UNIT_COST);
  v1::HeldLease& overdue = *job.add_held();
  overdue.set_amount(40);
  overdue.mutable_granted_ago()->set_seconds(13);
  overdue.mutable_overdue_for()->set_seconds(12);
  v1::LeaseHolder& unknown = *holders.Add();
  unknown.set_target("main");
  unknown.set_overdue(3);
  unknown.set_overdue_amount(75);
  return holders;
}

class LeasesCommand : public ::testing::Test {
 protected:
  LeasesCommand() {
    *server_.leases.mutable_holders() = TwoHolders();
    server_.leases.set_holders_in_all(7);
    server_.leases.set_leases(12);
    server_.leases.set_overdue(4);
    v1::TargetStatus& target = *server_.status.add_targets();
    target.set_name("main");
    v1::LeasesStatus& leases = *target.mutable_leases();
    leases.set_leases(12);
    leases.set_holders(6);
    leases.set_amount(2400);
    leases.set_overdue(4);
    leases.set_overdue_amount(115);
    *leases.mutable_most() = TwoHolders();
  }

  LineServer server_;
};

TEST_F(LeasesCommand, ShowsWhoHoldsHowMuchUntilWhen) {
  const Finished leases = server_.Headgate({"leases"});
  EXPECT_EQ(leases.status, 0) << leases.err;
  EXPECT_THAT(
      leases.out,
      AllOf(HasSubstr("HOLDS LEASES      TARGET  LEASES  AMOUNT  ENDS IN  CHARGED               "
                      "OVERDUE\n"),
            HasSubstr("job-7:etl\\x1b[2J  main         2     900    400ms  busy 0.5 s, rows 900 "
                      "  1 (40)\n"),
            HasSubstr("(not known)       main         0       0                                  "
                      "3 (75)\n"),
            HasSubstr("and 5 more hold leases\n"), Not(HasSubstr("LEASE OF"))));
  EXPECT_EQ(server_.asked_for_leases.page_size(), 1000);
}

TEST_F(LeasesCommand, ShowsEachOfOneIdentity) {
  const Finished leases = server_.Headgate({"leases", "job-7:etl", "--target", "main"});
  EXPECT_EQ(leases.status, 0) << leases.err;
  EXPECT_THAT(leases.out, AllOf(HasSubstr("LEASE OF"), HasSubstr("600ms ago"),
                                HasSubstr("overdue for 12s"), HasSubstr("rows 600")));
  EXPECT_EQ(server_.asked_for_leases.identity(), "job-7:etl");
  EXPECT_EQ(server_.asked_for_leases.target(), "main");
  EXPECT_EQ(server_.asked_for_leases.leases(), 100);
}

TEST_F(LeasesCommand, SpeaksJsonAndCsv) {
  auto fields = ParseJson(server_.Headgate({"leases", "-o", "json"}).out);
  EXPECT_EQ(At(fields["holders"].list_value().values(0), "leases").string_value(), "2");
  EXPECT_THAT(
      server_.Headgate({"leases", "-o", "csv"}).out,
      AllOf(HasSubstr("kind,target,identity,leases,amount,ends_in_s,charges,overdue,overdue_amount,"
                      "granted_ago_s,overdue_for_s\r\n"),
            HasSubstr(",2,900,0.4,busy 0.5; rows 900,1,40,,\r\n"),
            HasSubstr(",,600,0.4,rows 600,,,0.6,\r\n"), HasSubstr(",,40,,,,,13,12\r\n"),
            HasSubstr("holder,main,,0,0,,,3,75,,\r\n")));
}

TEST_F(LeasesCommand, SaysThatThereAreNone) {
  server_.leases.Clear();
  EXPECT_EQ(server_.Headgate({"leases"}).out, "nobody holds leases\n");
  EXPECT_EQ(server_.Headgate({"leases", "job:etl"}).out, "it holds no leases\n");
}

TEST_F(LeasesCommand, OfStatusIsALineOfEachTarget) {
  EXPECT_THAT(server_.Headgate({"status"}).out,
              HasSubstr("  leases 12 of 2400, held by 6 identities; overdue 4 of 115, which count "
                        "as used; most: job-7:etl\\x1b[2J 900\n"));
  EXPECT_THAT(server_.Headgate({"status", "-o", "csv"}).out,
              AllOf(HasSubstr("\r\nleases,main,,,12,,,,\r\n"),
                    HasSubstr("\r\nlease_amount,main,,,2400,,,,\r\n"),
                    HasSubstr("\r\nleases_overdue,main,,,4,,,,\r\n"),
                    HasSubstr("\r\nlease_holder,main,,\"0 held, 3 overdue\",0,,,,\r\n")));
  server_.status.mutable_targets(0)->clear_leases();
  EXPECT_THAT(server_.Headgate({"status"}).out, Not(HasSubstr("leases")));
}

TEST_F(LeasesCommand, OfTopStandsBesideWhoIsHeldBack) {
  v1::LineStatus& line = *server_.lines.add_lines();
  line.set_target("main");
  line.set_budget("rows");
  for (const char* identity : {"job-7:etl\x1b[2J", "other:etl"}) {
    v1::LineWaiter& waiter = *line.add_next();
    waiter.set_identity(identity);
    waiter.mutable_waited()->set_seconds(2);
  }
  const Finished top = server_.Headgate({"top"});
  EXPECT_EQ(top.status, 0) << top.err;
  EXPECT_THAT(top.out, AllOf(HasSubstr("OF  HOLDS\n"), HasSubstr("2 leases of 900\n"),
                             HasSubstr("HOLDS LEASES"), HasSubstr("and 5 more hold leases\n")));
  EXPECT_THAT(server_.Headgate({"top", "-o", "csv"}).out,
              AllOf(HasSubstr(",priority,leases,leased,ends_in_s,overdue\r\n"),
                    HasSubstr(",,,,,,2,900,0.4,1\r\n")));
  auto fields = ParseJson(server_.Headgate({"top", "-o", "json"}).out);
  EXPECT_EQ(At(fields["leases"], "leases").string_value(), "12");
}

TEST_F(LeasesCommand, OfExplainSaysWhatItHolds) {
  server_.explanation.mutable_decision()->set_verdict(v1::VERDICT_ALLOWED);
  EXPECT_THAT(server_.Headgate({"explain", "job:etl"}).out, Not(HasSubstr("lease")));
  v1::LeasesHeld& held = *server_.explanation.mutable_leases();
  held.set_leases(2);
  held.set_amount(900);
  held.mutable_ends_in()->set_nanos(400'000'000);
  held.set_overdue(1);
  held.set_overdue_amount(40);
  EXPECT_THAT(server_.Headgate({"explain", "job:etl"}).out,
              HasSubstr("it holds 2 leases of 900 together, charged in advance; the last one ends "
                        "in 400ms; its leases overdue 1 of 40, which counts as used\n"));
  held.set_leases(0);
  EXPECT_THAT(server_.Headgate({"explain", "job:etl"}).out,
              HasSubstr("\nits leases overdue 1 of 40, which counts as used\n"));
}

// There are two places: one job holds both by a lease each, and another waits for one of them.
TEST(LeasesOfAServer, OneHoldsTwoAndAnotherWaitsForOne) {
  engine::PolicySpec policy = engine::OneBudget(engine::ConcurrencyBudget("places", 2));
  policy.targets.emplace_back().name = "orders";
  TestServer server(std::move(policy));
  std::vector<health::TargetSnapshot> targets(1);
  targets[0].name = "orders";
  server.status.targets = std::move(targets);
  const auto lease = [](const std::string& identity) {
    v1::CheckRequest request = CheckOf(identity, 40);
    request.mutable_lease()->set_least(1);
    return request;
  };
  server.Check(lease("job:etl"));
  server.Check(lease("job:etl"));
  std::thread waits([&server, late = lease("late:etl")]() mutable {
    late.mutable_max_wait()->set_seconds(60);
    EXPECT_EQ(server.Check(late).verdict(), v1::VERDICT_ALLOWED);
  });
  EXPECT_TRUE(WaitUntil([&] { return server.line_stats().waiting == 1; }));
  EXPECT_THAT(server.Headgate({"leases"}).out,
              AllOf(HasSubstr("job:etl       orders       2      80"), Not(HasSubstr("late:etl"))));
  const Finished top = server.Headgate({"top"});
  EXPECT_THAT(top.out, AllOf(HasSubstr("late:etl"), HasSubstr("job:etl")));
  EXPECT_THAT(server.Headgate({"status"}).out,
              HasSubstr("  leases 2 of 80, held by 1 identity; most: job:etl 80\n"));
  EXPECT_THAT(server.Headgate({"explain", "job:etl", "--cost", "1"}).out,
              HasSubstr("it holds 2 leases of 80 together, charged in advance"));
  // Their time is over: they count as used, and give their places back.
  server.Advance(absl::Seconds(2));
  waits.join();
  EXPECT_THAT(server.Headgate({"leases"}).out, AllOf(HasSubstr("late:etl"), HasSubstr("2 (80)")));
}

}  // namespace
}  // namespace headgate::cli
