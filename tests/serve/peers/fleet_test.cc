// Questions of people: any server answers for all, and says which of them did not answer.

#include <headgate/peer/v1/question_service.grpc.pb.h>
#include <headgate/v1/cluster_service.grpc.pb.h>
#include <headgate/v1/cost_service.grpc.pb.h>
#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/status_service.grpc.pb.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/govern/access/literal_evidence.h"
#include "tests/serve/peers/peers_fixture.h"

namespace headgate::peers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using StatusStub = v1::StatusService::Stub;
using ClusterStub = v1::ClusterService::Stub;

InProcessOptions WithOverrides() {
  InProcessOptions options;
  options.overrides = InProcessOptions::kKept;
  return options;
}

double DebtOf(const v1::ListBudgetsResponse& budgets, const std::string& target) {
  for (const v1::BudgetStatus& budget : budgets.budgets()) {
    if (budget.target() == target) return budget.debt();
  }
  return -1;
}

TEST(Fleet, BudgetsAreThoseOfTheirTargetsOwners) {
  Servers servers(3);
  servers[0].Decide(CheckAt("t0", "job:etl", 10));
  servers[0].Decide(CheckAt("t1", "job:etl", 20));
  servers[0].Decide(CheckAt("t2", "job:etl", 30));
  for (int asked = 0; asked < 3; ++asked) {
    const auto budgets = AnswerOf(servers[asked].caller, &StatusStub::ListBudgets);
    EXPECT_EQ(DebtOf(budgets, "t0"), 10) << asked;
    EXPECT_EQ(DebtOf(budgets, "t1"), 20) << asked;
    EXPECT_EQ(DebtOf(budgets, "t2"), 30) << asked;
  }
}

TEST(Fleet, BudgetsHavePagesOverAllServers) {
  Servers servers(3);
  servers[0].Decide(CheckAt("t2", "job:etl", 30));
  v1::ListBudgetsRequest request;
  request.set_page_size(2);
  const auto first = AnswerOf(servers[0].caller, &StatusStub::ListBudgets, request);
  ASSERT_EQ(first.budgets_size(), 2);
  request.set_page_token(first.next_page_token());
  const auto second = AnswerOf(servers[0].caller, &StatusStub::ListBudgets, request);
  ASSERT_EQ(second.budgets_size(), 1);
  EXPECT_EQ(second.budgets(0).debt(), 30);
  EXPECT_EQ(second.next_page_token(), "");
}

TEST(Fleet, StatusTellsWhoOwnsWhatAndCountsPermitsOfAll) {
  Servers servers(2);
  servers[0].Decide(CheckAt("t0", "job:etl", 10));
  servers[0].Decide(CheckAt("t1", "job:etl", 20));
  const auto status = AnswerOf(servers[1].caller, &StatusStub::GetStatus);
  EXPECT_EQ(status.permits_outstanding(), 2);
  EXPECT_EQ(status.cluster().server(), "s1");
  ASSERT_EQ(status.cluster().members_size(), 2);
  EXPECT_EQ(status.cluster().members(0).name(), "s0");
  EXPECT_EQ(status.cluster().members(0).version(), "1.2.3");
  EXPECT_EQ(status.cluster().members(0).error(), "");
  EXPECT_EQ(status.cluster().members(0).targets(), 1);
  ASSERT_EQ(status.cluster().targets_size(), 2);
  EXPECT_EQ(status.cluster().targets(1).target(), "t1");
  EXPECT_EQ(status.cluster().targets(1).owner(), "s1");
}

// Only the server that decides sees whom no rule matches.
TEST(Fleet, StatusHasWhatTheOthersWarnOf) {
  Servers servers(2);
  servers[0].status.warnings = {"of nothing"};
  servers[1].status.warnings = {"no rule matched"};
  const auto status = AnswerOf(servers[0].caller, &StatusStub::GetStatus);
  EXPECT_THAT(status.warnings(), ElementsAre("of nothing", "s1: no rule matched"));
}

