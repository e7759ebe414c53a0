// Whose learnt costs a caller sees and forgets: what its own Reports taught, or, where callers
// share, what its own identities' work is predicted with.

#include "gmock/gmock.h"
#include "tests/security/access_fixture.h"

namespace headgate::security {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Costs = v1::CostService::Stub;

class CostsAccess : public ::testing::Test {
 protected:
  CostsAccess() { Install(false); }

  void Install(bool share_patterns) {
    engine::PolicySpec policy = engine::OneBudget(engine::RateBudget("b", 1000, 100'000));
    policy.rules[0].match.identity = "backfill";
    policy.share_patterns = share_patterns;
    const absl::Status installed = server_.registry->Install(std::move(policy));
    ASSERT_TRUE(installed.ok()) << installed;
  }
  void Work(const Peer& peer, const std::string& pattern) {
    v1::CheckRequest check = CheckOf("orders:backfill", 10);
    check.set_pattern(pattern);
    v1::CheckResponse answer;
    ASSERT_TRUE(CallRpc(peer, &v1::ThrottlerService::Stub::Check, check, answer).ok());
    v1::ReportRequest request;
    request.add_reports()->set_permit_id(answer.decision().permit_id());
    request.mutable_reports(0)->set_actual_cost(20);
    v1::ReportResponse report;
    ASSERT_TRUE(CallRpc(peer, &v1::ThrottlerService::Stub::Report, request, report).ok());
  }
  // "caller/pattern" of each.
  static std::vector<std::string> Seen(const Peer& peer, const std::string& identity = "") {
    v1::ListCostsRequest request;
    request.set_identity(identity);
    v1::ListCostsResponse response;
    const grpc::Status status = CallRpc(peer, &Costs::ListCosts, request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> seen;
    for (const v1::LearntCost& cost : response.costs()) {
      if (!cost.pattern().empty()) seen.push_back(cost.caller() + "/" + cost.pattern());
    }
    return seen;
  }
  static grpc::Status Forget(const Peer& peer, const std::string& identity) {
    v1::ForgetCostsRequest request;
    request.set_identity(identity);
    request.set_reason("units");
    return CallRpc(peer, &Costs::ForgetCosts, request);
  }

  GuardedServer server_;
  Peer backfill_ = server_.WithUri(kBackfill);
  Peer dba_ = server_.Certified({.dns = {"dba.example"}});
  Peer sre_ = server_.Bare(Bearer(kSreToken));
};

TEST_F(CostsAccess, ACallerSeesAndForgetsWhatItTaughtItself) {
  Work(backfill_, "copy");
  Work(dba_, "purge");
  EXPECT_THAT(Seen(dba_), ElementsAre("dba/purge"));
  EXPECT_THAT(Seen(dba_, "orders:backfill"), ElementsAre("dba/purge"));
  EXPECT_THAT(Seen(sre_), UnorderedElementsAre("dba/purge", "backfill/copy"));
  EXPECT_TRUE(Forget(dba_, "orders:backfill").ok());
  EXPECT_THAT(Seen(sre_), ElementsAre("backfill/copy"));
  EXPECT_TRUE(Forget(sre_, "backfill").ok());
  EXPECT_THAT(Seen(sre_), IsEmpty());
}

TEST_F(CostsAccess, WhereCallersShareItSeesItsIdentitiesCostsAndForgetsWholeRootsOfItsOwn) {
  Install(true);
  Work(backfill_, "copy");
  EXPECT_THAT(Seen(dba_, "orders:backfill"), ElementsAre("/copy"));
  v1::ListCostsRequest all;
  EXPECT_EQ(CallRpc(dba_, &Costs::ListCosts, all).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(Forget(dba_, "orders:backfill").ok());  // it may speak for all of `backfill`
  EXPECT_THAT(Seen(sre_), IsEmpty());
}

TEST_F(CostsAccess, TheActorIsTheCaller) {
  Work(dba_, "purge");
  v1::ForgetCostsRequest request;
  request.set_pattern("purge");
  request.set_actor("mallory");
  request.set_reason("units");
  ASSERT_TRUE(CallRpc(dba_, &Costs::ForgetCosts, request).ok());
  v1::ListOverrideEventsResponse events;
  ASSERT_TRUE(CallRpc(sre_, &v1::OverrideService::Stub::ListOverrideEvents,
                      v1::ListOverrideEventsRequest(), events)
                  .ok());
  ASSERT_EQ(events.events_size(), 1);
  EXPECT_EQ(events.events(0).actor(), "dba");
  EXPECT_EQ(events.events(0).reason(), "units (asked by mallory)");
  EXPECT_EQ(events.events(0).change(), "1 learnt cost of pattern purge that the actor taught");
}

}  // namespace
}  // namespace headgate::security
