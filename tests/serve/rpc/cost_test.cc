// CostService: what was learnt is shown, forgotten and forgiven, and who did it is kept first.

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/decide/engine/sentence_text.h"
#include "tests/testing/full_disk.h"
#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Costs = v1::CostService::Stub;

class CostRpc : public ::testing::Test {
 protected:
  static engine::PolicySpec Policy() {
    engine::PolicySpec policy = OneBudget(RateBudget("rows", 10, 1000));
    policy.budgets[0].split = engine::SplitByDepth{2};
    return policy;
  }

  uint64_t Permit(const std::string& identity, double estimate, const std::string& pattern = "") {
    v1::CheckRequest request = CheckOf(identity, estimate);
    request.set_pattern(pattern);
    const v1::Decision decision = server_.Check(request);
    EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED) << decision.message();
    return decision.permit_id();
  }
  void Work(const std::string& identity, const std::string& pattern, double estimate,
            double actual) {
    EXPECT_FALSE(server_.Report(Permit(identity, estimate, pattern), actual).has_error());
    server_.clock.Advance(absl::Seconds(1));
  }
  v1::ListCostsResponse List(const v1::ListCostsRequest& request = {}) {
    return AnswerOf(server_.channel, &Costs::ListCosts, request);
  }
  std::vector<std::string> Patterns(const v1::ListCostsRequest& request = {}) {
    const v1::ListCostsResponse response = List(request);
    std::vector<std::string> patterns;
    for (const v1::LearntCost& cost : response.costs()) patterns.push_back(cost.pattern());
    return patterns;
  }
  static v1::ForgetCostsRequest Forgetting(const std::string& identity) {
    v1::ForgetCostsRequest request;
    request.set_identity(identity);
    request.set_actor("ann");
    request.set_reason("bytes for rows");
    return request;
  }
  static v1::ForgetCostsRequest ForgettingPattern(const std::string& pattern) {
    v1::ForgetCostsRequest request = Forgetting("");
    request.set_pattern(pattern);
    return request;
  }
  static v1::ForgiveDebtRequest Forgiving(const std::string& identity) {
    v1::ForgiveDebtRequest request;
    request.set_identity(identity);
    request.set_budget("rows");
    request.set_actor("ann");
    request.set_reason("bytes for rows");
    return request;
  }
  v1::ListOverrideEventsResponse Events() {
    return AnswerOf(server_.channel, &v1::OverrideService::Stub::ListOverrideEvents,
                    v1::ListOverrideEventsRequest());
  }

  InProcessServer server_{Policy(), {.overrides = InProcessOptions::kKept}};
};

TEST_F(CostRpc, ListsWhatWasReportedLastFirst) {
  EXPECT_THAT(Patterns(), IsEmpty());
  Work("job-7:etl", "copy", 10, 20);
  Work("job-8:etl", "purge", 10, 5);
  EXPECT_THAT(Patterns(), ElementsAre("", "purge", "copy"));
  const v1::LearntCost copy = List().costs(2);
  EXPECT_EQ(copy.root(), "etl");
  EXPECT_EQ(copy.caller(), "");
  EXPECT_GT(copy.cost_ratio(), 1);
  EXPECT_GT(copy.mean_cost(), 10);
  EXPECT_EQ(copy.reports(), 1);
  EXPECT_EQ(copy.last_reported_at().seconds() + 2,
            absl::ToUnixSeconds(server_.clock.Read().wall()));
  v1::ListCostsRequest request;
  request.set_pattern("purge");
  EXPECT_THAT(Patterns(request), ElementsAre("purge"));
  request.set_identity("any:other");
  EXPECT_THAT(Patterns(request), IsEmpty());
}

TEST_F(CostRpc, ListsByPages) {
  for (const char* pattern : {"a", "b", "c", "d"}) Work("job:etl", pattern, 10, 10);
  v1::ListCostsRequest request;
  request.set_page_size(2);
  std::vector<std::string> seen;
  for (int page = 0; page < 3; ++page) {
    const v1::ListCostsResponse response = List(request);
    for (const v1::LearntCost& cost : response.costs()) seen.push_back(cost.pattern());
    request.set_page_token(response.next_page_token());
  }
  EXPECT_THAT(seen, ElementsAre("", "d", "c", "b", "a"));
  EXPECT_EQ(request.page_token(), "");
}