TEST(Fleet, StatusSaysWhichServerDidNotAnswer) {
  Servers servers(3);
  servers[0].Decide(CheckAt("t1", "job:etl", 20));
  servers.Kill(2);
  const auto status = AnswerOf(servers[0].caller, &StatusStub::GetStatus);
  EXPECT_EQ(status.permits_outstanding(), 1);
  ASSERT_EQ(status.cluster().members_size(), 3);
  EXPECT_EQ(status.cluster().members(1).error(), "");
  EXPECT_NE(status.cluster().members(2).error(), "");
}

TEST(Fleet, ExplainIsTheOwnersForWhomEverAsks) {
  Servers servers(2);
  servers[0].Decide(CheckAt("t1", "job:etl", 90));
  v1::ExplainRequest request;
  *request.mutable_check() = CheckAt("t1", "job:etl", 50);
  const auto explain = &v1::ThrottlerService::Stub::Explain;
  const auto here = AnswerOf(servers[0].caller, explain, request);
  const auto there = AnswerOf(servers[1].caller, explain, request);
  EXPECT_EQ(here.decision().verdict(), v1::VERDICT_DENIED);
  EXPECT_EQ(here.SerializeAsString(), there.SerializeAsString());
}

TEST(Fleet, ErrorsOfTheOwnerComeWithTheirDetails) {
  Servers servers(2);
  v1::ExplainRequest request;
  *request.mutable_check() = CheckAt("t1", "not an identity", 50);
  const auto explain = &v1::ThrottlerService::Stub::Explain;
  const grpc::Status here = CallRpc(servers[0].caller, explain, request);
  EXPECT_EQ(FieldAtFault(here), "check.identity");
  EXPECT_EQ(here.error_details(), CallRpc(servers[1].caller, explain, request).error_details());
}

TEST(Fleet, DebtIsForgivenByTheOwner) {
  Servers servers(2, WithOverrides());
  servers[0].Decide(CheckAt("t1", "job:etl", 90));
  v1::ForgiveDebtRequest request;
  request.set_target("t1");
  request.set_identity("job:etl");
  request.set_budget("b");
  request.set_actor("ann");
  request.set_reason("a mistake");
  const auto forgiven = AnswerOf(servers[0].caller, &v1::CostService::Stub::ForgiveDebt, request);
  EXPECT_EQ(forgiven.forgiven(), 90);
  EXPECT_EQ(servers[0].Decide(CheckAt("t1", "job:etl", 100)).verdict(), v1::VERDICT_ALLOWED);
}

// Learns that the target's work costs twice what is said.
void Teach(const OneOfSeveral& server, const std::string& target) {
  v1::ReportRequest request;
  v1::PermitReport& report = *request.add_reports();
  report.set_permit_id(server.Decide(CheckAt(target, "job:etl", 5)).permit_id());
  report.set_actual_cost(10);
  AnswerOf(server.caller, &v1::ThrottlerService::Stub::Report, request);
}

std::vector<std::string> TargetsOf(const v1::ListCostsResponse& costs) {
  std::vector<std::string> targets;
  for (const v1::LearntCost& cost : costs.costs()) {
    if (cost.pattern().empty()) targets.push_back(cost.target());
  }
  return targets;
}

TEST(Fleet, LearntCostsAreThoseOfTheirTargetsOwners) {
  Servers servers(3, WithOverrides());
  for (const char* target : {"t0", "t1", "t2"}) Teach(servers[0], target);
  const auto list = &v1::CostService::Stub::ListCosts;
  for (int asked = 0; asked < 3; ++asked) {
    EXPECT_THAT(TargetsOf(AnswerOf(servers[asked].caller, list)),
                testing::UnorderedElementsAre("t0", "t1", "t2"));
    v1::ListCostsRequest request;
    request.set_target("t1");
    EXPECT_THAT(TargetsOf(AnswerOf(servers[asked].caller, list, request)), ElementsAre("t1"));
  }
  // What the owner before has learnt counts no more.
  servers.Give("t1", 2);
  EXPECT_THAT(TargetsOf(AnswerOf(servers[0].caller, list)),
              testing::UnorderedElementsAre("t0", "t2"));
}

