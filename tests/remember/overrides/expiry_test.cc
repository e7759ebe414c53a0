// Expiries: exact, also across restarts, and written down once.

#include <chrono>

#include "gmock/gmock.h"
#include "server/decide/engine/retry_after.h"
#include "server/remember/overrides/expiry_writer.h"
#include "tests/remember/overrides/overrides_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::overrides {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using Expiring = OverridesTest;

// Of which override, and how long after the start.
std::vector<std::pair<int64_t, absl::Duration>> Expired(const std::vector<Event>& events,
                                                        absl::Time start) {
  std::vector<std::pair<int64_t, absl::Duration>> found;
  for (const Event& event : events) {
    if (event.kind != EventKind::kExpired) continue;
    EXPECT_EQ(event.actor, "");
    EXPECT_EQ(event.reason, "");
    found.emplace_back(event.override.id, event.happened_at - start);
  }
  return found;
}

TEST_F(Expiring, TheInstantItselfIsFreeAgain) {
  Desk desk(path(), clock_);
  desk.Create(Pause("etl", absl::Seconds(90)));
  clock_.Advance(absl::Seconds(90) - absl::Nanoseconds(1));
  EXPECT_FALSE(desk.Admits("etl"));
  EXPECT_THAT(desk.Listed(), ElementsAre(1));
  clock_.Advance(absl::Nanoseconds(1));
  EXPECT_TRUE(desk.Admits("etl"));
  EXPECT_THAT(desk.Listed(), IsEmpty());
  EXPECT_EQ(desk->Delete(Ending(1)).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(Expiring, AtAGivenNanosecondAcrossAReopen) {
  const absl::Time end = clock_.Read().wall() + absl::Hours(1) + absl::Nanoseconds(7);
  { Desk(path(), clock_).Create(Pause("etl", end)); }
  clock_.Advance(absl::Hours(1) + absl::Nanoseconds(6));
  Desk desk(path(), clock_);
  EXPECT_FALSE(desk.Admits("etl"));
  clock_.Advance(absl::Nanoseconds(1));
  EXPECT_TRUE(desk.Admits("etl"));
  ASSERT_EQ(desk.Events().size(), 2U);
  EXPECT_EQ(desk.Events()[0].happened_at, end);
}

TEST_F(Expiring, WhatExpiredWhileTheServerWasDownIsWrittenInOrderAndOnce) {
  const absl::Time start = clock_.Read().wall();
  {
    Desk desk(path(), clock_);
    desk.Create(Pause("a", absl::Minutes(20)));
    desk.Create(Pause("b", absl::Minutes(10)));
    desk.Create(Pause("c", Never{}));
    desk.Create(Pause("d", absl::Minutes(10)));
  }
  clock_.Advance(absl::Hours(1));
  for (int opened = 0; opened < 2; ++opened) {
    Desk desk(path(), clock_);
    EXPECT_THAT(desk.Listed(), ElementsAre(3));
    EXPECT_THAT(Expired(desk.Events(), start),
                ElementsAre(Pair(1, absl::Minutes(20)), Pair(4, absl::Minutes(10)),
                            Pair(2, absl::Minutes(10))));
  }
}

TEST_F(Expiring, TheEventIsWrittenOnce) {
  const absl::Time start = clock_.Read().wall();
  Desk desk(path(), clock_);
  desk.Create(Pause("etl", absl::Minutes(1)));
  clock_.Advance(absl::Minutes(3));
  desk->EndExpired();
  desk->EndExpired();
  EXPECT_THAT(Expired(desk.Events(), start), ElementsAre(Pair(1, absl::Minutes(1))));
}

// Whoever reads writes nothing, and is told all the same.
TEST_F(Expiring, TheEventIsToldBeforeItIsWrittenAndByTheSameNumber) {
  Desk desk(path(), clock_);
  desk.Create(Pause("a", absl::Minutes(2)));
  desk.Create(Pause("b", absl::Minutes(1)));
  desk.Create(Pause("c"));
  clock_.Advance(absl::Minutes(3));
  const std::vector<Event> told = desk.Events();
  ASSERT_EQ(told.size(), 5U);
  EXPECT_EQ(told[0].override.selector.identity, "a");
  EXPECT_EQ(told[1].override.selector.identity, "b");
  desk->EndExpired();
  const std::vector<Event> written = desk.Events();
  ASSERT_EQ(written.size(), 5U);
  for (size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].id, written[i].id);
    EXPECT_EQ(told[i].kind, written[i].kind);
    EXPECT_EQ(told[i].happened_at, written[i].happened_at);
    EXPECT_EQ(told[i].override, written[i].override);
  }
}