TEST_F(CostRpc, ListErrorsNameTheField) {
  const auto field = [&](auto change) -> std::string {
    v1::ListCostsRequest request;
    change(request);
    const grpc::Status status = CallRpc(server_.channel, &Costs::ListCosts, request);
    EXPECT_FALSE(status.ok());
    const ErrorDetails details = DetailsOf(status);
    return details.fields.empty() ? "none" : details.fields[0];
  };
  using R = v1::ListCostsRequest;
  EXPECT_EQ(field([](R& r) { r.set_page_size(1001); }), "page_size");
  EXPECT_EQ(field([](R& r) { r.set_page_size(-1); }), "page_size");
  EXPECT_EQ(field([](R& r) { r.set_page_token("x"); }), "page_token");
  EXPECT_EQ(field([](R& r) { r.set_identity("a b"); }), "identity");
  EXPECT_EQ(field([](R& r) { r.set_target("nowhere"); }), "target");
  EXPECT_EQ(field([](R& r) { r.set_pattern(std::string(1025, 'x')); }), "pattern");
}

TEST_F(CostRpc, ForgetsAPatternAndLeavesTheOthers) {
  Work("job-7:etl", "copy", 10, 20);
  // Charged to nothing: it has no permit, and nothing to report.
  EXPECT_EQ(Permit("job-7:web", 10, "purge"), 0U);
  Work("job-7:etl", "purge", 10, 20);
  const v1::ForgetCostsResponse forgotten =
      AnswerOf(server_.channel, &Costs::ForgetCosts, ForgettingPattern("copy"));
  EXPECT_EQ(forgotten.count(), 1);
  EXPECT_THAT(Patterns(), ElementsAre("", "purge"));
}

TEST_F(CostRpc, ForgetsAndShowsWhatWasForgotten) {
  Work("job-7:etl", "copy", 10, 20);
  const v1::ForgetCostsResponse forgotten =
      AnswerOf(server_.channel, &Costs::ForgetCosts, Forgetting("any:etl"));
  EXPECT_EQ(forgotten.count(), 2);
  EXPECT_THAT(forgotten.forgotten(), SizeIs(2));
  EXPECT_THAT(Patterns(), IsEmpty());
  v1::CheckRequest check = CheckOf("job-7:etl", 10);
  check.set_pattern("copy");
  EXPECT_EQ(server_.Check(check).predicted_cost(), 10);
  const v1::OverrideEvent event = Events().events(0);
  EXPECT_EQ(event.kind(), v1::OVERRIDE_EVENT_KIND_COSTS_FORGOTTEN);
  EXPECT_FALSE(event.has_override());
  EXPECT_EQ(event.actor(), "ann");
  EXPECT_EQ(event.reason(), "bytes for rows");
  EXPECT_EQ(event.change(), "2 learnt costs of root etl");
}

