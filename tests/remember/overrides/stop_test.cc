// Emergency stops: pauses and throttles of everything, what they stop, and what ends them.

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "server/remember/sqlite/database.h"
#include "tests/remember/overrides/overrides_fixture.h"

namespace headgate::overrides {
namespace {

using engine::Reason;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

using Stop = OverridesTest;

CreateRequest OfEverything(Kind kind, std::string target = "") {
  CreateRequest request = Request(kind, "");
  request.selector = {.everything = true, .target = std::move(target)};
  if (kind == Kind::kThrottle) request.ratio = 1;
  return request;
}

// By somebody who may not end a stop.
CreateRequest ResumeOfOnesOwn(std::string identity, std::string target = "") {
  CreateRequest request = Request(Kind::kResume, std::move(identity));
  request.selector.target = std::move(target);
  request.may_lift_stops = false;
  return request;
}

engine::PolicySpec TwoTargets() {
  return engine::OnTwoTargets(SomePolicy(), "one", "two", "vip", "vip:etl");
}

TEST_F(Stop, PausesWhoeverAsksOnWhicheverTarget) {
  Desk desk(path(), clock_, TwoTargets());
  const Override made = desk.Create(OfEverything(Kind::kPause));
  EXPECT_TRUE(made.IsStop());
  for (const char* target : {"one", "two"}) {
    EXPECT_FALSE(desk.Admits("etl", target));
    EXPECT_FALSE(desk.Admits("a:b:c", target));
  }
  desk.Delete(made.id);
  EXPECT_TRUE(desk.Admits("a:b:c", "two"));
}

TEST_F(Stop, OnOneTargetLeavesTheOtherAlone) {
  Desk desk(path(), clock_, TwoTargets());
  desk.Create(OfEverything(Kind::kPause, "one"));
  EXPECT_FALSE(desk.Admits("etl", "one"));
  EXPECT_TRUE(desk.Admits("etl", "two"));
}

TEST_F(Stop, SaysInTheAnswerThatItIsEverything) {
  Desk desk(path(), clock_, TwoTargets());
  const Override all = desk.Create(OfEverything(Kind::kPause));
  EXPECT_THAT(desk.Check("etl", "two").Sentence(),
              HasSubstr("rule 'override 1: everything paused by alice (stuck shard)'"));
  desk.Delete(all.id);
  desk.Create(OfEverything(Kind::kThrottle, "one"));
  EXPECT_THAT(desk.Check("etl", "one").Sentence(),
              HasSubstr("'override 2: everything on one throttled by 100 %, by alice (stuck"));
}

TEST_F(Stop, DoesNotStopWhoIsExemptAndSaysWhoThatIs) {
  Desk desk(path(), clock_, TwoTargets());
  desk.Create(Request(Kind::kExempt, "restore", absl::Minutes(30)));
  desk.Create(OfEverything(Kind::kPause));
  EXPECT_EQ(desk.Check("vip:etl", "one").reason, Reason::kExempt);
  EXPECT_EQ(desk.Check("restore", "two").reason, Reason::kExempt);
  EXPECT_FALSE(desk.Admits("vip:etl", "two"));
  const Exemptions all = desk->ListExemptions("", 20);
  EXPECT_EQ(all.count, 2U);
  EXPECT_THAT(all.rules, ElementsAre("vip", "override 1: exempted by alice (stuck shard)"));
  EXPECT_THAT(desk->ListExemptions("two", 20).rules, ElementsAre(StartsWith("override 1")));
  EXPECT_THAT(desk->ListExemptions("", 1).rules, ElementsAre("vip"));
  EXPECT_EQ(desk->ListExemptions("", 1).count, 2U);
  clock_.Advance(absl::Minutes(30));
  EXPECT_THAT(desk->ListExemptions("", 20).rules, ElementsAre("vip"));
}

TEST_F(Stop, StopsWhatWasResumedBeforeIt) {
  Desk desk(path(), clock_);
  desk.Create(Pause("etl"));
  desk.Create(Request(Kind::kResume, "job:etl", Never{}));
  EXPECT_TRUE(desk.Admits("job:etl"));
  const Override stop = desk.Create(OfEverything(Kind::kPause));
  EXPECT_FALSE(desk.Admits("job:etl"));
  desk.Delete(stop.id);
  EXPECT_TRUE(desk.Admits("job:etl"));
}

TEST_F(Stop, IsLiftedForOneByAResumeThatIsMadeUnderIt) {
  Desk desk(path(), clock_);
  desk.Create(OfEverything(Kind::kPause));
  desk.Create(OfEverything(Kind::kThrottle));
  desk.Create(Request(Kind::kResume, "job:etl"));
  EXPECT_TRUE(desk.Admits("x:job:etl"));
  EXPECT_FALSE(desk.Admits("etl"));
  desk.Create(OfEverything(Kind::kPause));
  EXPECT_FALSE(desk.Admits("x:job:etl"));
}

TEST_F(Stop, IsLiftedForAllByAResumeOfEverythingUntilThatEnds) {
  Desk desk(path(), clock_);
  desk.Create(OfEverything(Kind::kPause));
  desk.Create(Pause("etl"));
  CreateRequest resume = OfEverything(Kind::kResume);
  resume.expiry = absl::Minutes(10);
  desk.Create(resume);
  EXPECT_TRUE(desk.Admits("other"));
  EXPECT_TRUE(desk.Admits("etl"));
  clock_.Advance(absl::Minutes(10));
  EXPECT_FALSE(desk.Admits("other"));
}

TEST_F(Stop, NobodyResumesHisOwnUnderItWithoutBeingAllowedToLiftIt) {
  Desk desk(path(), clock_, TwoTargets());
  desk.Create(ResumeOfOnesOwn("etl"));
  const Override stop = desk.Create(OfEverything(Kind::kPause, "one"));
  EXPECT_EQ(
      desk.CreateError(ResumeOfOnesOwn("etl")),
      absl::PermissionDeniedError("override 2: everything on one paused by alice (stuck shard)"));
  EXPECT_TRUE(absl::IsPermissionDenied(desk.CreateError(ResumeOfOnesOwn("etl", "one"))));
  EXPECT_TRUE(desk.CreateError(ResumeOfOnesOwn("etl", "two")).ok());
  EXPECT_FALSE(desk.Admits("etl", "one"));
  clock_.Advance(stop.expires_at - stop.created_at);
  EXPECT_TRUE(desk.CreateError(ResumeOfOnesOwn("etl")).ok());
}

TEST_F(Stop, AnOldResumeDoesNotLiftTheNextStop) {
  Desk desk(path(), clock_);
  const Override first = desk.Create(OfEverything(Kind::kPause));
  desk.Create(Request(Kind::kResume, "etl", Never{}));
  desk.Delete(first.id);
  desk.Create(OfEverything(Kind::kPause));
  EXPECT_FALSE(desk.Admits("etl"));
}

TEST_F(Stop, OutlivesARestartWithAllThatItDoesAndDoesNot) {
  {
    Desk desk(path(), clock_, TwoTargets());
    desk.Create(Request(Kind::kResume, "old"));
    desk.Create(OfEverything(Kind::kPause, "one"));
    desk.Create(Request(Kind::kResume, "new"));
  }
  Desk desk(path(), clock_, TwoTargets());
  EXPECT_FALSE(desk.Admits("old", "one"));
  EXPECT_TRUE(desk.Admits("new", "one"));
  EXPECT_TRUE(desk.Admits("old", "two"));
  EXPECT_EQ(desk.Check("vip:etl", "one").reason, Reason::kExempt);
  const std::vector<Override> listed =
      desk->List({.selector = Selector{.everything = true, .target = "one"}});
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].selector.identity, "");
  EXPECT_THAT(desk.Events({.override_id = 2}), SizeIs(1));
  clock_.Advance(absl::Hours(1));
  EXPECT_TRUE(desk.Admits("old", "one"));
}

