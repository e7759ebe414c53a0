// Who holds leases: by ListLeases, in status, and for one Check, by Explain.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/serve/rpc/waiting_fixture.h"
#include "tests/testing/error_details.h"
#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;

class HeldLeases : public testing::Test {
 protected:
  static engine::PolicySpec Policy() {
    engine::PolicySpec policy = OneBudget(RateBudget("rows", 10, 1000));
    policy.targets.resize(2);
    policy.targets[0].name = "orders";
    policy.targets[1].name = "billing";
    return policy;
  }
  static v1::CheckRequest LeaseRequest(const std::string& identity, double most,
                                       const std::string& target = "orders") {
    v1::CheckRequest request = CheckOf(identity, most);
    request.set_target(target);
    request.mutable_lease()->set_least(1);
    return request;
  }
  HeldLeases() : server_(Policy()) {
    std::vector<health::TargetSnapshot> targets(2);
    targets[0].name = "orders";
    targets[1].name = "billing";
    server_.status.targets = std::move(targets);
  }

  v1::Decision Lease(const std::string& identity, double most,
                     const std::string& target = "orders") {
    return server_.Check(LeaseRequest(identity, most, target));
  }
  v1::ListLeasesResponse Listed(const v1::ListLeasesRequest& request = {}) {
    return AnswerOf(server_.channel, &v1::StatusService::Stub::ListLeases, request);
  }
  v1::GetStatusResponse Status() {
    return AnswerOf(server_.channel, &v1::StatusService::Stub::GetStatus);
  }
  v1::ExplainResponse Explained(const std::string& identity) {
    v1::ExplainRequest request;
    *request.mutable_check() = CheckOf(identity, 1);
    request.mutable_check()->set_target("orders");
    return AnswerOf(server_.channel, &v1::ThrottlerService::Stub::Explain, request);
  }
  std::vector<std::string> FieldsWrongIn(const v1::ListLeasesRequest& request) {
    const grpc::Status status =
        CallRpc(server_.channel, &v1::StatusService::Stub::ListLeases, request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    const auto details = ReadDetails(status);
    return details.has_value() ? details->fields : std::vector<std::string>{};
  }

  InProcessServer server_;
};

TEST_F(HeldLeases, AreListedWithWhatTheyWereChargedAndUntilWhen) {
  Lease("job:etl", 40);
  server_.Advance(absl::Milliseconds(250));
  Lease("job:etl", 60);
  Lease("web:etl", 30, "billing");
  const v1::ListLeasesResponse listed = Listed();
  EXPECT_EQ(listed.holders_in_all(), 2);
  EXPECT_EQ(listed.leases(), 3);
  EXPECT_EQ(listed.overdue(), 0);
  ASSERT_EQ(listed.holders_size(), 2);
  const v1::LeaseHolder& holder = listed.holders(0);
  EXPECT_EQ(holder.target(), "orders");
  EXPECT_EQ(holder.identity(), "job:etl");
  EXPECT_EQ(holder.leases(), 2);
  EXPECT_EQ(holder.amount(), 100);
  EXPECT_EQ(holder.ends_in().seconds(), 1);
  EXPECT_EQ(holder.ends_in().nanos(), 0);
  ASSERT_EQ(holder.charges_size(), 1);
  EXPECT_EQ(holder.charges(0).budget(), "rows");
  EXPECT_NEAR(holder.charges(0).cost(), 100, 1e-6);
  EXPECT_EQ(holder.charges(0).unit(), v1::BUDGET_UNIT_COST);
  ASSERT_EQ(holder.held_size(), 2);
  EXPECT_EQ(holder.held(1).amount(), 40);
  EXPECT_EQ(holder.held(1).granted_ago().nanos(), 250'000'000);
  EXPECT_EQ(holder.held(1).ends_in().nanos(), 750'000'000);
  EXPECT_FALSE(holder.held(1).has_overdue_for());
  EXPECT_NEAR(holder.held(1).charges(0).cost(), 40, 1e-6);
  EXPECT_EQ(listed.holders(1).target(), "billing");
}

TEST_F(HeldLeases, ThatAreReturnedAreGoneAndThoseThatAreNotAreOverdue) {
  v1::ReportRequest report;
  v1::PermitReport& one = *report.add_reports();
  one.set_permit_id(Lease("job:etl", 40).permit_id());
  one.mutable_lease_use()->set_spent(10);
  one.mutable_lease_use()->set_pieces(2);
  Lease("job:etl", 60);
  server_.Report(report);
  EXPECT_EQ(Listed().holders(0).amount(), 60);
  server_.Advance(absl::Seconds(4));
  const v1::ListLeasesResponse listed = Listed();
  EXPECT_EQ(listed.leases(), 0);
  EXPECT_EQ(listed.overdue(), 1);
  ASSERT_EQ(listed.holders_size(), 1);
  EXPECT_EQ(listed.holders(0).overdue(), 1);
  EXPECT_EQ(listed.holders(0).overdue_amount(), 60);
  EXPECT_FALSE(listed.holders(0).has_ends_in());
  EXPECT_EQ(listed.holders(0).held(0).overdue_for().seconds(), 3);
  EXPECT_FALSE(listed.holders(0).held(0).has_ends_in());
}

TEST_F(HeldLeases, AreThoseOfATargetAndOfAnIdentityAlone) {
  Lease("job:etl", 40);
  Lease("other:etl", 20);
  Lease("job:etl", 30, "billing");
  v1::ListLeasesRequest request;
  request.set_target("orders");
  EXPECT_EQ(Listed(request).holders_in_all(), 2);
  EXPECT_EQ(Listed(request).leases(), 2);
  request.set_identity("job:etl");
  EXPECT_EQ(Listed(request).holders_in_all(), 1);
  request.clear_target();
  EXPECT_EQ(Listed(request).leases(), 2);
  request.set_identity("etl");
  EXPECT_EQ(Listed(request).leases(), 3);
}

TEST_F(HeldLeases, AreAsManyAsAreAskedFor) {
  for (int i = 1; i <= 25; ++i) Lease(absl::StrCat("job-", i, ":etl"), i);
  for (int i = 0; i < 7; ++i) Lease("many:etl", 10);
  v1::ListLeasesResponse listed = Listed();
  EXPECT_EQ(listed.holders_size(), 20);
  EXPECT_EQ(listed.holders_in_all(), 26);
  EXPECT_EQ(listed.leases(), 32);
  EXPECT_EQ(listed.holders(0).leases(), 7);
  EXPECT_EQ(listed.holders(0).held_size(), 5);
  EXPECT_EQ(listed.holders(1).identity(), "job-25:etl");
  v1::ListLeasesRequest request;
  request.set_page_size(2);
  request.set_leases(6);
  listed = Listed(request);
  EXPECT_EQ(listed.holders_size(), 2);
  EXPECT_EQ(listed.holders(0).held_size(), 6);
}

TEST_F(HeldLeases, ThatAreAskedForWronglyNameTheField) {
  v1::ListLeasesRequest request;
  request.set_page_size(1001);
  EXPECT_THAT(FieldsWrongIn(request), testing::ElementsAre("page_size"));
  request.set_page_size(0);
  for (const int leases : {-1, 101}) {
    request.set_leases(leases);
    EXPECT_THAT(FieldsWrongIn(request), testing::ElementsAre("leases"));
  }
  request.set_leases(100);
  request.set_identity("a::b");
  EXPECT_THAT(FieldsWrongIn(request), testing::ElementsAre("identity"));
  request.set_identity("etl");
  request.set_target("elsewhere");
  EXPECT_EQ(CallRpc(server_.channel, &v1::StatusService::Stub::ListLeases, request).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(HeldLeases, AreInStatusBesideTheirTarget) {
  for (int i = 1; i <= 7; ++i) Lease(absl::StrCat("job-", i, ":etl"), i);
  server_.Advance(absl::Seconds(2));
  for (int i = 1; i <= 6; ++i) Lease(absl::StrCat("job-", i, ":etl"), 10 * i);
  const v1::GetStatusResponse status = Status();
  ASSERT_EQ(status.targets_size(), 2);
  const v1::LeasesStatus& leases = status.targets(0).leases();
  EXPECT_EQ(leases.leases(), 6);
  EXPECT_EQ(leases.holders(), 6);
  EXPECT_EQ(leases.amount(), 210);
  EXPECT_EQ(leases.overdue(), 7);
  EXPECT_EQ(leases.overdue_amount(), 28);
  ASSERT_EQ(leases.most_size(), 5);
  EXPECT_EQ(leases.most(0).identity(), "job-6:etl");
  EXPECT_EQ(leases.most(0).held_size(), 1);
  EXPECT_EQ(leases.most(0).held(0).amount(), 60);
  EXPECT_FALSE(status.targets(1).has_leases());
}

TEST_F(HeldLeases, AreToldByExplainOfTheirHolderAlone) {
  Lease("job:etl", 40);
  server_.Advance(absl::Milliseconds(500));
  Lease("job:etl", 60);
  const v1::LeasesHeld held = Explained("job:etl").leases();
  EXPECT_EQ(held.leases(), 2);
  EXPECT_EQ(held.amount(), 100);
  EXPECT_EQ(held.ends_in().seconds(), 1);
  EXPECT_EQ(held.overdue(), 0);
  EXPECT_FALSE(Explained("other:etl").has_leases());
  EXPECT_FALSE(Explained("etl").has_leases());
  server_.Advance(absl::Seconds(5));
  EXPECT_EQ(Explained("job:etl").leases().overdue(), 2);
  EXPECT_FALSE(Explained("job:etl").leases().has_ends_in());
}

// Two are held, and there are no more places: the third waits for one of them.
TEST(HeldLeasesInLine, OneIdentityHoldsTwoAndAnotherWaits) {
  engine::PolicySpec policy = OneBudget(engine::ConcurrencyBudget("places", 2));
  InProcessServer server(std::move(policy));
  const auto lease = [](const std::string& identity) {
    v1::CheckRequest request = CheckOf(identity, 40);
    request.mutable_lease()->set_least(1);
    return request;
  };
  const v1::Decision first = server.Check(lease("job:etl"));
  server.Check(lease("job:etl"));
  v1::CheckRequest third = lease("late:etl");
  third.mutable_max_wait()->set_seconds(60);
  ThreadedCall<v1::CheckRequest, v1::CheckResponse> waits(
      server.channel, &v1::ThrottlerService::Stub::Check, third);
  ASSERT_TRUE(Waiting(server, 1));
  const auto listed = [&] {
    return AnswerOf(server.channel, &v1::StatusService::Stub::ListLeases);
  };
  ASSERT_EQ(listed().holders_size(), 1);
  EXPECT_EQ(listed().holders(0).identity(), "job:etl");
  EXPECT_EQ(listed().holders(0).leases(), 2);
  v1::ReportRequest report;
  v1::PermitReport& one = *report.add_reports();
  one.set_permit_id(first.permit_id());
  one.mutable_lease_use()->set_spent(40);
  one.mutable_lease_use()->set_pieces(1);
  server.Report(report);
  EXPECT_EQ(waits.Answer().decision().verdict(), v1::VERDICT_ALLOWED);
  const v1::ListLeasesResponse each_one = listed();
  ASSERT_EQ(each_one.holders_size(), 2);
  for (const v1::LeaseHolder& holder : each_one.holders()) EXPECT_EQ(holder.leases(), 1);
}

}  // namespace
}  // namespace headgate::rpc
