// OverrideService and StatusService where everything is paused or throttled.

#include "gmock/gmock.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/override_requests.h"

namespace headgate::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using StopStub = v1::OverrideService::Stub;

engine::PolicySpec TwoTargets() {
  return engine::OnTwoTargets(engine::OneBudget(engine::RateBudget("rows", 10, 100)), "main",
                              "other", "vip", "vip");
}

v1::CreateOverrideRequest OfEverythingOn(const std::string& target,
                                         v1::OverrideKind kind = v1::OVERRIDE_KIND_PAUSE) {
  v1::CreateOverrideRequest request = Pause("");
  request.set_kind(kind);
  if (kind == v1::OVERRIDE_KIND_THROTTLE) request.set_ratio(1);
  request.mutable_selector()->set_everything(true);
  request.mutable_selector()->set_target(target);
  return request;
}

class EmergencyStopRpc : public ::testing::Test {
 protected:
  v1::CreateOverrideResponse Create(const v1::CreateOverrideRequest& request) {
    return AnswerOf(server_.channel, &StopStub::CreateOverride, request);
  }
  grpc::Status CreateError(const v1::CreateOverrideRequest& request) {
    return CallRpc(server_.channel, &StopStub::CreateOverride, request);
  }
  v1::Decision Check(const std::string& identity, const std::string& target) {
    v1::CheckRequest request = CheckOf(identity, 1);
    request.set_target(target);
    return server_.Check(request);
  }

  InProcessServer server_{TwoTargets(), {.overrides = InProcessOptions::kKept}};
};

TEST_F(EmergencyStopRpc, StopsAllButTheExemptAndSaysWhoTheyAre) {
  v1::CreateOverrideRequest exempt = Pause("restore");
  exempt.set_kind(v1::OVERRIDE_KIND_EXEMPT);
  EXPECT_EQ(Create(exempt).exempt_rule_count(), 0);
  const v1::CreateOverrideResponse made = Create(OfEverythingOn(""));
  EXPECT_TRUE(made.override().selector().everything());
  EXPECT_EQ(made.exempt_rule_count(), 2);
  EXPECT_THAT(made.exempt_rules(),
              ElementsAre("vip", "override 1: exempted by alice (stuck shard)"));
  const v1::Decision denied = Check("etl", "other");
  EXPECT_EQ(denied.reason(), v1::REASON_DENY_RULE);
  EXPECT_THAT(denied.message(), HasSubstr("override 2: everything paused by alice (stuck shard)"));
  EXPECT_EQ(Check("vip", "main").reason(), v1::REASON_EXEMPT);
  EXPECT_EQ(Check("vip", "other").reason(), v1::REASON_DENY_RULE);
  EXPECT_EQ(Check("restore", "other").reason(), v1::REASON_EXEMPT);
}

TEST_F(EmergencyStopRpc, NamesTheFirstTwentyExemptRulesAndCountsAll) {
  v1::CreateOverrideRequest exempt = Pause("restore");
  exempt.set_kind(v1::OVERRIDE_KIND_EXEMPT);
  for (int i = 0; i < 24; ++i) Create(exempt);
  const v1::CreateOverrideResponse made =
      Create(OfEverythingOn("main", v1::OVERRIDE_KIND_THROTTLE));
  EXPECT_EQ(made.exempt_rule_count(), 25);
  EXPECT_THAT(made.exempt_rules(), SizeIs(20));
  EXPECT_EQ(Create(OfEverythingOn("other")).exempt_rule_count(), 24);
  EXPECT_EQ(Create(OfEverythingOn("", v1::OVERRIDE_KIND_RESUME)).exempt_rule_count(), 0);
}

