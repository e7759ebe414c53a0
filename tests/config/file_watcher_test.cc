// The real thread on real files. It polls every few milliseconds here, and tests wait for what it
// tells.

#include "server/config/file_watcher.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate::config {
namespace {

class Listener {
 public:
  void operator()(const FileWatcher::Content& content) {
    const std::lock_guard lock(mutex_);
    told_.push_back(content.ok() ? *content : std::string(content.status().message()));
    changed_.notify_all();
  }

  // Whether this is the newest that was told, if need be after a while.
  bool Hears(const std::string& text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60),
                             [&] { return !told_.empty() && told_.back() == text; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
};

class FileWatcherTest : public testing::Test {
 protected:
  FileWatcher Watch() {
    return FileWatcher(folder_.File("f.yaml"), std::ref(listener_), absl::Milliseconds(5));
  }

  TempFolder folder_;
  Listener listener_;
};

TEST_F(FileWatcherTest, TellsEachWayOfChangingAFile) {
  folder_.WriteInPlace("f.yaml", "one");
  const FileWatcher watcher = Watch();
  EXPECT_TRUE(listener_.Hears("one"));
  folder_.WriteInPlace("f.yaml", "in place");
  EXPECT_TRUE(listener_.Hears("in place"));
  folder_.RenameOver("f.yaml", "renamed");
  EXPECT_TRUE(listener_.Hears("renamed"));
  folder_.Remove("f.yaml");
  EXPECT_TRUE(listener_.Hears("cannot be read: No such file or directory"));
  folder_.WriteInPlace("f.yaml", "back again");
  EXPECT_TRUE(listener_.Hears("back again"));
}

TEST_F(FileWatcherTest, TellsTheSwapOfAKubernetesVolume) {
  folder_.SwapVersion("f.yaml", "1", "one");
  const FileWatcher watcher = Watch();
  EXPECT_TRUE(listener_.Hears("one"));
  folder_.SwapVersion("f.yaml", "2", "two");
  EXPECT_TRUE(listener_.Hears("two"));
}

TEST_F(FileWatcherTest, TellsOfLooksThatSawNothingNew) {
  folder_.WriteInPlace("f.yaml", "one");
  std::atomic<int> quiet{0};
  const FileWatcher watcher(
      folder_.File("f.yaml"),
      FileWatcher::Callbacks{.on_change = std::ref(listener_), .on_quiet = [&] { ++quiet; }},
      absl::Milliseconds(1));
  EXPECT_TRUE(listener_.Hears("one"));
  const int before = quiet;
  EXPECT_TRUE(WaitUntil([&] { return quiet > before + 2; }));
}

TEST_F(FileWatcherTest, StopsAtOnceHoweverLongTheInterval) {
  const FileWatcher watcher(folder_.File("f.yaml"), std::ref(listener_), absl::Hours(1000));
}

}  // namespace
}  // namespace headgate::config
