// Without a thread and without waiting: a look is a call. In place means within one tick of the
// file system's clock here, so that texts written so differ in length where that could matter.

#include "server/config/settled_file.h"

#include <sys/resource.h>

#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace headgate::config {
namespace {

class SettledFileTest : public testing::Test {
 protected:
  // What two looks tell, "-" being nothing.
  std::string LookTwice() {
    const std::optional<SettledFile::Content> first = file_.Look();
    const std::optional<SettledFile::Content> second = file_.Look();
    return Told(first) + Told(second);
  }

  static std::string Told(const std::optional<SettledFile::Content>& content) {
    if (!content.has_value()) return "-";
    return content->ok() ? **content : std::string(content->status().message());
  }

  TempFolder folder_;
  SettledFile file_{folder_.File("f.yaml")};
};

TEST_F(SettledFileTest, FirstContentIsToldAtTheSecondLook) {
  folder_.WriteInPlace("f.yaml", "one");
  EXPECT_EQ(LookTwice(), "-one");
  EXPECT_EQ(LookTwice(), "--");
}

TEST_F(SettledFileTest, WritingInPlaceIsTold) {
  folder_.WriteInPlace("f.yaml", "one");
  LookTwice();
  folder_.WriteInPlace("f.yaml", "three");
  EXPECT_EQ(LookTwice(), "-three");
}

TEST_F(SettledFileTest, RenamingOverIsTold) {
  folder_.WriteInPlace("f.yaml", "one");
  LookTwice();
  folder_.RenameOver("f.yaml", "two");
  EXPECT_EQ(LookTwice(), "-two");
}

TEST_F(SettledFileTest, SwappedSymlinkIsTold) {
  folder_.SwapVersion("f.yaml", "1", "one");
  EXPECT_EQ(LookTwice(), "-one");
  folder_.SwapVersion("f.yaml", "2", "two");
  EXPECT_EQ(LookTwice(), "-two");
  folder_.SwapVersion("f.yaml", "3", "two");
  EXPECT_EQ(LookTwice(), "--");
}

TEST_F(SettledFileTest, TouchTellsNothing) {
  folder_.WriteInPlace("f.yaml", "one");
  LookTwice();
  std::filesystem::last_write_time(folder_.File("f.yaml"), {});
  EXPECT_EQ(LookTwice(), "--");
}

TEST_F(SettledFileTest, ContentThatIsBeingWrittenIsNotTold) {
  folder_.WriteInPlace("f.yaml", "one");
  LookTwice();
  folder_.WriteInPlace("f.yaml", "");
  EXPECT_EQ(Told(file_.Look()), "-");
  folder_.WriteInPlace("f.yaml", "half");
  EXPECT_EQ(Told(file_.Look()), "-");
  folder_.WriteInPlace("f.yaml", "complete");
  EXPECT_EQ(LookTwice(), "-complete");
}

TEST_F(SettledFileTest, SecondWriteInTheSameTickIsTold) {
  folder_.WriteInPlace("f.yaml", "one");
  EXPECT_EQ(Told(file_.Look()), "-");
  folder_.WriteInPlace("f.yaml", "two");
  EXPECT_EQ(LookTwice(), "-two");
  EXPECT_EQ(LookTwice(), "--");
}

TEST_F(SettledFileTest, DeletionIsToldOnceAndReCreationAgain) {
  folder_.WriteInPlace("f.yaml", "one");
  LookTwice();
  folder_.Remove("f.yaml");
  EXPECT_EQ(LookTwice(), "-cannot be read: No such file or directory");
  EXPECT_EQ(LookTwice(), "--");
  folder_.WriteInPlace("f.yaml", "one");
  EXPECT_EQ(LookTwice(), "-one");
}

TEST_F(SettledFileTest, FileThatIsGoneForAMomentIsNotTold) {
  folder_.WriteInPlace("f.yaml", "one");
  LookTwice();
  folder_.Remove("f.yaml");
  EXPECT_EQ(Told(file_.Look()), "-");
  folder_.WriteInPlace("f.yaml", "one");
  EXPECT_EQ(LookTwice(), "--");
}

TEST_F(SettledFileTest, WhatIsNoFileIsTold) {
  std::filesystem::create_directory(folder_.File("f.yaml"));
  EXPECT_EQ(LookTwice(), "-is not a regular file");
}

TEST_F(SettledFileTest, ErrorThatPassesWhileTheFileStaysTheSameIsToldOnceAndThenTheFile) {
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

TEST_F(SettledFileTest, FileThatSaysWhatAnErrorSaysIsTold) {
  EXPECT_EQ(LookTwice(), "-cannot be read: No such file or directory");
  folder_.WriteInPlace("f.yaml", "cannot be read: No such file or directory");
  EXPECT_EQ(LookTwice(), "-cannot be read: No such file or directory");
}

}  // namespace
}  // namespace headgate::config
