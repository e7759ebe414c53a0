// Files that change are read again: at once if they were left alone for a second, else after two
// looks that saw the same.

#include "client/watched_files.h"

#include <headgate/fake.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace headgate::client {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

class WatchedFilesTest : public ::testing::Test {
 protected:
  WatchedFilesTest() {
    Write("token", "old");
    EXPECT_TRUE(files_.Read().ok());
  }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.File(name)) << text;
    struct stat facts = {};
    EXPECT_EQ(stat(folder_.File(name).c_str(), &facts), 0);
    // The wall clock stands at the change.
    wall_ = std::max(absl::TimeFromTimespec(facts.st_mtim), absl::TimeFromTimespec(facts.st_ctim));
  }
  std::optional<internal::WatchedFiles::Texts> NewsAfter(absl::Duration pause) {
    time_->Advance(pause);
    wall_ += pause;
    return files_.News();
  }

  const TempFolder folder_;
  const std::shared_ptr<FakeTime> time_ = std::make_shared<FakeTime>();
  absl::Time wall_;
  internal::WatchedFiles files_{{folder_.File("token"), ""}, time_, [this] { return wall_; }};
};

TEST_F(WatchedFilesTest, TakesAtOnceWhatWasLeftAloneForASecond) {
  Write("token", "new");
  EXPECT_THAT(NewsAfter(absl::Seconds(1)), Optional(ElementsAre("new", "")));
  EXPECT_EQ(NewsAfter(absl::Seconds(1)), std::nullopt);
}

TEST_F(WatchedFilesTest, TakesWhatWasJustWrittenWhenTwoLooksHaveSeenTheSame) {
  time_->Advance(absl::Hours(1));
  Write("token", "n");
  EXPECT_EQ(NewsAfter(absl::Milliseconds(999)), std::nullopt);
  Write("token", "new");
  time_->Advance(absl::Seconds(1));
  EXPECT_EQ(NewsAfter(absl::Milliseconds(1)), std::nullopt);
  time_->Advance(absl::Seconds(1));
  EXPECT_THAT(files_.News(), Optional(ElementsAre("new", "")));
}

// As with a file server's clock that is ahead, or a wall clock that was set back.
TEST_F(WatchedFilesTest, TakesWhatWasWrittenInTheFutureWhenTwoLooksHaveSeenTheSame) {
  Write("token", "new");
  wall_ -= absl::Hours(1);
  EXPECT_EQ(NewsAfter(absl::Seconds(1)), std::nullopt);
  EXPECT_THAT(NewsAfter(absl::Seconds(1)), Optional(ElementsAre("new", "")));
}

TEST_F(WatchedFilesTest, LooksOnceASecondAtMost) {
  Write("token", "new");
  wall_ += absl::Hours(1);
  EXPECT_EQ(NewsAfter(absl::Milliseconds(999)), std::nullopt);
  EXPECT_THAT(NewsAfter(absl::Milliseconds(1)), Optional(ElementsAre("new", "")));
}

}  // namespace
}  // namespace headgate::client
