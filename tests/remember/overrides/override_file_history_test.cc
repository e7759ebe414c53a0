// However much has happened, a file keeps so much of it, and a change costs as much as the first.

#include "server/remember/overrides/override_file_history.h"

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/remember/sqlite/database.h"
#include "tests/remember/overrides/overrides_fixture.h"

namespace headgate::overrides {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class History : public OverridesTest {
 protected:
  // What a Headgate that forgot nothing has left: so many overrides that were made and ended.
  // Numbers follow those that are in the file.
  void MakePast(int64_t overrides, size_t reason_bytes) {
    { const Desk desk(path(), clock_); }
    const std::string reason(reason_bytes, 'r');
    const std::string actor(1 + reason_bytes / 4, 'a');
    Run(absl::StrCat(
        "BEGIN;"
        "CREATE TEMP TABLE last AS SELECT coalesce(max(id), 0) AS id FROM overrides;"
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ",
        overrides,
        ") INSERT INTO overrides SELECT last.id + i, 1, 'job-' || i || ':etl', '', '', 0,"
        " '",
        actor, "', '", reason,
        "', 0, NULL, 1 FROM n, last;"
        "INSERT INTO events SELECT 2 * o.id - 1, 0, 1, o.id, actor, reason FROM overrides o, last"
        "  WHERE o.id > last.id;"
        "INSERT INTO events SELECT 2 * o.id, 0, 2, o.id, actor, reason FROM overrides o, last"
        "  WHERE o.id > last.id;"
        "COMMIT"));
  }
  void Run(const std::string& sql) {
    auto database = sqlite::Database::Open(path(), {});
    ASSERT_TRUE(database.ok()) << database.status();
    const absl::Status status = database->Run(sql);
    EXPECT_TRUE(status.ok()) << status;
  }
  int64_t Count(const std::string& file, const std::string& of) {
    auto database = sqlite::Database::Open(file, {.access = sqlite::Access::kReadCopy});
    return database.ok()
               ? database->QueryInt(absl::StrCat("SELECT count(*) FROM ", of)).value_or(-1)
               : -1;
  }
  std::string copy() const { return path() + ".copy"; }
};

TEST_F(History, AFileKeepsTheNewestEventsAndWhatTheyAreAbout) {
  constexpr int64_t kPast = kMaxEvents + 700;  // overrides, with two events each
  MakePast(kPast, 10);
  Desk desk(path(), clock_);
  desk.Create(Pause("etl"));
  desk.Create(Pause("other", Never{}));
  desk.Delete(kPast + 1);
  const std::vector<Event> events = desk.Events({.most = 3 * kMaxEvents});
  EXPECT_EQ(static_cast<int64_t>(events.size()), kMaxEvents);
  EXPECT_EQ(events.front().id, 2 * kPast + 3);
  EXPECT_EQ(events.back().id, 2 * kPast + 3 - kMaxEvents + 1);
  // Each says what it is about.
  for (const Event& event : events) EXPECT_FALSE(event.override.selector.identity.empty());
  EXPECT_THAT(desk.Listed(), ElementsAre(kPast + 2));
}

TEST_F(History, NumbersGoOnWhereTheHistoryWasForgotten) {
  MakePast(20, 10);
  // Deeds alone, so that no event is about an override any more.
  Run(absl::StrCat("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ",
                   kMaxEvents + 5,
                   ") INSERT INTO events SELECT 40 + i, 0, 4, 0, 'alice', 'r' FROM n"));
  { const Desk desk(path(), clock_); }
  Desk desk(path(), clock_);
  EXPECT_EQ(desk.Create(Pause("etl")).id, 21);
  EXPECT_EQ(desk.Events({.most = 1})[0].id, 40 + kMaxEvents + 6);
}

TEST_F(History, WhatIsInForceIsKeptThoughItsEventIsForgotten) {
  { Desk(path(), clock_).Create(Pause("etl", Never{})); }
  Run(absl::StrCat("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ",
                   kMaxEvents + 5,
                   ") INSERT INTO events SELECT 1 + i, 0, 4, 0, 'alice', 'r' FROM n"));
  Desk desk(path(), clock_);
  EXPECT_FALSE(desk.Admits("etl"));
  EXPECT_THAT(desk.Events({.override_id = 1}), IsEmpty());
  desk.Delete(1);
  EXPECT_EQ(desk.Events({.override_id = 1}).size(), 1U);
}

TEST_F(History, AFileWithTheLongestTextsIsBoundedInBytes) {
  MakePast(2 * kMaxEvents, kMaxReasonBytes);
  const auto bytes = [&] { return static_cast<int64_t>(std::filesystem::file_size(path())); };
  EXPECT_GT(bytes(), 2 * kMaxFileBytes);
  {
    Desk desk(path(), clock_);
    desk.Create(Pause("etl"));
    const auto events = static_cast<int64_t>(desk.Events({.most = 3 * kMaxEvents}).size());
    EXPECT_GE(events, kFewestEvents);
    EXPECT_LT(events, kMaxEvents);
  }
  EXPECT_LT(bytes(), kMaxFileBytes + (int64_t{1} << 20));
}

// The copy is written with each change: what it takes is what an emergency stop waits for.
TEST_F(History, TheCopyIsAsSmallAfterALongHistory) {
  { Desk(path(), clock_).Create(Pause("etl", Never{})); }
  const auto first = static_cast<int64_t>(std::filesystem::file_size(copy()));
  MakePast(kMaxEvents / 2 - 10, 200);
  Desk desk(path(), clock_);
  desk.Create(Pause("other", Never{}));
  EXPECT_EQ(Count(copy(), "events"), kEventsInCopy);
  EXPECT_EQ(Count(copy(), "overrides WHERE ended = 0"), 2);
  EXPECT_LE(Count(copy(), "overrides"), kEventsInCopy / 2 + 2);
  EXPECT_LE(static_cast<int64_t>(std::filesystem::file_size(copy())), first + (int64_t{256} << 10));
  EXPECT_GT(static_cast<int64_t>(std::filesystem::file_size(path())), int64_t{1} << 20);
}

TEST_F(History, WhatTakesAFilesPlaceHasTheNewestEventsAndGoesOnCounting) {
  MakePast(1000, 10);
  int64_t newest = 0;
  {
    Desk desk(path(), clock_);
    desk.Create(Pause("etl", Never{}));
    newest = desk.Events({.most = 1})[0].id;
  }
  std::filesystem::resize_file(path(), 2 * 4096);
  Desk desk(path(), clock_);
  EXPECT_NE(desk->GetState().restored, "");
  EXPECT_FALSE(desk.Admits("etl"));
  const std::vector<Event> events = desk.Events({.most = 1000});
  EXPECT_EQ(static_cast<int64_t>(events.size()), kEventsInCopy);
  EXPECT_EQ(events.front().id, newest);
  EXPECT_EQ(desk.Create(Pause("more")).id, 1002);
}

}  // namespace
}  // namespace headgate::overrides
