// Permits are shared out by caller, where callers are known: a flood by one of them, under one root
// or under ever new ones, leaves each of the others theirs.

#include "gmock/gmock.h"
#include "tests/security/access_fixture.h"

namespace headgate::security {
namespace {

constexpr int kBatch = 1000;

access::PolicySpec ThreeCallers() {
  access::PolicySpec spec;
  spec.callers = {{.name = "auditor", .token = "auditor", .identities = {"*"}},
                  {.name = "sre", .token = "sre", .identities = {"*"}, .status = true},
                  {.name = "others", .anybody = true, .identities = {"*"}}};
  return spec;
}

class PermitSharesOfCallers : public testing::Test {
 protected:
  PermitSharesOfCallers() {
    engine::PolicySpec policy;
    engine::BudgetSpec slots = engine::ConcurrencyBudget("slots", 10);
    slots.split = engine::SplitByDepth{8};
    policy.budgets = {slots};
    policy.rules = {engine::ChargeRule("all", "", {"slots"})};
    EXPECT_TRUE(server_.engine.Install(std::move(policy), server_.clock.Read()).ok());
  }
  // Takes all the permits that it gets.
  static void Flood(const Peer& peer, bool of_new_roots) {
    v1::BatchCheckRequest request;
    for (int i = 1; i <= 3 * kBatch; ++i) {
      const std::string root = of_new_roots ? absl::StrCat("r", i) : "etl";
      *request.add_checks() = CheckOf(absl::StrCat("job-", i, ":", root), 1);
      if (i % kBatch != 0) continue;
      EXPECT_TRUE(CallRpc(peer, &v1::ThrottlerService::Stub::BatchCheck, request).ok());
      request.clear_checks();
    }
  }
  static v1::Decision Ask(const Peer& peer, const std::string& identity) {
    v1::Decision decision;
    EXPECT_EQ(GuardedServer::Check(peer, CheckOf(identity, 1), &decision), '+');
    return decision;
  }
  static engine::EngineOptions Engine() { return {.seed = 7, .max_permits = 2048}; }

  GuardedServer server_{ThreeCallers(), 100, Engine()};
  const Peer auditor_ = server_.Bare(Bearer(kAuditorToken));
  const Peer sre_ = server_.Bare(Bearer(kSreToken));
  const Peer anybody_ = server_.Bare();
};

TEST_F(PermitSharesOfCallers, AFloodByOneLeavesOthersTheirs) {
  for (const bool of_new_roots : {false, true}) {
    Flood(auditor_, of_new_roots);
    EXPECT_EQ(Ask(auditor_, "job:new").reason(), v1::REASON_PERMITS);
    // Under the same root too: the caller is who holds it.
    EXPECT_EQ(Ask(sre_, "job:etl").verdict(), v1::VERDICT_ALLOWED);
    EXPECT_EQ(Ask(anybody_, "another:etl").verdict(), v1::VERDICT_ALLOWED);
  }
}

TEST_F(PermitSharesOfCallers, AFloodByNobodyKnownIsOneHolderBesideThem) {
  Ask(sre_, "job:etl");
  Flood(anybody_, true);
  int64_t allowed = 0;
  while (allowed < 2048 &&
         Ask(sre_, absl::StrCat("job-", allowed, ":x")).verdict() == v1::VERDICT_ALLOWED) {
    ++allowed;
  }
  EXPECT_GT(allowed, 300);
}

TEST_F(PermitSharesOfCallers, StatusNamesTheCaller) {
  Flood(auditor_, true);
  v1::GetStatusResponse response;
  ASSERT_TRUE(CallRpc(sre_, &v1::StatusService::Stub::GetStatus, {}, response).ok());
  ASSERT_EQ(response.permits().holders_size(), 1);
  EXPECT_EQ(response.permits().holders(0).name(), "auditor");
  EXPECT_TRUE(response.permits().holders(0).is_caller());
  EXPECT_EQ(response.permits().holders(0).permits(), 1024);
  EXPECT_EQ(response.permits().turned_away(), 3 * kBatch - 1024);
}

TEST_F(PermitSharesOfCallers, ExplainSpeaksOfTheCallerThatAsks) {
  Flood(auditor_, false);
  const auto explained = [](const Peer& peer) {
    v1::ExplainRequest request;
    *request.mutable_check() = CheckOf("another:etl", 1);
    v1::ExplainResponse response;
    EXPECT_TRUE(CallRpc(peer, &v1::ThrottlerService::Stub::Explain, request, response).ok());
    return response;
  };
  EXPECT_EQ(explained(auditor_).decision().reason(), v1::REASON_PERMITS);
  EXPECT_THAT(explained(auditor_).to_be_allowed(),
              testing::ElementsAre(testing::HasSubstr("engine.max_permit_share")));
  EXPECT_EQ(explained(sre_).decision().verdict(), v1::VERDICT_ALLOWED);
}

}  // namespace
}  // namespace headgate::security