TEST_F(EmergencyStopRpc, TakesASelectorThatSaysSo) {
  const auto field = [&](auto change) -> std::string {
    v1::CreateOverrideRequest request = OfEverythingOn("main");
    change(request);
    return FieldAtFault(CreateError(request));
  };
  using R = v1::CreateOverrideRequest;
  EXPECT_EQ(field([](R& r) { r.mutable_selector()->set_everything(false); }),
            "selector.everything");
  EXPECT_EQ(field([](R& r) { r.mutable_selector()->clear_everything(); }), "selector");
  EXPECT_EQ(field([](R& r) { r.mutable_selector()->set_identity(""); }), "selector");
  EXPECT_EQ(field([](R& r) { r.mutable_selector()->set_segment(""); }), "selector");
  EXPECT_EQ(field([](R& r) { r.mutable_selector()->set_identity("*"); }), "selector.identity");
  EXPECT_EQ(field([](R& r) { r.set_kind(v1::OVERRIDE_KIND_EXEMPT); }), "selector.everything");
  EXPECT_EQ(field([](R& r) { r.clear_expires_in(); }), "expires_in");
  EXPECT_EQ(field([](R& r) { r.mutable_selector()->set_target("x"); }), "selector.target");
  v1::ListOverridesRequest list;
  list.mutable_selector()->set_everything(false);
  EXPECT_THAT(DetailsOf(CallRpc(server_.channel, &StopStub::ListOverrides, list)).fields,
              ElementsAre("selector.everything"));
}

TEST_F(EmergencyStopRpc, IsListedByItsSelectorOnItsTarget) {
  Create(Pause("etl"));
  Create(OfEverythingOn("main"));
  Create(OfEverythingOn(""));
  const auto listed = [&](const std::string& target) {
    v1::ListOverridesRequest request;
    *request.mutable_selector() = OfEverythingOn(target).selector();
    const auto response = AnswerOf(server_.channel, &StopStub::ListOverrides, request);
    std::vector<int64_t> ids;
    for (const v1::Override& override : response.overrides()) ids.push_back(override.id());
    return ids;
  };
  EXPECT_THAT(listed("main"), ElementsAre(2));
  EXPECT_THAT(listed(""), ElementsAre(3));
  EXPECT_THAT(listed("other"), IsEmpty());
}

TEST_F(EmergencyStopRpc, IsInTheStatusOfTheTargetsThatItIsOn) {
  std::vector<health::TargetSnapshot> targets(2);
  targets[0].name = "main";
  targets[1].name = "other";
  server_.status.targets = targets;
  server_.status.overrides = overrides::OverridesSnapshot{
      .is_kept = true,
      .in_force = 2,
      .stops = {{.id = 8, .selector = {.everything = true, .target = "main"}},
                {.id = 7, .selector = {.everything = true}}}};
  const auto stops = [&](const std::string& target) {
    v1::GetStatusRequest request;
    request.set_target(target);
    const auto response = AnswerOf(server_.channel, &v1::StatusService::Stub::GetStatus, request);
    std::vector<int64_t> ids;
    for (const v1::Override& stop : response.overrides().stops()) {
      EXPECT_TRUE(stop.selector().everything());
      ids.push_back(stop.id());
    }
    return ids;
  };
  EXPECT_THAT(stops(""), ElementsAre(8, 7));
  EXPECT_THAT(stops("main"), ElementsAre(8, 7));
  EXPECT_THAT(stops("other"), ElementsAre(7));
}

TEST_F(EmergencyStopRpc, ExplainNamesTheStopThatAnOlderResumeDoesNotLift) {
  v1::CreateOverrideRequest resume = Pause("etl");
  resume.set_kind(v1::OVERRIDE_KIND_RESUME);
  Create(Pause("etl"));
  Create(resume);
  Create(OfEverythingOn("main"));
  const auto effects = [&] {
    v1::ExplainRequest request;
    *request.mutable_check() = CheckOf("etl", 1);
    request.mutable_check()->set_target("main");
    const auto response = AnswerOf(server_.channel, &v1::ThrottlerService::Stub::Explain, request);
    std::vector<std::string> found;
    for (const v1::MatchedRule& rule : response.matched_rules()) {
      const bool applied = rule.effect() == v1::RULE_EFFECT_APPLIED;
      found.push_back(applied ? rule.name()
                              : absl::StrCat(rule.name(), " < ", rule.overruled_by()));
    }
    return found;
  };
  const std::string pause = "override 1: paused by alice (stuck shard)";
  const std::string first = "override 2: resumed by alice (stuck shard)";
  const std::string stop = "override 3: everything on main paused by alice (stuck shard)";
  EXPECT_THAT(effects(), ElementsAre("charge < " + stop, absl::StrCat(pause, " < ", first),
                                     absl::StrCat(first, " < ", stop), stop));
  Create(resume);
  const std::string second = "override 4: resumed by alice (stuck shard)";
  EXPECT_THAT(effects(), ElementsAre("charge", absl::StrCat(pause, " < ", second), first,
                                     absl::StrCat(stop, " < ", second), second));
}

}  // namespace
}  // namespace headgate::rpc
