// What an override does, who may make which, and what is remembered of it.

#include "gmock/gmock.h"
#include "server/decide/engine/retry_after.h"
#include "tests/remember/overrides/overrides_fixture.h"

namespace headgate::overrides {
namespace {

using engine::Reason;
using engine::Verdict;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Registered = OverridesTest;

TEST_F(Registered, PauseDeniesTheVeryNextCheckOfALevelAndAllBelowIt) {
  Desk desk(path(), clock_);
  EXPECT_TRUE(desk.Admits("job:etl"));
  desk.Create(Pause("job:etl"));
  EXPECT_FALSE(desk.Admits("job:etl"));
  EXPECT_FALSE(desk.Admits("step:job:etl"));
  EXPECT_TRUE(desk.Admits("etl"));
  EXPECT_TRUE(desk.Admits("other:etl"));
}

TEST_F(Registered, AnswersNameTheOverrideItsActorAndItsReason) {
  Desk desk(path(), clock_);
  desk.Create(Pause("etl"));
  const engine::CheckAnswer answer = desk.Check("etl");
  EXPECT_EQ(answer.reason, Reason::kDenyRule);
  EXPECT_EQ(answer.retry_after, absl::Hours(1));
  EXPECT_THAT(answer.Sentence(), HasSubstr("rule 'override 1: paused by alice (stuck shard)'"));
}

TEST_F(Registered, PauseForGoodIsWaitedForAsItMayEndAnyTime) {
  Desk desk(path(), clock_);
  desk.Create(Pause("etl", Never()));
  const engine::CheckAnswer paused = desk.Check("etl");
  EXPECT_EQ(paused.retry_after, engine::kAskAgainWhilePaused);
  EXPECT_EQ(
      paused.Sentence(),
      "Denied by rule 'override 1: paused by alice (stuck shard)', which lasts until somebody "
      "ends it. Try again in 5s.");
  desk.Delete(1);
  EXPECT_TRUE(desk.Admits("etl"));
}

TEST_F(Registered, ThrottleByOneForGoodIsWaitedForToo) {
  Desk desk(path(), clock_);
  CreateRequest request = Throttle("etl", 1);
  request.expiry = Never();
  desk.Create(request);
  EXPECT_EQ(desk.Check("etl").retry_after, engine::kAskAgainWhilePaused);
}

// Nobody ends it while the job waits: it takes another configuration.
TEST_F(Registered, ADenyRuleOfTheConfigurationIsNotWaitedForWhateverElseIsPaused) {
  engine::PolicySpec policy = SomePolicy();
  policy.rules.push_back(engine::RuleOn("closed", "etl", engine::DenyAction{}));
  Desk desk(path(), clock_, policy);
  desk.Create(Pause("etl", Never()));
  EXPECT_EQ(desk.Check("etl").retry_after, absl::InfiniteDuration());
  EXPECT_THAT(desk.Check("etl").Sentence(), HasSubstr("rule 'closed'. Waiting will not help."));
}

TEST_F(Registered, SegmentSelectsWhereverItStands) {
  Desk desk(path(), clock_);
  CreateRequest request = Pause("");
  request.selector.segment = "vcopier";
  desk.Create(request);
  EXPECT_FALSE(desk.Admits("x:vcopier:etl"));
  EXPECT_TRUE(desk.Admits("x:etl"));
}

TEST_F(Registered, OfSeveralThrottlesTheLargestIsRolledOnce) {
  Desk desk(path(), clock_);
  for (const double ratio : {0.2, 0.3, 0.25}) desk.Create(Throttle("job:etl", ratio));
  desk.Create(Throttle("etl", 0.29));
  constexpr int kChecks = 20'000;
  int denied = 0;
  for (int i = 0; i < kChecks; ++i) denied += desk.Admits("job:etl") ? 0 : 1;
  // Five standard deviations; rolled four times it would be 0.7.
  EXPECT_NEAR(denied, kChecks * 0.3, 5 * 65);
}

TEST_F(Registered, ThrottleByOneDeniesAll) {
  Desk desk(path(), clock_);
  desk.Create(Throttle("etl", 1));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(desk.Check("etl").reason, Reason::kRejectRatio);
}

TEST_F(Registered, ResumeExceptsOneJobOfAPausedCategory) {
  engine::PolicySpec policy = SomePolicy();
  policy.rules.push_back(engine::RuleOn("closed", "etl", engine::DenyAction{}));
  Desk desk(path(), clock_, policy);
  desk.Create(Pause("etl"));
  desk.Create(Throttle("etl", 1));
  desk.Create(Request(Kind::kResume, "job:etl"));
  EXPECT_TRUE(desk.Admits("job:etl"));
  EXPECT_FALSE(desk.Admits("other:etl"));
}

TEST_F(Registered, ExemptWinsOverAPause) {
  Desk desk(path(), clock_);
  desk.Create(Pause("job:etl"));
  desk.Create(Request(Kind::kExempt, "etl"));
  EXPECT_EQ(desk.Check("job:etl").reason, Reason::kExempt);
}

TEST_F(Registered, DeleteEndsItOnTheNextCheck) {
  Desk desk(path(), clock_);
  const Override made = desk.Create(Pause("etl", Never{}));
  EXPECT_FALSE(desk.Admits("etl"));
  desk.Delete(made.id);
  EXPECT_TRUE(desk.Admits("etl"));
  EXPECT_THAT(desk.Listed(), IsEmpty());
  EXPECT_EQ(desk->Delete(Ending(made.id)).status(),
            absl::NotFoundError("id: override 1 is not in force"));
}

TEST_F(Registered, ANewConfigurationKeepsTheOverrides) {
  Desk desk(path(), clock_);
  desk.Create(Pause("etl"));
  desk.Install(engine::OneBudget(engine::RateBudget("others", 1, 1)));
  EXPECT_FALSE(desk.Admits("etl"));
}

TEST_F(Registered, AnUnknownTargetIsRefused) {
  Desk desk(path(), clock_);
  CreateRequest request = Pause("etl");
  request.selector.target = "nowhere";
  EXPECT_EQ(desk.CreateError(request),
            absl::InvalidArgumentError("selector.target: no target 'nowhere' is configured"));
}

TEST_F(Registered, OnATargetThatIsNoLongerConfiguredItWaits) {
  engine::PolicySpec both = SomePolicy();
  both.targets.resize(2);
  both.targets[0].name = "one";
  both.targets[1].name = "two";
  engine::PolicySpec one = both;
  one.targets.pop_back();
  Desk desk(path(), clock_, both);
  CreateRequest request = Pause("etl");
  request.selector.target = "two";
  desk.Create(request);
  EXPECT_TRUE(desk.Admits("etl", "one"));
  EXPECT_FALSE(desk.Admits("etl", "two"));
  desk.Install(one);
  EXPECT_TRUE(desk.Admits("etl", "one"));
  EXPECT_THAT(desk.Listed(), ElementsAre(1));
  desk.Install(both);
  EXPECT_FALSE(desk.Admits("etl", "two"));
}

TEST_F(Registered, ListsTheNewestFirstByPageAndBySelector) {
  Desk desk(path(), clock_);
  for (const char* identity : {"a:etl", "b:etl", "a:etl", "c:etl"}) desk.Create(Pause(identity));
  EXPECT_THAT(desk.Listed(), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(desk.Listed({.most = 2}), ElementsAre(4, 3));
  EXPECT_THAT(desk.Listed({.before_id = 3}), ElementsAre(2, 1));
  EXPECT_THAT(desk.Listed({.selector = Selector{.identity = "a:etl"}}), ElementsAre(3, 1));
  EXPECT_THAT(desk.Listed({.selector = Selector{.identity = "etl"}}), IsEmpty());
}

TEST_F(Registered, EventsTellWhoDidWhatWhenAndWhy) {
  Desk desk(path(), clock_);
  const Override made = desk.Create(Pause("etl"));
  clock_.Advance(absl::Minutes(5));
  desk.Delete(made.id);
  const std::vector<Event> events = desk.Events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].kind, EventKind::kCreated);
  EXPECT_EQ(events[1].happened_at, made.created_at);
  EXPECT_EQ(events[1].actor, "alice");
  EXPECT_EQ(events[1].reason, "stuck shard");
  EXPECT_EQ(events[0].kind, EventKind::kDeleted);
  EXPECT_EQ(events[0].happened_at, made.created_at + absl::Minutes(5));
  EXPECT_EQ(events[0].actor, "bob");
  EXPECT_EQ(events[0].reason, "it is over");
  EXPECT_EQ(events[0].override, made);
}

TEST_F(Registered, EventsTellWhatElseWasDone) {
  {
    Desk desk(path(), clock_);
    desk.Create(Pause("etl"));
    EXPECT_TRUE(desk->Record({.kind = EventKind::kDebtForgiven,
                              .change = "700 that job-7:etl owed to rows",
                              .actor = "ann",
                              .reason = "bytes for rows"})
                    .ok());
    EXPECT_EQ(desk->Record({.actor = "ann"}).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(desk->Record({.reason = "x"}).code(), absl::StatusCode::kInvalidArgument);
  }
  Desk desk(path(), clock_);
  const std::vector<Event> events = desk.Events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, EventKind::kDebtForgiven);
  EXPECT_EQ(events[0].override.id, 0);
  EXPECT_EQ(events[0].change, "700 that job-7:etl owed to rows");
  EXPECT_EQ(events[0].actor, "ann");
  EXPECT_EQ(events[0].reason, "bytes for rows");
  EXPECT_EQ(events[1].override.id, 1);
  EXPECT_EQ(events[1].change, "");
  EXPECT_EQ((*desk->Events({.override_id = 1})).size(), 1U);
}

TEST_F(Registered, EventsAreFoundByOverrideTimeAndPage) {
  Desk desk(path(), clock_);
  const absl::Time start = clock_.Read().wall();
  for (int i = 0; i < 3; ++i) {
    desk.Create(Pause("etl", Never{}));
    clock_.Advance(absl::Minutes(1));
  }
  desk.Delete(2);
  const auto ids = [&](const EventQuery& query) {
    std::vector<int64_t> found;
    for (const Event& event : desk.Events(query)) found.push_back(event.id);
    return found;
  };
  EXPECT_THAT(ids({}), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(ids({.override_id = 2}), ElementsAre(4, 2));
  EXPECT_THAT(ids({.before_id = 4, .most = 2}), ElementsAre(3, 2));
  EXPECT_THAT(ids({.override_id = 2, .before_id = 4}), ElementsAre(2));
  EXPECT_THAT(ids({.from = start + absl::Minutes(1), .to = start + absl::Minutes(3)}),
              ElementsAre(3, 2));
}

TEST_F(Registered, NothingIsForgottenAcrossAReopenAndIdsAreNeverUsedAgain) {
  {
    Desk desk(path(), clock_);
    desk.Create(Pause("etl", Never{}));
    desk.Create(Throttle("other", 0.5));
    desk.Delete(2);
  }
  Desk desk(path(), clock_);
  EXPECT_FALSE(desk.Admits("etl"));
  EXPECT_THAT(desk.Listed(), ElementsAre(1));
  EXPECT_EQ(desk.Events().size(), 3U);
  EXPECT_EQ(desk.Create(Request(Kind::kExempt, "vip")).id, 3);
}

TEST_F(Registered, KeepsEveryFieldAcrossAReopen) {
  Override made;
  {
    engine::PolicySpec policy = SomePolicy();
    policy.targets.resize(1);
    policy.targets[0].name = "main";
    Desk desk(path(), clock_, policy);
    CreateRequest request = Throttle("", 0.3);
    request.selector = {.segment = "vcopier", .target = "main"};
    request.reason = "größer als gedacht; DROP TABLE overrides";
    request.expiry = clock_.Read().wall() + absl::Hours(30) + absl::Nanoseconds(1);
    made = desk.Create(request);
  }
  Desk desk(path(), clock_);
  EXPECT_THAT(desk->List({}), ElementsAre(made));
}

TEST_F(Registered, ThereMayBeOnlySoMany) {
  Desk desk(path(), clock_, SomePolicy(), 2);
  desk.Create(Pause("a", absl::Minutes(1)));
  desk.Create(Pause("b"));
  const absl::Status status = desk.CreateError(Pause("c"));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("there are 2 overrides in force"));
  clock_.Advance(absl::Minutes(1));  // one has expired
  desk.Create(Pause("c"));
}

TEST_F(Registered, OneCallerHasHalfOfTheRoomAtMost) {
  const auto by = [](const char* caller, absl::Duration expiry) {
    CreateRequest request = Pause("etl", expiry);
    request.actor = caller;
    request.actor_is_caller = true;
    return request;
  };
  const absl::Status no_more = absl::ResourceExhaustedError(
      "caller job has 2 overrides in force, the most that one may have: delete some");
  {
    Desk desk(path(), clock_, SomePolicy(), 4);
    desk.Create(by("job", absl::Minutes(1)));
    desk.Create(by("job", absl::Hours(1)));
    EXPECT_EQ(desk.CreateError(by("job", absl::Hours(1))), no_more);
  }
  Desk desk(path(), clock_, SomePolicy(), 4);
  EXPECT_EQ(desk.CreateError(by("job", absl::Hours(1))), no_more);
  desk.Create(by("sre", absl::Hours(1)));
  clock_.Advance(absl::Minutes(1));  // one has expired
  desk.Create(by("job", absl::Hours(1)));
  EXPECT_EQ(desk.CreateError(by("job", absl::Hours(1))), no_more);
}

TEST_F(Registered, WhereCallersHaveNoNamesOneActorMayTakeAllTheRoom) {
  Desk desk(path(), clock_, SomePolicy(), 4);
  for (int i = 0; i < 4; ++i) desk.Create(Pause("etl"));
  EXPECT_THAT(std::string(desk.CreateError(Pause("etl")).message()),
              HasSubstr("there are 4 overrides in force"));
}

TEST_F(Registered, NothingIsMadeBeforeAPolicyIsInstalled) {
  auto registry = Registry::Open(
      {.path = path(), .put = [](engine::PolicySpec) { return absl::OkStatus(); }}, clock_);
  ASSERT_TRUE(registry.ok()) << registry.status();
  EXPECT_EQ((*registry)->Create(Pause("etl")).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(Registered, ErrorsNameTheField) {
  Desk desk(path(), clock_);
  const auto error = [&](auto change) {
    CreateRequest request = Pause("etl");
    change(request);
    const absl::Status status = desk.CreateError(request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  using R = CreateRequest;
  EXPECT_THAT(error([](R& r) { r.selector = {}; }), StartsWith("selector: exactly one"));
  EXPECT_THAT(error([](R& r) { r.selector.segment = "x"; }), StartsWith("selector: exactly one"));
  EXPECT_THAT(error([](R& r) { r.selector.identity = "a::b"; }), StartsWith("selector.identity: "));
  EXPECT_THAT(error([](R& r) { r.selector = {.segment = "a:b"}; }),
              StartsWith("selector.segment: "));
  EXPECT_THAT(error([](R& r) { r.ratio = 0.5; }), StartsWith("ratio: only throttling"));
  EXPECT_THAT(error([](R& r) { r.kind = Kind::kThrottle; }), StartsWith("ratio: is required"));
  for (const double ratio : {0.0, -1.0, 1.0000001, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(error([&](R& r) { r = Throttle("etl", ratio); }),
                StartsWith("ratio: must be above 0 and at most 1"));
  }
  EXPECT_THAT(error([](R& r) { r.actor = "  "; }), StartsWith("actor: is required"));
  EXPECT_THAT(error([](R& r) { r.reason = ""; }), StartsWith("reason: is required"));
  EXPECT_THAT(error([](R& r) { r.actor = std::string(257, 'a'); }), StartsWith("actor: has 257"));
  EXPECT_THAT(error([](R& r) { r.reason = std::string(1025, 'a'); }),
              StartsWith("reason: has 1025"));
  EXPECT_THAT(error([](R& r) { r.reason = "one\ntwo"; }), StartsWith("reason: must be one line"));
  EXPECT_THAT(error([](R& r) { r.expiry = absl::Seconds(1) - absl::Nanoseconds(1); }),
              StartsWith("expires_in: must be 1 s to 366 days"));
  EXPECT_THAT(error([](R& r) { r.expiry = absl::Hours(24 * 366) + absl::Nanoseconds(1); }),
              StartsWith("expires_in: "));
  const absl::Time now = clock_.Read().wall();
  EXPECT_THAT(error([&](R& r) { r.expiry = now; }),
              StartsWith("expires_at: must be in the future"));
  EXPECT_THAT(error([&](R& r) { r.expiry = absl::InfiniteFuture(); }), StartsWith("expires_at: "));
  EXPECT_THAT(desk.Listed(), IsEmpty());
  EXPECT_THAT(std::string(desk->Delete({.id = 0, .actor = "a", .reason = "r"}).status().message()),
              StartsWith("id: must be above 0"));
  EXPECT_THAT(std::string(desk->Delete({.id = 1, .actor = "a", .reason = ""}).status().message()),
              StartsWith("reason: is required"));
}

TEST_F(Registered, ALongReasonIsCutInRulesNamesAtAWholeCharacter) {
  Desk desk(path(), clock_);
  CreateRequest request = Pause("etl");
  request.reason = std::string(79, 'x') + "ä and more";
  desk.Create(request);
  EXPECT_THAT(desk.Check("etl").Sentence(), HasSubstr("(" + std::string(79, 'x') + "...)'"));
}

}  // namespace
}  // namespace headgate::overrides
