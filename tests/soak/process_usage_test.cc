#include "tests/testing/process_usage.h"

#include <fcntl.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace headgate::soak {
namespace {

ProcessUsage Mine() {
  const absl::StatusOr<ProcessUsage> usage = UsageOf(getpid());
  EXPECT_TRUE(usage.ok()) << usage.status();
  return usage.value_or(ProcessUsage{});
}

TEST(ProcessUsage, CountsOpenFiles) {
  const ProcessUsage before = Mine();
  const int fd = open("/dev/null", O_RDONLY);
  EXPECT_EQ(Mine().files, before.files + 1);
  close(fd);
  EXPECT_EQ(Mine().files, before.files);
}

TEST(ProcessUsage, CountsThreads) {
  const ProcessUsage before = Mine();
  absl::Notification end;
  std::thread thread([&] { end.WaitForNotification(); });
  EXPECT_EQ(Mine().threads, before.threads + 1);
  end.Notify();
  thread.join();
}

TEST(ProcessUsage, SeesMemoryThatWasWrittenTo) {
  const ProcessUsage before = Mine();
  std::vector<char> memory(size_t{32} << 20, 'x');
  EXPECT_GT(Mine().rss_mib, before.rss_mib + 24) << memory.back();
}

TEST(ProcessUsage, ProcessThatIsNotThereIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(UsageOf(1 << 22 | 12345).status()));
}

}  // namespace
}  // namespace headgate::soak
