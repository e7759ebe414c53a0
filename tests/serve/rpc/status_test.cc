// StatusService: the operator's view.

#include "tests/testing/in_process_server.h"

namespace headgate::rpc {
namespace {

using engine::OneBudget;
using engine::RateBudget;

grpc::Status GetStatus(InProcessServer& server, const std::string& target,
                       v1::GetStatusResponse& response) {
  v1::GetStatusRequest request;
  request.set_target(target);
  return CallRpc(server.channel, &v1::StatusService::Stub::GetStatus, request, response);
}

grpc::Status ListBudgets(InProcessServer& server, const v1::ListBudgetsRequest& request,
                         v1::ListBudgetsResponse& response) {
  return CallRpc(server.channel, &v1::StatusService::Stub::ListBudgets, request, response);
}

grpc::Status ListBuckets(InProcessServer& server, const v1::ListBucketsRequest& request,
                         v1::ListBucketsResponse& response) {
  return CallRpc(server.channel, &v1::StatusService::Stub::ListBuckets, request, response);
}

health::TargetSnapshot Snapshot(InProcessServer& server) {
  const int64_t now_ns = server.clock.Read().monotonic_ns;
  health::TargetSnapshot target;
  target.name = "main";
  target.servers = {{.name = "primary",
                     .reachable = true,
                     .error = "",
                     .sampled_at_ns = now_ns - 2'000'000'000,
                     .poll_time = absl::Milliseconds(3),
                     .poll_interval = absl::Milliseconds(500),
                     .set_aside_until = absl::InfinitePast()},
                    {.name = "standby-1",
                     .reachable = false,
                     .error = "cannot connect",
                     .sampled_at_ns = 0,
                     .poll_time = absl::Seconds(1),
                     .poll_interval = absl::Milliseconds(500),
                     .set_aside_until = server.clock.Read().wall() + absl::Hours(1)}};
  target.signals = {{.instance = "lag", .value = 1.5, .error = "", .sampled_at_ns = now_ns},
                    {.instance = "other", .value = {}, .error = "no", .sampled_at_ns = 0}};
  target.profiles = {{.profile = "default",
                      .health = {.speed = 0.5,
                                 .status = engine::HealthStatus::kHealthy,
                                 .pressure = 0.5F,
                                 .sampled_at_ns = now_ns - 1'000'000'000},
                      .signal = "lag"}};
  target.controllers = {{.budget = "auto",
                         .phase = "work",
                         .rate = 0.7,
                         .foreground_alone = 100,
                         .foreground_with_batch = 97,
                         .effects = {{.kind = "latency",
                                      .effect = 0.08,
                                      .uncertainty = 0.02,
                                      .tolerance = 0.1,
                                      .known = true,
                                      .binds = true}},
                         .explanation = "latency binds"}};
  return target;
}

TEST(GetStatus, ShowsServerConfigurationAndCounts) {
  engine::BudgetSpec budget = RateBudget("b", 10, 100);
  budget.split = engine::SplitByDepth{2};
  budget.max_buckets = 64;
  InProcessServer server(OneBudget(budget));
  server.status.started_at = absl::FromUnixSeconds(1'767'000'000);
  server.status.config = {.path = "/etc/headgate.yaml",
                          .version = 3,
                          .loaded_at = absl::FromUnixSeconds(1000),
                          .errors = {"f:1:2: bad"},
                          .refused_at = absl::FromUnixSeconds(2000),
                          .pending_restart = {"server.grpc_address"}};
  server.Allowed("one:etl", 1);
  server.Allowed("two:etl", 1);
  v1::GetStatusResponse response;
  ASSERT_TRUE(GetStatus(server, "", response).ok());
  EXPECT_EQ(response.version(), "1.2.3");
  EXPECT_EQ(response.started_at().seconds(), 1'767'000'000);
  EXPECT_EQ(response.config().path(), "/etc/headgate.yaml");
  EXPECT_EQ(response.config().version(), 3);
  EXPECT_EQ(response.config().loaded_at().seconds(), 1000);
  EXPECT_EQ(response.config().errors(0), "f:1:2: bad");
  EXPECT_EQ(response.config().refused_at().seconds(), 2000);
  EXPECT_EQ(response.config().pending_restart(0), "server.grpc_address");
  EXPECT_EQ(response.permits_outstanding(), 2);
  EXPECT_EQ(response.buckets_owing(), 2);
  EXPECT_GE(response.buckets_capacity(), 64);
}

TEST(GetStatus, WithoutARefusedFileSaysNothingOfOne) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  v1::GetStatusResponse response;
  ASSERT_TRUE(GetStatus(server, "", response).ok());
  EXPECT_FALSE(response.config().has_refused_at());
  EXPECT_FALSE(response.config().has_loaded_at());
}

TEST(GetStatus, TellsWhatASignalIsComparedWithByEachProfileThatWatchesIt) {
  engine::PolicySpec policy = OneBudget(RateBudget("b", 10, 100));
  policy.profiles = {
      {.name = "default", .signals = {"lag"}, .thresholds = {{.soft = 1, .hard = 5}}},
      {.name = "strict", .signals = {"lag"}, .thresholds = {{.soft = 0, .hard = 2}}}};
  policy.targets = {{.name = "main", .capacity = {}, .default_health = "default"}};
  InProcessServer server(policy);
  server.status.targets = {Snapshot(server)};
  v1::GetStatusResponse response;
  ASSERT_TRUE(GetStatus(server, "main", response).ok());
  const v1::TargetStatus& target = response.targets(0);
  EXPECT_EQ(target.default_health(), "default");
  ASSERT_EQ(target.signals(0).thresholds_size(), 2);
  EXPECT_EQ(target.signals(0).thresholds(0).profile(), "default");
  EXPECT_EQ(target.signals(0).thresholds(0).soft(), 1);
  EXPECT_EQ(target.signals(0).thresholds(0).hard(), 5);
  EXPECT_EQ(target.signals(0).thresholds(1).profile(), "strict");
  EXPECT_EQ(target.signals(1).thresholds_size(), 0);
}

TEST(GetStatus, ShowsWhatIsMeasured) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  server.status.targets = {Snapshot(server)};
  v1::GetStatusResponse response;
  ASSERT_TRUE(GetStatus(server, "main", response).ok());
  ASSERT_EQ(response.targets_size(), 1);
  const v1::TargetStatus& target = response.targets(0);
  EXPECT_TRUE(target.servers(0).reachable());
  EXPECT_EQ(target.servers(0).sample_age().seconds(), 2);
  EXPECT_EQ(target.servers(0).poll_time().nanos(), 3'000'000);
  EXPECT_FALSE(target.servers(0).has_set_aside_until());
  EXPECT_EQ(target.servers(1).error(), "cannot connect");
  EXPECT_FALSE(target.servers(1).has_sample_age());
  EXPECT_TRUE(target.servers(1).has_set_aside_until());
  EXPECT_EQ(target.signals(0).value(), 1.5);
  EXPECT_FALSE(target.signals(1).has_value());
  EXPECT_EQ(target.signals(1).error(), "no");
  EXPECT_EQ(target.profiles(0).profile(), "default");
  EXPECT_EQ(target.profiles(0).state(), v1::HEALTH_STATE_HEALTHY);
  EXPECT_EQ(target.profiles(0).signal(), "lag");
  ASSERT_EQ(target.conditions_size(), 1);
  EXPECT_EQ(target.conditions(0).kind(), v1::CONDITION_KIND_SLOWED);
  EXPECT_EQ(target.conditions(0).message(),
            "profile 'default': budgets drain at 50 %, slowed by lag");
  // No rule and no budget goes by it.
  EXPECT_EQ(target.condition().kind(), v1::CONDITION_KIND_UNMEASURED);
  EXPECT_FALSE(response.has_caller());
  EXPECT_EQ(target.profiles(0).sample_age().seconds(), 1);
  EXPECT_EQ(target.controllers(0).phase(), "work");
  ASSERT_EQ(target.controllers(0).effects_size(), 1);
  const v1::ForegroundEffect& effect = target.controllers(0).effects(0);
  EXPECT_EQ(effect.kind(), "latency");
  EXPECT_EQ(effect.effect(), 0.08);
  EXPECT_EQ(effect.uncertainty(), 0.02);
  EXPECT_EQ(effect.tolerance(), 0.1);
  EXPECT_TRUE(effect.known());
  EXPECT_TRUE(effect.binds());
  EXPECT_EQ(target.controllers(0).explanation(), "latency binds");
  EXPECT_EQ(target.controllers(0).foreground_with_batch(), 97);
}

TEST(GetStatus, OfAnUnknownTargetIsNotFound) {
  InProcessServer server(OneBudget(RateBudget("b", 10, 100)));
  v1::GetStatusResponse response;
  const grpc::Status status = GetStatus(server, "nowhere", response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(DetailsOf(status).fields, std::vector<std::string>{"target"});
  EXPECT_EQ(DetailsOf(status).reason, "UNKNOWN_TARGET");
}

engine::PolicySpec ThreeBudgetsOnTwoTargets() {
  engine::BudgetSpec split = RateBudget("by-tenant", 10, 100);
  split.split = engine::SplitByTag{"tenant"};
  engine::BudgetSpec warn = engine::ConcurrencyBudget("slots", 5);
  warn.mode = engine::Mode::kWarn;
  engine::PolicySpec spec = engine::Budgets({RateBudget("total", 10, 100), split, warn});
  spec.targets.resize(2);
  spec.targets[0].name = "one";
  spec.targets[1].name = "two";
  return spec;
}

TEST(ListBudgets, ShowsEachOnEachTarget) {
  InProcessServer server(ThreeBudgetsOnTwoTargets());
  v1::CheckRequest check = CheckOf("job:etl", 25);
  check.set_target("two");
  server.Check(check);
  v1::ListBudgetsResponse response;
  ASSERT_TRUE(ListBudgets(server, {}, response).ok());
  ASSERT_EQ(response.budgets_size(), 6);
  EXPECT_EQ(response.next_page_token(), "");
  EXPECT_EQ(response.budgets(0).target(), "one");
  EXPECT_EQ(response.budgets(0).debt(), 0);
  const v1::BudgetStatus& total = response.budgets(3);
  EXPECT_EQ(total.target(), "two");
  EXPECT_EQ(total.budget(), "total");
  EXPECT_EQ(total.mode(), "ENFORCE");
  EXPECT_EQ(total.split(), "none");
  EXPECT_EQ(total.rate(), 10);
  EXPECT_EQ(total.burst(), 100);
  EXPECT_EQ(total.debt(), 25);
  EXPECT_EQ(total.buckets_owing(), 1);
  EXPECT_FALSE(total.has_max_concurrency());
  EXPECT_EQ(response.budgets(4).split(), "tag tenant");
  EXPECT_EQ(response.budgets(5).mode(), "WARN");
  EXPECT_EQ(response.budgets(5).outstanding(), 1);
  EXPECT_EQ(response.budgets(5).max_concurrency(), 5);
  EXPECT_FALSE(response.budgets(5).has_rate());
}

TEST(ListBudgets, ComesInPages) {
  InProcessServer server(ThreeBudgetsOnTwoTargets());
  v1::ListBudgetsRequest request;
  request.set_page_size(4);
  v1::ListBudgetsResponse response;
  ASSERT_TRUE(ListBudgets(server, request, response).ok());
  EXPECT_EQ(response.budgets_size(), 4);
  ASSERT_NE(response.next_page_token(), "");
  request.set_page_token(response.next_page_token());
  ASSERT_TRUE(ListBudgets(server, request, response).ok());
  ASSERT_EQ(response.budgets_size(), 2);
  EXPECT_EQ(response.budgets(0).budget(), "by-tenant");
  EXPECT_EQ(response.next_page_token(), "");
}

TEST(ListBudgets, OfOneTargetShowsThatOneOnly) {
  InProcessServer server(ThreeBudgetsOnTwoTargets());
  v1::ListBudgetsRequest request;
  request.set_target("two");
  v1::ListBudgetsResponse response;
  ASSERT_TRUE(ListBudgets(server, request, response).ok());
  ASSERT_EQ(response.budgets_size(), 3);
  EXPECT_EQ(response.budgets(0).target(), "two");
}

TEST(ListBudgets, LeavesOutWhatNoRuleCanChargeOnTheTarget) {
  engine::PolicySpec spec = ThreeBudgetsOnTwoTargets();
  for (engine::RuleSpec& rule : spec.rules) rule.match.target = "two";
  InProcessServer server(std::move(spec));
  v1::ListBudgetsResponse response;
  ASSERT_TRUE(ListBudgets(server, {}, response).ok());
  ASSERT_EQ(response.budgets_size(), 3);
  EXPECT_EQ(response.budgets(0).target(), "two");
  v1::ListBudgetsRequest all;
  all.set_include_uncharged(true);
  ASSERT_TRUE(ListBudgets(server, all, response).ok());
  EXPECT_EQ(response.budgets_size(), 6);
}

TEST(GetStatus, LeavesOutControllersOfBudgetsThatNoRuleCanCharge) {
  engine::PolicySpec spec = ThreeBudgetsOnTwoTargets();
  for (engine::RuleSpec& rule : spec.rules) rule.match.target = "two";
  InProcessServer server(std::move(spec));
  std::vector<health::TargetSnapshot> targets(2);
  targets[0].name = "one";
  targets[1].name = "two";
  for (health::TargetSnapshot& target : targets) {
    target.controllers.emplace_back().budget = "total";
  }
  server.status.targets = std::move(targets);
  v1::GetStatusResponse response;
  ASSERT_TRUE(CallRpc(server.channel, &v1::StatusService::Stub::GetStatus, {}, response).ok());
  EXPECT_EQ(response.targets(0).controllers_size(), 0);
  EXPECT_EQ(response.targets(1).controllers_size(), 1);
}

TEST(GetStatus, WarnsOfAPortThatAnybodyMayUse) {
  InProcessServer server{engine::PolicySpec()};
  v1::GetStatusResponse response;
  ASSERT_TRUE(CallRpc(server.channel, &v1::StatusService::Stub::GetStatus, {}, response).ok());
  EXPECT_FALSE(response.has_access());
  EXPECT_EQ(response.warnings_size(), 0);
  server.status.access = {.exposed_at = "0.0.0.0:8081"};
  ASSERT_TRUE(CallRpc(server.channel, &v1::StatusService::Stub::GetStatus, {}, response).ok());
  ASSERT_EQ(response.warnings_size(), 1);
  EXPECT_TRUE(response.warnings(0).starts_with("0.0.0.0:8081 is in plaintext"));
  server.status.warnings = {"no rule matched"};
  ASSERT_TRUE(CallRpc(server.channel, &v1::StatusService::Stub::GetStatus, {}, response).ok());
  ASSERT_EQ(response.warnings_size(), 2);
  EXPECT_EQ(response.warnings(1), "no rule matched");
}

TEST(GetStatus, WarnsOfWhatMakesReadingsOfATargetMeanLess) {
  InProcessServer server{engine::PolicySpec()};
  std::vector<health::TargetSnapshot> targets(2);
  targets[0].name = "orders";
  targets[0].notes = {"two standbys share a name"};
  targets[1].name = "users";
  server.status.targets = std::move(targets);
  v1::GetStatusResponse response;
  ASSERT_TRUE(CallRpc(server.channel, &v1::StatusService::Stub::GetStatus, {}, response).ok());
  ASSERT_EQ(response.targets(0).warnings_size(), 1);
  EXPECT_EQ(response.targets(0).warnings(0), "two standbys share a name");
  EXPECT_EQ(response.targets(1).warnings_size(), 0);
  ASSERT_EQ(response.warnings_size(), 1);
  EXPECT_EQ(response.warnings(0), "target 'orders': two standbys share a name");
}

TEST(ListBudgets, NamesTheFieldThatIsWrong) {
  InProcessServer server(ThreeBudgetsOnTwoTargets());
  const struct {
    const char* target;
    int page_size;
    std::string page_token;
    const char* field;
    grpc::StatusCode code;
  } cases[] = {
      {"nowhere", 0, "", "target", grpc::StatusCode::NOT_FOUND},
      {"", -1, "", "page_size", grpc::StatusCode::INVALID_ARGUMENT},
      {"", 1001, "", "page_size", grpc::StatusCode::INVALID_ARGUMENT},
      {"", 0, "x", "page_token", grpc::StatusCode::INVALID_ARGUMENT},
      {"", 0, "0", "page_token", grpc::StatusCode::INVALID_ARGUMENT},
      {"", 0, "-1", "page_token", grpc::StatusCode::INVALID_ARGUMENT},
      {"", 0, "6", "page_token", grpc::StatusCode::INVALID_ARGUMENT},
      {"", 0, "99999999999999999999", "page_token", grpc::StatusCode::INVALID_ARGUMENT},
  };
  for (const auto& one : cases) {
    v1::ListBudgetsRequest request;
    request.set_target(one.target);
    request.set_page_size(one.page_size);
    request.set_page_token(one.page_token);
    v1::ListBudgetsResponse response;
    const grpc::Status status = ListBudgets(server, request, response);
    EXPECT_EQ(status.error_code(), one.code) << one.field;
    EXPECT_EQ(DetailsOf(status).fields, std::vector<std::string>{one.field});
  }
}

TEST(ListBuckets, ShowsTheFullestFirstAndNamesThoseThatWereRefused) {
  InProcessServer server(ThreeBudgetsOnTwoTargets());
  const auto spend = [&](const char* tenant, double cost) {
    v1::CheckRequest check = CheckOf("job:etl", cost);
    check.set_target("one");
    (*check.mutable_tags())["tenant"] = tenant;
    return server.Check(check).verdict();
  };
  EXPECT_EQ(spend("a", 10), v1::VERDICT_ALLOWED);
  EXPECT_EQ(spend("b", 60), v1::VERDICT_ALLOWED);
  EXPECT_EQ(spend("b", 60), v1::VERDICT_DENIED);
  v1::ListBucketsRequest request;
  request.set_budget("by-tenant");
  v1::ListBucketsResponse response;
  ASSERT_TRUE(ListBuckets(server, request, response).ok());
  ASSERT_EQ(response.buckets_size(), 2);
  EXPECT_EQ(response.buckets(0).target(), "one");
  EXPECT_EQ(response.buckets(0).budget(), "by-tenant");
  EXPECT_EQ(response.buckets(0).bucket(), "b");
  EXPECT_EQ(response.buckets(0).debt(), 60);
  EXPECT_EQ(response.buckets(0).fill(), 0.6);
  EXPECT_EQ(response.buckets(0).empty_in().seconds(), 6);
  request.set_page_size(1);
  ASSERT_TRUE(ListBuckets(server, request, response).ok());
  EXPECT_EQ(response.buckets_size(), 1);
}

TEST(ListBuckets, NamesTheFieldThatIsWrong) {
  InProcessServer server(ThreeBudgetsOnTwoTargets());
  v1::ListBucketsResponse response;
  v1::ListBucketsRequest request;
  request.set_budget("none");
  grpc::Status status = ListBuckets(server, request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(DetailsOf(status).fields, std::vector<std::string>{"budget"});
  request.Clear();
  request.set_target("nowhere");
  EXPECT_EQ(ListBuckets(server, request, response).error_code(), grpc::StatusCode::NOT_FOUND);
  request.Clear();
  request.set_page_size(1001);
  status = ListBuckets(server, request, response);
  EXPECT_EQ(DetailsOf(status).fields, std::vector<std::string>{"page_size"});
}

}  // namespace
}  // namespace headgate::rpc
