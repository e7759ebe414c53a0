// Without a thread and without waiting: a look is a call. In place means within one tick of the
// file system's clock here, so that texts written so differ in length where that could matter.

#include "common/settled_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace headgate {
namespace {

class SettledFilesTest : public testing::Test {
 protected:
  // What two looks tell, "-" being nothing.
  std::string LookTwice() {
    const std::string first = Told(file_.Look());
    return first + Told(file_.Look());
  }

  static std::string Told(const std::optional<SettledFiles::Contents>& contents) {
    if (!contents.has_value()) return "-";
    std::vector<std::string> texts;
    for (const SettledFiles::Content& content : *contents) {
      texts.push_back(content.ok() ? *content : std::string(content.status().message()));
    }
    return absl::StrJoin(texts, "+");
  }

  TempFolder folder_;
  SettledFiles file_{{folder_.File("f.yaml")}};
};

TEST_F(SettledFilesTest, FirstContentIsToldAtTheSecondLook) {
  folder_.WriteInPlace("f.yaml", "one");
  EXPECT_EQ(LookTwice(), "-one");
  EXPECT_EQ(LookTwice(), "--");
}

TEST_F(SettledFilesTest, WritingInPlaceIsTold) {
  folder_.WriteInPlace("f.yaml", "one");
  LookTwice();
  folder_.WriteInPlace("f.yaml", "three");
  EXPECT_EQ(LookTwice(), "-three");
}

TEST_F(SettledFilesTest, RenamingOverIsTold) {
  folder_.WriteInPlace("f.yaml", "one");
  LookTwice();
  folder_.RenameOver("f.yaml", "two");
  EXPECT_EQ(LookTwice(), "-two");
}

TEST_F(SettledFilesTest, SwappedSymlinkIsTold) {
  folder_.SwapVersion("f.yaml", "1", "one");
  EXPECT_EQ(LookTwice(), "-one");
  folder_.SwapVersion("f.yaml", "2", "two");
  EXPECT_EQ(LookTwice(), "-two");
  folder_.SwapVersion("f.yaml", "3", "two");
  EXPECT_EQ(LookTwice(), "--");
}

TEST_F(SettledFilesTest, TouchTellsNothing) {
  folder_.WriteInPlace("f.yaml", "one");
  LookTwice();
  std::filesystem::last_write_time(folder_.File("f.yaml"), {});
  EXPECT_EQ(LookTwice(), "--");
}

TEST_F(SettledFilesTest, ContentThatIsBeingWrittenIsNotTold) {
  folder_.WriteInPlace("f.yaml", "one");
  LookTwice();
  folder_.WriteInPlace("f.yaml", "");
  EXPECT_EQ(Told(file_.Look()), "-");
  folder_.WriteInPlace("f.yaml", "half");
  EXPECT_EQ(Told(file_.Look()), "-");
  folder_.WriteInPlace("f.yaml", "complete");
  EXPECT_EQ(LookTwice(), "-complete");
}

TEST_F(SettledFilesTest, SecondWriteInTheSameTickIsTold) {
  folder_.WriteInPlace("f.yaml", "one");
  EXPECT_EQ(Told(file_.Look()), "-");
  folder_.WriteInPlace("f.yaml", "two");
  EXPECT_EQ(LookTwice(), "-two");
  EXPECT_EQ(LookTwice(), "--");
}

TEST_F(SettledFilesTest, DeletionIsToldOnceAndReCreationAgain) {
  folder_.WriteInPlace("f.yaml", "one");
  LookTwice();
  folder_.Remove("f.yaml");
  EXPECT_EQ(LookTwice(), "-cannot be read: No such file or directory");
  EXPECT_EQ(LookTwice(), "--");
  folder_.WriteInPlace("f.yaml", "one");
  EXPECT_EQ(LookTwice(), "-one");
}

TEST_F(SettledFilesTest, FileThatIsGoneForAMomentIsNotTold) {
  folder_.WriteInPlace("f.yaml", "one");
  LookTwice();
  folder_.Remove("f.yaml");
  EXPECT_EQ(Told(file_.Look()), "-");
  folder_.WriteInPlace("f.yaml", "one");
  EXPECT_EQ(LookTwice(), "--");
}

TEST_F(SettledFilesTest, WhatIsNoFileIsTold) {
  std::filesystem::create_directory(folder_.File("f.yaml"));
  EXPECT_EQ(LookTwice(), "-is not a regular file");
}

TEST_F(SettledFilesTest, ErrorThatPassesWhileTheFileStaysTheSameIsToldOnceAndThenTheFile) {
  folder_.WriteInPlace("f.yaml", "one");
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string error = LookTwice();
  const std::string again = LookTwice();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(error, "-cannot be read: Too many open files");
  EXPECT_EQ(again, "--");
  EXPECT_EQ(LookTwice(), "-one");
}

TEST_F(SettledFilesTest, FileThatSaysWhatAnErrorSaysIsTold) {
  EXPECT_EQ(LookTwice(), "-cannot be read: No such file or directory");
  folder_.WriteInPlace("f.yaml", "cannot be read: No such file or directory");
  EXPECT_EQ(LookTwice(), "-cannot be read: No such file or directory");
}

TEST_F(SettledFilesTest, FilesOfASetAreToldTogetherOnceAllHaveSettled) {
  folder_.WriteInPlace("a", "one");
  folder_.WriteInPlace("b", "two");
  SettledFiles files({folder_.File("a"), "", folder_.File("b")});
  EXPECT_EQ(Told(files.Look()), "-");
  folder_.WriteInPlace("b", "other");
  EXPECT_EQ(Told(files.Look()), "-");
  EXPECT_EQ(Told(files.Look()), "one++other");
  folder_.Remove("a");
  files.Look();
  EXPECT_EQ(Told(files.Look()), "cannot be read: No such file or directory++other");
  folder_.WriteInPlace("a", "one");
  files.Look();
  EXPECT_EQ(Told(files.Look()), "one++other");
}

TEST_F(SettledFilesTest, FilesThatWereLeftAloneSettleAtTheFirstLook) {
  folder_.WriteInPlace("f.yaml", "one");
  const FileIdentity file = IdentifyFile(folder_.File("f.yaml"));
  const absl::Time changed = absl::FromUnixNanos(std::max(file.modified_ns, file.changed_ns));
  EXPECT_EQ(Told(file_.Look(changed - absl::Nanoseconds(1))), "-");
  folder_.RenameOver("f.yaml", "two");
  EXPECT_EQ(Told(file_.Look(absl::InfiniteFuture())), "two");
  EXPECT_EQ(Told(file_.Look(absl::InfiniteFuture())), "-");
  folder_.Remove("f.yaml");
  EXPECT_EQ(Told(file_.Look(absl::InfiniteFuture())), "-");
}

TEST_F(SettledFilesTest, ReadSaysWhichFileCannotBeRead) {
  EXPECT_EQ(file_.Read().status().message(),
            folder_.File("f.yaml") + ": cannot be read: No such file or directory");
}

}  // namespace
}  // namespace headgate