TEST_F(CostRpc, ForgetErrors) {
  Work("job-7:etl", "copy", 10, 20);
  const auto refused = [&](const v1::ForgetCostsRequest& request) {
    return CallRpc(server_.channel, &Costs::ForgetCosts, request);
  };
  v1::ForgetCostsRequest neither = Forgetting("");
  neither.clear_identity();
  for (const auto& [request, field] :
       {std::pair(neither, "identity"), std::pair(Forgetting(""), "identity"),
        std::pair(Forgetting("a b"), "identity"), std::pair(ForgettingPattern(""), "pattern")}) {
    const grpc::Status status = refused(request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_THAT(DetailsOf(status).fields, ElementsAre(field));
  }
  v1::ForgetCostsRequest nobody = Forgetting("etl");
  nobody.clear_actor();
  EXPECT_THAT(DetailsOf(refused(nobody)).fields, ElementsAre("actor"));
  EXPECT_EQ(refused(Forgetting("job:web")).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(refused(ForgettingPattern("purge")).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(Events().events(), IsEmpty());
  EXPECT_THAT(Patterns(), SizeIs(2));
}

TEST_F(CostRpc, ForgivesTheBucketOfTheIdentityAndNoOther) {
  Permit("a:job-7:etl", 700);
  Permit("a:job-8:etl", 300);
  const v1::ForgiveDebtResponse forgiven =
      AnswerOf(server_.channel, &Costs::ForgiveDebt, Forgiving("b:job-7:etl"));
  EXPECT_EQ(forgiven.bucket(), "job-7:etl");
  EXPECT_EQ(forgiven.forgiven(), 700);
  EXPECT_EQ(forgiven.unit(), v1::BUDGET_UNIT_COST);
  EXPECT_EQ(server_.Debt("a:job-7:etl"), 0);
  EXPECT_EQ(server_.Debt("a:job-8:etl"), 300);
  const v1::OverrideEvent event = Events().events(0);
  EXPECT_EQ(event.kind(), v1::OVERRIDE_EVENT_KIND_DEBT_FORGIVEN);
  EXPECT_EQ(event.change(), "700 that job-7:etl owed to rows");
}

// Debt drains while it is written down.
TEST_F(CostRpc, ForgivesWhatItsEventSays) {
  Permit("a:job-7:etl", 700);
  std::atomic<bool> stop{false};
  std::thread time([&] {
    while (!stop.load()) {
      server_.clock.Advance(absl::Microseconds(1));
      std::this_thread::yield();
    }
  });
  const v1::ForgiveDebtResponse forgiven =
      AnswerOf(server_.channel, &Costs::ForgiveDebt, Forgiving("b:job-7:etl"));
  stop.store(true);
  time.join();
  EXPECT_EQ(Events().events(0).change(),
            absl::StrCat(engine::Grouped(forgiven.forgiven()), " that job-7:etl owed to rows"));
}

// What is not on the disk has not happened.
TEST_F(CostRpc, NothingChangesWhereItCannotBeKept) {
  Work("a:job-7:etl", "copy", 100, 700);
  const double owed = server_.Debt("a:job-7:etl");
  grpc::Status forgive, forget;
  {
    const FullDisk full;
    forgive = CallRpc(server_.channel, &Costs::ForgiveDebt, Forgiving("a:job-7:etl"));
    forget = CallRpc(server_.channel, &Costs::ForgetCosts, Forgetting("etl"));
  }
  EXPECT_EQ(forgive.error_code(), grpc::StatusCode::UNAVAILABLE) << forgive.error_message();
  EXPECT_EQ(forget.error_code(), grpc::StatusCode::UNAVAILABLE) << forget.error_message();
  EXPECT_EQ(server_.Debt("a:job-7:etl"), owed);
  EXPECT_THAT(Patterns(), SizeIs(2));
  EXPECT_THAT(Events().events(), IsEmpty());
}

TEST_F(CostRpc, ForgiveErrors) {
  const auto refused = [&](auto change) {
    v1::ForgiveDebtRequest request = Forgiving("job-7:etl");
    change(request);
    return CallRpc(server_.channel, &Costs::ForgiveDebt, request);
  };
  using R = v1::ForgiveDebtRequest;
  using grpc::StatusCode;
  EXPECT_EQ(refused([](R& r) { r.set_identity(""); }).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refused([](R& r) { r.set_budget(""); }).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refused([](R& r) { r.set_reason(""); }).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refused([](R& r) { r.set_target("x"); }).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(refused([](R& r) { r.set_budget("x"); }).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(refused([](R& r) { r.set_identity("web"); }).error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(Events().events(), IsEmpty());
}

TEST(CostRpcWithoutAStateFolder, ListsButChangesNothing) {
  InProcessServer server(OneBudget(RateBudget("rows", 10, 1000)),
                         {.overrides = InProcessOptions::kWithoutStateFolder});
  EXPECT_TRUE(CallRpc(server.channel, &Costs::ListCosts, v1::ListCostsRequest()).ok());
  v1::ForgiveDebtRequest forgive;
  forgive.set_identity("etl");
  const grpc::Status status = CallRpc(server.channel, &Costs::ForgiveDebt, forgive);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("who changed what"));
}

}  // namespace
}  // namespace headgate::rpc