TEST_F(Expiring, AnEventThatIsNotWrittenYetIsFoundByOverrideTimeAndPage) {
  const absl::Time start = clock_.Read().wall();
  Desk desk(path(), clock_);
  desk.Create(Pause("a", absl::Minutes(1)));
  desk.Create(Pause("b", absl::Minutes(2)));
  clock_.Advance(absl::Minutes(3));
  const auto ids = [&](const EventQuery& query) {
    std::vector<int64_t> found;
    for (const Event& event : desk.Events(query)) found.push_back(event.id);
    return found;
  };
  EXPECT_THAT(ids({}), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(ids({.override_id = 1}), ElementsAre(3, 1));
  EXPECT_THAT(ids({.from = start + absl::Seconds(90)}), ElementsAre(4));
  EXPECT_THAT(ids({.from = start + absl::Seconds(1), .to = start + absl::Minutes(2)}),
              ElementsAre(3));
  EXPECT_THAT(ids({.most = 3}), ElementsAre(4, 3, 2));
  EXPECT_THAT(ids({.before_id = 4, .most = 2}), ElementsAre(3, 2));
  EXPECT_THAT(ids({.before_id = 2}), ElementsAre(1));
}

// By the thread that a server has for it.
TEST_F(Expiring, IsWrittenThoughNobodyChangesAnything) {
  Desk desk(path(), clock_);
  const ExpiryWriter writer(*desk, std::chrono::milliseconds(1));
  desk.Create(Pause("etl", absl::Minutes(1)));
  clock_.AdvanceWall(absl::Minutes(1));
  // Set back, the clock shows what was written.
  EXPECT_TRUE(WaitUntil([&] {
    clock_.AdvanceWall(-absl::Minutes(1));
    const bool is_over = desk.Admits("etl");
    clock_.AdvanceWall(absl::Minutes(1));
    return is_over;
  }));
}

TEST_F(Expiring, AnEventOfALaterChangeComesAfterIt) {
  Desk desk(path(), clock_);
  desk.Create(Pause("etl", absl::Minutes(1)));
  clock_.Advance(absl::Minutes(3));
  desk.Create(Pause("etl"));
  const std::vector<Event> events = desk.Events();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].kind, EventKind::kCreated);
  EXPECT_EQ(events[1].kind, EventKind::kExpired);
}

TEST_F(Expiring, WhatHasExpiredStaysSoWhenTheClockIsSetBack) {
  Desk desk(path(), clock_);
  desk.Create(Pause("etl", absl::Minutes(1)));
  clock_.AdvanceWall(absl::Minutes(1));
  desk->EndExpired();
  clock_.AdvanceWall(-absl::Minutes(1));
  EXPECT_TRUE(desk.Admits("etl"));
  EXPECT_THAT(desk.Listed(), IsEmpty());
}

TEST_F(Expiring, NeverIsNever) {
  Desk desk(path(), clock_);
  desk.Create(Pause("etl", Never{}));
  EXPECT_EQ(desk.Check("etl").retry_after, engine::kAskAgainWhilePaused);
  clock_.Advance(absl::Hours(24 * 365 * 20));
  EXPECT_FALSE(desk.Admits("etl"));
  EXPECT_EQ(desk->List({})[0].expires_at, absl::InfiniteFuture());
}

}  // namespace
}  // namespace headgate::overrides
