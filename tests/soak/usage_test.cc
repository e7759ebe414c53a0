#include "tests/soak/usage.h"

#include <fcntl.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace headgate::soak {
namespace {

Usage Mine() {
  const absl::StatusOr<Usage> usage = UsageOf(getpid());
  EXPECT_TRUE(usage.ok()) << usage.status();
  return usage.value_or(Usage{});
}

TEST(Usage, CountsOpenFiles) {
  const Usage before = Mine();
  const int fd = open("/dev/null", O_RDONLY);
  EXPECT_EQ(Mine().files, before.files + 1);
  close(fd);
  EXPECT_EQ(Mine().files, before.files);
}

TEST(Usage, CountsThreads) {
  const Usage before = Mine();
  absl::Notification end;
  std::thread thread([&] { end.WaitForNotification(); });
  EXPECT_EQ(Mine().threads, before.threads + 1);
  end.Notify();
  thread.join();
}

TEST(Usage, SeesMemoryThatWasWrittenTo) {
  const Usage before = Mine();
  std::vector<char> memory(size_t{32} << 20, 'x');
  EXPECT_GT(Mine().rss_mib, before.rss_mib + 24) << memory.back();
}

TEST(Usage, ProcessThatIsNotThereIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(UsageOf(1 << 22 | 12345).status()));
}

}  // namespace
}  // namespace headgate::soak
