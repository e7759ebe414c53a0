// Nothing half done: an engine that refuses, a disk that is full, a file that is damaged.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/remember/sqlite/database.h"
#include "tests/remember/overrides/overrides_fixture.h"
#include "tests/testing/full_disk.h"
#include "tests/testing/small_disk.h"

namespace headgate::overrides {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Faults = OverridesTest;

TEST_F(Faults, WhatCannotBePutIntoForceIsNotMade) {
  Desk desk(path(), clock_);
  desk.RefusePuts(absl::InvalidArgumentError("rule 'x' is defined twice"));
  const absl::Status status = desk.CreateError(Pause("etl"));
  EXPECT_EQ(status, absl::UnavailableError("nothing has changed: rule 'x' is defined twice"));
  desk.RefusePuts(absl::OkStatus());
  EXPECT_THAT(desk.Listed(), IsEmpty());
  EXPECT_THAT(desk.Events(), IsEmpty());
  EXPECT_EQ(desk.Create(Pause("etl")).id, 2);  // the first may have been named
}

TEST_F(Faults, ANumberOfWhatWasMadeIsNeverUsedAgainAndThatOfWhatWasNotMayBeAfterARestart) {
  {
    Desk desk(path(), clock_);
    desk.Create(Pause("etl"));
    desk.Delete(1);
    desk.RefusePuts(absl::ResourceExhaustedError("no memory"));
    EXPECT_FALSE(desk.CreateError(Pause("etl")).ok());
  }
  Desk desk(path(), clock_);
  EXPECT_EQ(desk.Create(Pause("etl")).id, 2);
}

TEST_F(Faults, WhatCannotBeEndedInTheEngineIsNotEndedOnDisk) {
  {
    Desk desk(path(), clock_);
    desk.Create(Pause("etl"));
    desk.RefusePuts(absl::ResourceExhaustedError("no memory"));
    EXPECT_EQ(desk->Delete(Ending(1)).status().code(), absl::StatusCode::kUnavailable);
    EXPECT_FALSE(desk.Admits("etl"));
    EXPECT_THAT(desk.Listed(), ElementsAre(1));
  }
  Desk desk(path(), clock_);
  EXPECT_FALSE(desk.Admits("etl"));
  EXPECT_EQ(desk.Events().size(), 1U);
}

TEST_F(Faults, OnAFullDiskNothingIsRecordedAndAfterwardsItIs) {
  Desk desk(path(), clock_);
  const Deed deed{.kind = EventKind::kDebtForgiven,
                  .change = "700 that job-7:etl owed to rows",
                  .actor = "ann",
                  .reason = "bytes for rows"};
  absl::Status recorded;
  {
    const FullDisk full;
    recorded = desk->Record(deed);
  }
  EXPECT_EQ(recorded.code(), absl::StatusCode::kUnavailable) << recorded;
  EXPECT_THAT(desk.Events(), IsEmpty());
  EXPECT_TRUE(desk->Record(deed).ok());
  EXPECT_EQ(desk.Events().size(), 1U);
}

TEST_F(Faults, OnAFullDiskNothingChangesAndAfterwardsAllGoesOn) {
  Desk desk(path(), clock_);
  desk.Create(Pause("etl"));
  absl::Status created;
  absl::Status deleted;
  {
    const FullDisk full;
    created = desk.CreateError(Pause("other"));
    deleted = desk->Delete(Ending(1)).status();
  }
  EXPECT_EQ(created.code(), absl::StatusCode::kUnavailable) << created;
  EXPECT_THAT(std::string(created.message()), HasSubstr("nothing has changed"));
  EXPECT_EQ(deleted.code(), absl::StatusCode::kUnavailable) << deleted;
  EXPECT_FALSE(desk.Admits("etl"));
  EXPECT_TRUE(desk.Admits("other"));
  EXPECT_THAT(desk.Listed(), ElementsAre(1));
  EXPECT_EQ(desk.Events().size(), 1U);
  desk.Delete(1);
  EXPECT_TRUE(desk.Admits("etl"));
}

TEST_F(Faults, AnExpiryThatCouldNotBeWrittenIsWrittenLater) {
  Desk desk(path(), clock_);
  desk.Create(Pause("etl", absl::Minutes(1)));
  clock_.Advance(absl::Hours(1));
  std::vector<int64_t> listed;
  absl::StatusCode deleted{};
  {
    const FullDisk full;
    listed = desk.Listed();
    deleted = desk->Delete(Ending(1)).status().code();
  }
  EXPECT_THAT(listed, IsEmpty());
  EXPECT_EQ(deleted, absl::StatusCode::kNotFound);
  EXPECT_TRUE(desk.Admits("etl"));
  EXPECT_EQ(desk.Events().size(), 2U);
}

TEST_F(Faults, AServerThatStartsOnAFullDiskHasWhatWasAcknowledged) {
  const SmallDisk disk(path() + ".disk");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small tmpfs takes root";
  const std::string file = disk.File("overrides.db");
  {
    Desk desk(file, clock_);
    desk.Create(Pause("etl"));
  }
  disk.Fill();
  {
    Desk desk(file, clock_);
    EXPECT_FALSE(desk.Admits("etl"));
    EXPECT_THAT(desk.Listed(), ElementsAre(1));
    EXPECT_EQ(desk.Events().size(), 1U);
    EXPECT_FALSE(desk->GetState().status.ok());
    EXPECT_THAT(std::string(desk.CreateError(Pause("other")).message()),
                HasSubstr("nothing has changed"));
  }
  disk.MakeRoom();
  Desk desk(file, clock_);
  EXPECT_TRUE(desk->GetState().status.ok()) << desk->GetState().status;
  EXPECT_THAT(desk.Listed(), ElementsAre(1));
  EXPECT_EQ(desk.Create(Pause("other")).id, 2);
}

// Nobody has to order anything for it.
TEST_F(Faults, ThatNothingCouldBeWrittenIsSaidUntilSomethingCan) {
  const SmallDisk disk(path() + ".disk");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small tmpfs takes root";
  Desk desk(disk.File("overrides.db"), clock_);
  desk.Create(Pause("etl"));
  disk.Fill();
  EXPECT_FALSE(desk.CreateError(Pause("other")).ok());
  desk->TryToWrite();
  EXPECT_FALSE(desk->GetState().status.ok());
  disk.MakeRoom();
  desk->TryToWrite();
  EXPECT_TRUE(desk->GetState().status.ok()) << desk->GetState().status;
  EXPECT_THAT(desk.Listed(), ElementsAre(1));
  EXPECT_EQ(desk.Events().size(), 1U);
}

TEST_F(Faults, AServerThatMayNotWriteHasWhatWasAcknowledged) {
  const SmallDisk disk(path() + ".disk");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small tmpfs takes root";
  const std::string file = disk.File("overrides.db");
  {
    Desk desk(file, clock_);
    desk.Create(Pause("etl"));
  }
  disk.MakeReadOnly();
  Desk desk(file, clock_);
  EXPECT_FALSE(desk.Admits("etl"));
  const absl::Status refused = desk.CreateError(Pause("other"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr(file), HasSubstr("Read-only file system"),
                    HasSubstr("then restart headgated")));
  EXPECT_EQ(desk->GetState().status.code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(Faults, AServerThatMayNotWriteAndNeverCouldStartsWithoutOverrides) {
  const SmallDisk disk(path() + ".disk");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small tmpfs takes root";
  disk.MakeReadOnly();
  Desk desk(disk.File("overrides.db"), clock_);
  EXPECT_TRUE(desk.Admits("etl"));
  EXPECT_EQ(desk.CreateError(Pause("etl")).code(), absl::StatusCode::kUnavailable);
}

TEST_F(Faults, AFolderThatIsNotThereIsNamed) {
  const absl::Status status = Registry::Open({.path = "/none/such/overrides.db"}, clock_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/none/such/overrides.db"));
}

TEST_F(Faults, AnotherServerOnTheSameFileIsRefused) {
  Desk desk(path(), clock_);
  const absl::Status status = Registry::Open({.path = path()}, clock_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is used by another headgated"));
}

// What happens to a file between two lives of a server, with its copy and without.
class Damaged : public OverridesTest {
 protected:
  Damaged() {
    Desk desk(path(), clock_);
    desk.Create(Pause("over"));
    desk.Create(Pause("etl", Never{}));
    desk.Delete(1);
  }

  void Run(const std::string& sql) {
    auto database = sqlite::Database::Open(path(), {});
    ASSERT_TRUE(database.ok()) << database.status();
    const absl::Status status = database->Run(sql);
    EXPECT_TRUE(status.ok()) << status;
  }

  // Nothing that was acknowledged is lost; nor is the damaged file, from which somebody may want
  // to know.
  void ExpectRestored() {
    {
      Desk desk(path(), clock_);
      EXPECT_THAT(desk->GetState().restored, HasSubstr(path() + ".corrupt-"));
      EXPECT_THAT(desk.Listed(), ElementsAre(2));
      EXPECT_FALSE(desk.Admits("etl"));
      EXPECT_EQ(desk.Events().size(), 3U);
      EXPECT_EQ(desk.Create(Pause("more")).id, 3);
      EXPECT_TRUE(std::filesystem::exists(
          absl::StrCat(path(), ".corrupt-", absl::ToUnixSeconds(clock_.Read().wall()))));
    }
    Desk desk(path(), clock_);
    EXPECT_EQ(desk->GetState().restored, "");
    EXPECT_THAT(desk.Listed(), ElementsAre(3, 2));
  }

  // What Open says where there is no copy, which has to say what to do.
  std::string Refusal() {
    std::filesystem::remove(path() + ".copy");
    const absl::Status status = Registry::Open({.path = path()}, clock_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    const std::string text(status.message());
    EXPECT_THAT(text, HasSubstr("Restore the file from a backup"));
    EXPECT_THAT(text, HasSubstr("mv " + path() + " " + path() + ".broken"));
    return text;
  }

  void WriteOther() const { std::ofstream(path()) << std::string(100'000, 'x'); }
  void OverwritePages() const {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 + 100);
    file << std::string(2 * 4096, '\xff');
  }
};

TEST_F(Damaged, AFileThatIsGoneIsReplacedByTheCopy) {
  std::filesystem::remove(path());
  Desk desk(path(), clock_);
  EXPECT_THAT(desk->GetState().restored, HasSubstr(path() + " is gone"));
  EXPECT_THAT(desk.Listed(), ElementsAre(2));
  EXPECT_EQ(desk.Create(Pause("more")).id, 3);
}

TEST_F(Damaged, WithBothFilesGoneItBeginsWithNone) {
  std::filesystem::remove(path());
  std::filesystem::remove(path() + ".copy");
  Desk desk(path(), clock_);
  EXPECT_EQ(desk->GetState().restored, "");
  EXPECT_THAT(desk.Listed(), IsEmpty());
}

TEST_F(Damaged, OtherContentsAreReplacedByTheCopy) {
  WriteOther();
  ExpectRestored();
}

TEST_F(Damaged, OverwrittenPagesAreReplacedByTheCopy) {
  OverwritePages();
  ExpectRestored();
}

TEST_F(Damaged, ATruncatedFileIsReplacedByTheCopy) {
  std::filesystem::resize_file(path(), 2 * 4096);
  ExpectRestored();
}

TEST_F(Damaged, AnOverrideThatMakesNoSenseIsReplacedByTheCopy) {
  Run("UPDATE overrides SET kind = 257");
  ExpectRestored();
}

TEST_F(Damaged, AFileOfOtherContentsIsNotTakenForNone) {
  WriteOther();
  Refusal();
}

TEST_F(Damaged, OverwrittenPagesAreFoundOut) {
  OverwritePages();
  Refusal();
}

TEST_F(Damaged, AnOverrideThatMakesNoSenseIsFoundOut) {
  Run("UPDATE overrides SET kind = 257");
  EXPECT_THAT(Refusal(), HasSubstr("override 2 makes no sense"));
}

TEST_F(Damaged, AnotherProgramsDatabaseIsNotUsed) {
  Run("DROP TABLE events");
  Refusal();
}

TEST_F(Damaged, ACopyThatIsDamagedTooIsNotUsed) {
  WriteOther();
  std::ofstream(path() + ".copy") << std::string(100'000, 'x');
  Refusal();
}

// Whoever opens a pipe waits for the other end, which nobody has.
class Piped : public Damaged {
 protected:
  void MakePipe(const std::string& suffix) {
    std::filesystem::remove(path() + suffix);
    ASSERT_EQ(mkfifo((path() + suffix).c_str(), 0600), 0);
  }
  absl::Status Opened() { return Registry::Open({.path = path()}, clock_).status(); }
};

TEST_F(Piped, APipeInThePlaceOfAFileIsNamed) {
  for (const char* const suffix : {"-wal", "-shm", "-journal", ""}) {
    MakePipe(suffix);
    const absl::Status status = Opened();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path() + suffix + " is a pipe"));
    std::filesystem::remove(path() + suffix);
  }
}

TEST_F(Piped, APipeInThePlaceOfTheCopyIsReplacedByOne) {
  MakePipe(".copy");
  MakePipe(".copy.new");
  {
    Desk desk(path(), clock_);
    EXPECT_TRUE(std::filesystem::is_regular_file(path() + ".copy"));
    MakePipe(".copy.new");
    desk.Create(Pause("more"));
    EXPECT_TRUE(desk->GetState().status.ok()) << desk->GetState().status;
  }
  std::filesystem::remove(path());
  EXPECT_THAT(Desk(path(), clock_).Listed(), ElementsAre(3, 2));
}

TEST_F(Piped, WithoutTheFileAPipeIsNotTakenForTheCopy) {
  MakePipe(".copy");
  std::filesystem::remove(path());
  const absl::Status status = Opened();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(path() + " is gone"), HasSubstr(path() + ".copy is a pipe")));
}

TEST_F(Piped, APipeWhereTheCopyTakesTheFilesPlaceDoesNotHoldItUp) {
  MakePipe(".new");
  std::filesystem::remove(path());
  const absl::Status status = Opened();
  EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
}

TEST_F(Damaged, TheCopyIsForItsUserAlone) {
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path() + ".copy").permissions(),
            perms::owner_read | perms::owner_write);
}

TEST_F(Damaged, ACopyThatIsMissingIsMadeAnew) {
  std::filesystem::remove(path() + ".copy");
  { const Desk desk(path(), clock_); }
  WriteOther();
  ExpectRestored();
}

TEST_F(Damaged, AnOlderHeadgatesFileIsReadAndKeepsMoreFromThenOn) {
  { Desk(path(), clock_).Create(Pause("etl")); }
  Run("DROP TABLE changes");
  Desk desk(path(), clock_);
  EXPECT_FALSE(desk.Admits("etl"));
  EXPECT_TRUE(
      desk->Record({.change = "2 learnt costs of root etl", .actor = "a", .reason = "b"}).ok());
  const std::vector<Event> events = desk.Events();
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(events[0].change, "2 learnt costs of root etl");
  EXPECT_EQ(events[1].change, "");
  EXPECT_EQ(events[1].override.selector.identity, "etl");
}

TEST_F(Damaged, AnOlderHeadgatesFileThatCannotBeWrittenIsReadFromItsCopy) {
  { Desk(path(), clock_).Create(Pause("etl")); }
  Run("DROP TABLE changes");
  std::filesystem::copy_file(path(), path() + ".copy",
                             std::filesystem::copy_options::overwrite_existing);
  const FullDisk full;
  Desk desk(path(), clock_);
  EXPECT_FALSE(desk.Admits("etl"));
  EXPECT_GE(desk.Events().size(), 1U);
}

TEST_F(Damaged, ANewerHeadgatesFileIsLeftAlone) {
  Run("PRAGMA user_version = 3");
  const absl::Status status = Registry::Open({.path = path()}, clock_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("was written by a newer Headgate"));
}

}  // namespace
}  // namespace headgate::overrides
