#include "server/observe/postgres/watchdog.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "gtest/gtest.h"

namespace headgate::postgres {
namespace {

class WatchdogTest : public testing::Test {
 protected:
  WatchdogTest() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0); }
  ~WatchdogTest() override {
    for (const int end : ends_) close(end);
  }
  // Blocks until there is something or the socket is shut down.
  bool Receives() {
    char byte = 0;
    return recv(ends_[0], &byte, 1, 0) == 1;
  }

  std::array<int, 2> ends_ = {};
  Watchdog watchdog_;
};

TEST_F(WatchdogTest, ACallThatBlocksForTooLongEnds) {
  watchdog_.Arm(ends_[0], absl::Milliseconds(20));
  EXPECT_FALSE(Receives());
  EXPECT_TRUE(watchdog_.Disarm());
}

TEST_F(WatchdogTest, ACallThatIsOverInTimeIsLeftAlone) {
  for (int i = 0; i < 1000; ++i) {
    watchdog_.Arm(ends_[0], absl::Hours(1));
    EXPECT_FALSE(watchdog_.Disarm());
  }
  ASSERT_EQ(send(ends_[1], "x", 1, 0), 1);
  EXPECT_TRUE(Receives());
}

TEST_F(WatchdogTest, OnceArmedAgainItCountsAnew) {
  watchdog_.Arm(ends_[0], absl::Hours(1));
  EXPECT_FALSE(watchdog_.Disarm());
  watchdog_.Arm(ends_[0], absl::Milliseconds(20));
  EXPECT_FALSE(Receives());
  EXPECT_TRUE(watchdog_.Disarm());
}

}  // namespace
}  // namespace headgate::postgres