TEST(Fleet, LearntCostsOfAnOwnerThatDoesNotAnswerAreNotLeftOutWithoutAWord) {
  Servers servers(3, WithOverrides());
  for (const char* target : {"t0", "t1", "t2"}) Teach(servers[0], target);
  servers.Kill(1);
  const auto list = &v1::CostService::Stub::ListCosts;
  const grpc::Status refused = CallRpc(servers[0].caller, list);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(), HasSubstr("s1, which decides for t1, did not answer"));
  v1::ListCostsRequest request;
  request.set_target("t2");
  EXPECT_THAT(TargetsOf(AnswerOf(servers[0].caller, list, request)), ElementsAre("t2"));
  // Who decides for nothing is not missed.
  servers.Give("t1", 2);
  EXPECT_TRUE(CallRpc(servers[0].caller, list).ok());
}

TEST(Fleet, LearntCostsHavePagesOverAllServers) {
  Servers servers(3, WithOverrides());
  for (const char* target : {"t0", "t1", "t2"}) Teach(servers[0], target);
  const auto list = &v1::CostService::Stub::ListCosts;
  const auto whole = AnswerOf(servers[0].caller, list);
  v1::ListCostsRequest request;
  request.set_page_size(1);
  v1::ListCostsResponse pages;
  do {
    const auto page = AnswerOf(servers[0].caller, list, request);
    ASSERT_LE(page.costs_size(), 1);
    pages.MergeFrom(page);
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && pages.costs_size() <= whole.costs_size());
  ASSERT_EQ(pages.costs_size(), whole.costs_size());
  for (int i = 0; i < whole.costs_size(); ++i) {
    EXPECT_EQ(pages.costs(i).SerializeAsString(), whole.costs(i).SerializeAsString());
  }
}

TEST(Fleet, CostsAreForgottenByTheOwner) {
  Servers servers(2, WithOverrides());
  Teach(servers[0], "t1");
  v1::ForgetCostsRequest request;
  request.set_target("t1");
  request.set_identity("job:etl");
  request.set_actor("ann");
  request.set_reason("a mistake");
  const auto forgotten = AnswerOf(servers[0].caller, &v1::CostService::Stub::ForgetCosts, request);
  EXPECT_GT(forgotten.count(), 0);
  EXPECT_THAT(TargetsOf(AnswerOf(servers[0].caller, &v1::CostService::Stub::ListCosts)), IsEmpty());
}

