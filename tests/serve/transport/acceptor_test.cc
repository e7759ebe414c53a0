// Connections: how many there may be, and what happens when there can be no more.

#include "server/serve/transport/acceptor.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/serve/transport/running_acceptor.h"
#include "tests/testing/wait_until.h"

namespace headgate::transport {
namespace {

TEST(Acceptor, ClosesAndCountsConnectionsBeyondTheMost) {
  RunningAcceptor running(2);
  std::vector<FileDescriptor> callers;
  for (int i = 0; i < 2; ++i) {
    callers.push_back(Caller());
    Connect(callers.back(), running.acceptor().port());
  }
  ASSERT_TRUE(WaitUntil([&] { return running.kept() == 2; }));
  const FileDescriptor third = Caller();
  Connect(third, running.acceptor().port());
  EXPECT_TRUE(WaitUntil([&] { return IsClosed(third); }));
  const ConnectionCounts counts = running.acceptor().counts();
  EXPECT_EQ(counts.open, 2);
  EXPECT_EQ(counts.max_open, 2);
  EXPECT_EQ(counts.accepted, 2);
  EXPECT_EQ(counts.refused, 1);
  EXPECT_FALSE(IsClosed(callers[0]));
}

TEST(Acceptor, EndsWhatIsStillOnceItHasStopped) {
  RunningAcceptor running(8);
  const FileDescriptor still = Caller();
  const FileDescriptor reading = Caller();
  for (const FileDescriptor* caller : {&reading, &still})
    Connect(*caller, running.acceptor().port());
  ASSERT_TRUE(WaitUntil([&] { return running.kept() == 2; }));
  running.acceptor().Stop();
  for (int i = 0; i < 3; ++i) {
    running.AnswerFirst("some");
    // The kernel counts it when it has been acknowledged.
    ASSERT_TRUE(WaitUntil([&] { return running.AckedOfFirst() == 4 * (i + 1); }));
    running.acceptor().EndStill(3);
  }
  EXPECT_TRUE(WaitUntil([&] { return IsClosed(still); }));
  char bytes[64];
  EXPECT_EQ(recv(reading.number(), bytes, sizeof(bytes), 0), 12);
  EXPECT_FALSE(IsClosed(reading));
  running.acceptor().EndStill(0);
  EXPECT_TRUE(WaitUntil([&] { return IsClosed(reading); }));
}

TEST(Acceptor, FindsTheRoomThatClosedConnectionsLeft) {
  RunningAcceptor running(1);
  const FileDescriptor first = Caller();
  Connect(first, running.acceptor().port());
  ASSERT_TRUE(WaitUntil([&] { return running.kept() == 1; }));
  running.Drop();
  EXPECT_EQ(running.acceptor().counts().open, 0);
  EXPECT_TRUE(WaitUntil([&] {
    const FileDescriptor next = Caller();
    Connect(next, running.acceptor().port());
    return running.kept() == 1;
  }));
}

TEST(Acceptor, DoesNotTakeAnotherFileForAConnectionThatIsClosed) {
  RunningAcceptor running(8);
  const FileDescriptor caller = Caller();
  Connect(caller, running.acceptor().port());
  ASSERT_TRUE(WaitUntil([&] { return running.kept() == 1; }));
  running.Drop();
  // One of these gets the number that the connection had.
  const std::vector<FileDescriptor> others = [] {
    std::vector<FileDescriptor> made;
    for (int i = 0; i < 16; ++i) made.push_back(Caller());
    return made;
  }();
  EXPECT_EQ(running.acceptor().counts().open, 0);
}

TEST(Acceptor, ClosesTheNewestWhereOnlyItsSpareFileIsLeft) {
  RunningAcceptor running(8);
  std::vector<FileDescriptor> callers;
  for (int i = 0; i < 3; ++i) callers.push_back(Caller());
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // As many as are open: the lowest number that is free is above the limit.
  const FileDescriptor next = Caller();
  rlimit full = before;
  full.rlim_cur = static_cast<rlim_t>(next.number());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &full), 0);
  for (const FileDescriptor& caller : callers) Connect(caller, running.acceptor().port());
  EXPECT_TRUE(WaitUntil([&] { return running.acceptor().counts().failed == 3; }));
  for (const FileDescriptor& caller : callers) {
    EXPECT_TRUE(WaitUntil([&] { return IsClosed(caller); }));
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  Connect(next, running.acceptor().port());
  EXPECT_TRUE(WaitUntil([&] { return running.kept() == 1; }));
}

// Such as where there is no memory for it. With fewer files than it asks about it fails for
// certain.
TEST(Acceptor, GoesOnWhereTheKernelDoesNotSayWhatIsThere) {
  std::atomic<int> looks = 0;
  RunningAcceptor running({.callers = [&] {
    ++looks;
    return ProcessMemory::Callers();
  }});
  const FileDescriptor caller = Caller();
  const FileDescriptor next = Caller();
  const FileDescriptor last = Caller();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  // It finds that it cannot be accepted, and asks once more.
  Connect(caller, running.acceptor().port());
  const int looks_before = looks;
  EXPECT_TRUE(WaitUntil([&] { return looks > looks_before + 10; }));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  Connect(next, running.acceptor().port());
  EXPECT_TRUE(WaitUntil([&] { return running.kept() > 0; }));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  Connect(last, running.acceptor().port());
  const int looks_then = looks;
  EXPECT_TRUE(WaitUntil([&] { return looks > looks_then + 10; }));
  std::future<void> stopped = std::async(std::launch::async, [&] { running.acceptor().Stop(); });
  EXPECT_EQ(stopped.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(Listener, SaysWhyItCannotListen) {
  const absl::StatusOr<Listener> first = Listener::Open("127.0.0.1:0");
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string address = absl::StrCat("127.0.0.1:", first->port());
  const absl::Status taken = Listener::Open(address).status();
  EXPECT_EQ(taken.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(taken.message(),
            absl::StrCat("cannot listen on '", address, "': Address already in use"));
  EXPECT_EQ(Listener::Open("192.0.2.1:0").status().message(),
            "cannot listen on '192.0.2.1:0': Cannot assign requested address");
  EXPECT_EQ(Listener::Open("nowhere").status().code(), absl::StatusCode::kUnavailable);
}

TEST(Listener, TakesOnePortForAllAddressesOfAName) {
  for (const char* const address : {"localhost:0", "0.0.0.0:0", "[::]:0"}) {
    const absl::StatusOr<Listener> listener = Listener::Open(address);
    ASSERT_TRUE(listener.ok()) << address << ": " << listener.status();
    EXPECT_GT(listener->port(), 0);
    // 127.0.0.1 is one of them.
    EXPECT_FALSE(Listener::Open(absl::StrCat("127.0.0.1:", listener->port())).ok()) << address;
  }
}

}  // namespace
}  // namespace headgate::transport
