// Nobody reads what the server writes to standard error: Checks go on, and it can be stopped.

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "common/file_descriptor.h"
#include "gtest/gtest.h"
#include "tests/testing/check_once.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

constexpr int kSmallestPipe = 4096;

class StuckLog : public testing::Test {
 protected:
  StuckLog() {
    // The log is a pipe, which this reads when it wants.
    const std::string path = folder_.File("headgated.log");
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    reader_ = FileDescriptor(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    EXPECT_GE(fcntl(reader_.number(), F_SETPIPE_SZ, kSmallestPipe), kSmallestPipe);
    // gRPC tells of each of its steps.
    server_.emplace(
        HeadgatedOptions{.folder = folder_.path(),
                         .environment = {{"GRPC_VERBOSITY", "debug"}, {"GRPC_TRACE", "api"}}});
  }
  bool IsFull() {
    int bytes = 0;
    return ioctl(reader_.number(), FIONREAD, &bytes) == 0 && bytes > kSmallestPipe / 2;
  }
  // Until nothing comes for a while: far more than can wait.
  void ReadAll() {
    constexpr int kWhileMs = 20;
    char bytes[kSmallestPipe];
    pollfd ready = {.fd = reader_.number(), .events = POLLIN, .revents = 0};
    for (int i = 0; i < 1000 && poll(&ready, 1, kWhileMs) == 1; ++i) {
      const ssize_t got = read(reader_.number(), bytes, sizeof(bytes));
      if (got > 0) text_.append(bytes, static_cast<size_t>(got));
    }
  }

  const TempFolder folder_;
  FileDescriptor reader_{-1};
  std::optional<RunningHeadgated> server_;
  std::string text_;
};

TEST_F(StuckLog, HoldsUpNoCheckAndNoStop) {
  for (int i = 0; i < 100; ++i) {
    const grpc::Status status = CheckOnce(server_->address());
    ASSERT_TRUE(status.ok()) << "Check " << i << ": " << status.error_message();
  }
  EXPECT_TRUE(WaitUntil([&] { return IsFull(); }));
  const absl::Status stopped = server_->Stop();
  EXPECT_TRUE(stopped.ok()) << stopped;
}

TEST_F(StuckLog, SaysHowManyLinesWereDroppedOnceItIsRead) {
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(CheckOnce(server_->address()).ok());
  const bool told = WaitUntil([&] {
    ReadAll();
    EXPECT_TRUE(CheckOnce(server_->address()).ok());
    return text_.find("log lines were dropped lines=") != std::string::npos;
  });
  EXPECT_TRUE(told) << text_.substr(0, 2000);
  EXPECT_TRUE(server_->Stop().ok());
}

}  // namespace
}  // namespace headgate