TEST(Fleet, RightsAreThoseThatTheAskedServersGrant) {
  Servers servers(2);
  access::PolicySpec spec;
  spec.callers = {{.name = "backfill",
                   .certificate = "URI:spiffe://prod/ns/jobs/sa/backfill",
                   .identities = {"etl"},
                   .status = true}};
  servers[0].access.SetPolicy(spec);
  spec.callers[0].status = false;
  servers[1].access.SetPolicy(spec);
  const auto status = AnswerOf(servers[0].caller, &StatusStub::GetStatus);
  EXPECT_THAT(status.cluster().members(1).error(), HasSubstr("status"));
  EXPECT_EQ(CallRpc(servers[1].caller, &StatusStub::GetStatus).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST(Fleet, NobodyButAPeerAsksForOthers) {
  Servers servers(2);
  peer::v1::AskRequest request;
  request.set_caller("backfill");
  request.set_method("/headgate.v1.StatusService/GetStatus");
  const auto ask = &peer::v1::QuestionService::Stub::Ask;
  EXPECT_EQ(CallRpc(servers[0].caller, ask, request).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(
      CallRpc(servers[0].caller, &peer::v1::QuestionService::Stub::FollowOverrides).error_code(),
      grpc::StatusCode::UNAUTHENTICATED);
  const Peer peer = servers[0].Connect(servers.shared().PeerCertificate());
  EXPECT_TRUE(CallRpc(peer, ask, request).ok());
  request.set_method("/headgate.v1.StatusService/GetFuture");
  EXPECT_EQ(CallRpc(peer, ask, request).error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST(Fleet, AnOrderIsInForceEverywhereBeforeItsAnswerOrSaysWhereNot) {
  Servers servers(3, WithOverrides());
  v1::CreateOverrideRequest request;
  request.set_kind(v1::OVERRIDE_KIND_PAUSE);
  request.mutable_selector()->set_identity("etl");
  request.set_never_expires(true);
  request.set_actor("ann");
  request.set_reason("a fire");
  const auto create = &v1::OverrideService::Stub::CreateOverride;
  EXPECT_THAT(AnswerOf(servers[0].caller, create, request).servers_not_reached(), IsEmpty());
  EXPECT_EQ(servers[1].followed, 1);
  EXPECT_EQ(servers[2].followed, 1);
  EXPECT_EQ(servers[0].followed, 0);
  servers.Kill(2);
  EXPECT_THAT(AnswerOf(servers[0].caller, create, request).servers_not_reached(),
              ElementsAre("s2"));
}

TEST(Fleet, MembersAreListedAndArranged) {
  Servers servers(2, WithOverrides());
  const auto members = AnswerOf(servers[0].caller, &ClusterStub::ListMembers);
  EXPECT_THAT(members.cluster().members(), SizeIs(2));

  v1::MoveTargetRequest move;
  move.set_target("t1");
  move.set_member("s0");
  move.set_actor("ann");
  move.set_reason("nearer");
  EXPECT_TRUE(CallRpc(servers[0].caller, &ClusterStub::MoveTarget, move).ok());
  v1::DrainMemberRequest drain;
  drain.set_member("s1");
  drain.set_actor("ann");
  drain.set_reason("its node goes");
  EXPECT_TRUE(CallRpc(servers[0].caller, &ClusterStub::DrainMember, drain).ok());
  EXPECT_THAT(servers[0].control->orders, ElementsAre("move t1 to s0", "drain s1"));

  const auto events = AnswerOf(servers[0].caller, &v1::OverrideService::Stub::ListOverrideEvents);
  ASSERT_EQ(events.events_size(), 2);
  EXPECT_EQ(events.events(0).kind(), v1::OVERRIDE_EVENT_KIND_SERVERS_CHANGED);
  EXPECT_EQ(events.events(0).change(), "server s1 drained");
  EXPECT_EQ(events.events(1).change(), "target t1 goes to s0");
}

TEST(Fleet, OrdersAboutNobodyAreRefusedAndNotKept) {
  Servers servers(2, WithOverrides());
  v1::MoveTargetRequest move;
  move.set_target("t1");
  move.set_member("s9");
  move.set_actor("ann");
  move.set_reason("nearer");
  EXPECT_EQ(CallRpc(servers[0].caller, &ClusterStub::MoveTarget, move).error_code(),
            grpc::StatusCode::NOT_FOUND);
  move.set_member("s0");
  move.set_target("t9");
  EXPECT_EQ(CallRpc(servers[0].caller, &ClusterStub::MoveTarget, move).error_code(),
            grpc::StatusCode::NOT_FOUND);
  move.set_target("t1");
  move.set_reason("");
  EXPECT_EQ(CallRpc(servers[0].caller, &ClusterStub::MoveTarget, move).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(servers[0].control->orders, IsEmpty());
  EXPECT_EQ(
      AnswerOf(servers[0].caller, &v1::OverrideService::Stub::ListOverrideEvents).events_size(), 0);
}

// As s0 has it, what it sees of itself and of s1.
void Offer(Servers& servers, const cluster::Offers& offers) {
  servers.shared().view = [before = servers.shared().view, offers](const std::string& self) {
    cluster::ClusterView view = before(self);
    for (cluster::ViewedMember& member : view.members) member.row.offers = offers;
    return view;
  };
}

TEST(Fleet, ATargetIsNotMovedToAServerThatLacksItOrCannotHaveIt) {
  Servers servers(2, WithOverrides());
  v1::MoveTargetRequest move;
  move.set_target("t1");
  move.set_member("s0");
  move.set_actor("ann");
  move.set_reason("nearer");
  const auto refused = [&] {
    const grpc::Status status = CallRpc(servers[0].caller, &ClusterStub::MoveTarget, move);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(servers[0].control->orders, IsEmpty());
    return status.error_message();
  };
  Offer(servers, {{"t0", {}}});
  EXPECT_THAT(refused(), HasSubstr("server s0 has no target t1 in its configuration"));
  Offer(servers, {{"t1", {.keeps_state = false, .why = "permission denied"}}});
  EXPECT_THAT(refused(), HasSubstr("cannot keep the state of target t1: permission denied"));
  Offer(servers, {{"t1", {.measures = cluster::Measures::kAll}}});
  servers[0].control->measured =
      cluster::Offer{.measures = cluster::Measures::kPartly, .why = "standby: refused"};
  EXPECT_THAT(refused(), HasSubstr("server s0 cannot measure target t1: standby: refused"));
  servers[0].control->measured = absl::UnavailableError("server s0 did not say");
  EXPECT_EQ(CallRpc(servers[0].caller, &ClusterStub::MoveTarget, move).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(
      AnswerOf(servers[0].caller, &v1::OverrideService::Stub::ListOverrideEvents).events_size(), 0);
  // Its owner measures no more of it.
  Offer(servers, {{"t1", {.measures = cluster::Measures::kPartly}}});
  servers[0].control->measured = cluster::Offer{.measures = cluster::Measures::kPartly};
  EXPECT_EQ(CallRpc(servers[0].caller, &ClusterStub::MoveTarget, move).error_message(), "");
  EXPECT_THAT(servers[0].control->orders, ElementsAre("move t1 to s0"));
}

TEST(Fleet, AnotherServerSaysHowMuchItMeasures) {
  Servers servers(2);
  EXPECT_EQ(servers[0].fleet_client->TryToMeasure("t1", "s1")->measures, cluster::Measures::kAll);
  {
    const MutexLock lock(&servers[1].mutex);
    EXPECT_THAT(servers[1].tried, ElementsAre("t1"));
    servers[1].measured =
        cluster::Offer{.measures = cluster::Measures::kNothing, .why = "connection refused"};
  }
  EXPECT_EQ(servers[0].fleet_client->TryToMeasure("t1", "s1")->measures,
            cluster::Measures::kNothing);
  EXPECT_EQ(servers[0].fleet_client->TryToMeasure("t1", "s1")->why, "connection refused");
  {
    const MutexLock lock(&servers[1].mutex);
    servers[1].measured = absl::NotFoundError("has no target t1 in its configuration");
  }
  const absl::Status lacking = servers[0].fleet_client->TryToMeasure("t1", "s1").status();
  EXPECT_TRUE(absl::IsNotFound(lacking));
  EXPECT_THAT(std::string(lacking.message()), HasSubstr("server s1 has no target t1"));
  servers.Kill(1);
  EXPECT_TRUE(absl::IsUnavailable(servers[0].fleet_client->TryToMeasure("t1", "s1").status()));
}

TEST(Fleet, MembersTellWhatEachHas) {
  Servers servers(2);
  Offer(servers,
        {{"t1",
          {.configuration = 0xabc, .measures = cluster::Measures::kNothing, .why = "refused"}}});
  const auto members = AnswerOf(servers[0].caller, &ClusterStub::ListMembers);
  const v1::MemberStatus& member = members.cluster().members(1);
  EXPECT_FALSE(member.says_no_targets());
  ASSERT_EQ(member.offers_size(), 1);
  EXPECT_EQ(member.offers(0).target(), "t1");
  EXPECT_EQ(member.offers(0).configuration(), "0000000000000abc");
  EXPECT_EQ(member.offers(0).measured(), v1::MemberTarget::MEASURED_NOTHING);
  EXPECT_EQ(member.offers(0).why(), "refused");
}

TEST(Fleet, ArrangingServersTakesItsGrant) {
  Servers servers(2, WithOverrides());
  access::PolicySpec spec;
  spec.callers = {{.name = "backfill",
                   .certificate = "URI:spiffe://prod/ns/jobs/sa/backfill",
                   .identities = {"etl"},
                   .status = true}};
  servers[0].access.SetPolicy(spec);
  v1::UndrainMemberRequest undrain;
  undrain.set_member("s1");
  undrain.set_reason("its node is back");
  const grpc::Status refused = CallRpc(servers[0].caller, &ClusterStub::UndrainMember, undrain);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("servers"));
  EXPECT_TRUE(CallRpc(servers[0].caller, &ClusterStub::ListMembers).ok());
  spec.callers[0].servers = true;
  servers[0].access.SetPolicy(spec);
  EXPECT_TRUE(CallRpc(servers[0].caller, &ClusterStub::UndrainMember, undrain).ok());
  EXPECT_THAT(servers[0].control->orders, ElementsAre("undrain s1"));
}

}  // namespace
}  // namespace headgate::peers