// An older Headgate, which knows version 1, would not run what is stopped: it does not start.
TEST_F(Stop, MakesTheFileOneThatAnOlderHeadgateDoesNotTake) {
  const auto version = [&] {
    auto file = sqlite::Database::Open(path(), {.access = sqlite::Access::kReadCopy});
    return file.ok() ? file->QueryInt("PRAGMA user_version").value_or(-1) : -1;
  };
  {
    Desk desk(path(), clock_);
    desk.Create(Pause("etl"));
  }
  EXPECT_EQ(version(), 1);
  {
    Desk desk(path(), clock_);
    desk.Create(OfEverything(Kind::kPause));
  }
  EXPECT_EQ(version(), 2);
  { const Desk desk(path(), clock_); }
  EXPECT_EQ(version(), 2);
}

TEST_F(Stop, IsOnlyWhatSaysSo) {
  Desk desk(path(), clock_);
  CreateRequest request = OfEverything(Kind::kPause);
  request.selector.everything = false;
  EXPECT_EQ(desk.CreateError(request),
            absl::InvalidArgumentError(
                "selector: exactly one of identity, segment and everything is required"));
  request.selector = {.identity = "etl", .everything = true};
  EXPECT_THAT(std::string(desk.CreateError(request).message()), StartsWith("selector: exactly"));
  request.selector = {.segment = "etl", .everything = true};
  EXPECT_THAT(std::string(desk.CreateError(request).message()), StartsWith("selector: exactly"));
  request.selector = {.identity = "*"};
  EXPECT_THAT(std::string(desk.CreateError(request).message()), StartsWith("selector.identity: "));
  EXPECT_THAT(desk.Listed(), IsEmpty());
}

TEST_F(Stop, EverythingIsNeverExempt) {
  Desk desk(path(), clock_);
  EXPECT_THAT(std::string(desk.CreateError(OfEverything(Kind::kExempt)).message()),
              StartsWith("selector.everything: cannot be exempt"));
}

TEST_F(Stop, HasRoomWhereOthersHaveTakenIt) {
  Desk desk(path(), clock_, SomePolicy(), 4);
  for (int i = 0; i < 4; ++i) desk.Create(Pause("etl"));
  EXPECT_TRUE(absl::IsResourceExhausted(desk.CreateError(Pause("etl"))));
  for (int i = 0; i < 100; ++i) desk.Create(OfEverything(Kind::kPause));
  EXPECT_EQ(desk.CreateError(OfEverything(Kind::kPause)),
            absl::ResourceExhaustedError("there are 100 overrides of everything in force, the most "
                                         "there may be: delete some"));
}

TEST_F(Stop, IsInTheStateThatStatusShowsUntilItEnds) {
  Desk desk(path(), clock_, TwoTargets());
  desk.Create(OfEverything(Kind::kPause));
  desk.Create(OfEverything(Kind::kThrottle, "one"));
  desk.Create(OfEverything(Kind::kResume));
  desk.Create(Pause("etl"));
  const std::vector<Override> stops = desk->GetState().stops;
  ASSERT_THAT(stops, SizeIs(2));
  EXPECT_EQ(stops[0].id, 2);
  EXPECT_EQ(stops[1].id, 1);
  clock_.Advance(absl::Hours(1));
  EXPECT_THAT(desk->GetState().stops, IsEmpty());
}

}  // namespace
}  // namespace headgate::overrides
