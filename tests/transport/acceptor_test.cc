// Connections: how many there may be, and what happens when there can be no more.

#include "server/transport/acceptor.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "gtest/gtest.h"
#include "tests/testing/wait_until.h"

namespace headgate::transport {
namespace {

// A caller that connects to a port of this host.
FileDescriptor Caller() {
  return FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}
void Connect(const FileDescriptor& caller, int port) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<in_port_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // In progress; what becomes of it is seen at the other end.
  (void)connect(caller.number(), reinterpret_cast<const sockaddr*>(&to), sizeof(to));
}
bool IsClosed(const FileDescriptor& caller) {
  char byte = 0;
  const ssize_t got = recv(caller.number(), &byte, 1, 0);
  return got == 0 || (got < 0 && (errno == ECONNRESET || errno == ECONNREFUSED));
}

// Keeps what it is given.
class RunningAcceptor {
 public:
  explicit RunningAcceptor(size_t max_open)
      : RunningAcceptor(AcceptorOptions{.max_connections = max_open}) {}
  explicit RunningAcceptor(const AcceptorOptions& options) {
    absl::StatusOr<Listener> listener = Listener::Open("127.0.0.1:0");
    EXPECT_TRUE(listener.ok()) << listener.status();
    acceptor_.emplace(*std::move(listener), options);
    const absl::Status started = acceptor_->Start([this](int /*listener*/, int connection) {
      MutexLock lock(&mutex_);
      kept_.emplace_back(connection);
    });
    EXPECT_TRUE(started.ok()) << started;
  }
  ~RunningAcceptor() { acceptor_->Stop(); }

  Acceptor& acceptor() { return *acceptor_; }
  size_t kept() {
    MutexLock lock(&mutex_);
    return kept_.size();
  }
  // Whatever has come on any of them.
  void ReadAll() {
    MutexLock lock(&mutex_);
    char bytes[4096];
    for (const FileDescriptor& connection : kept_) {
      while (recv(connection.number(), bytes, sizeof(bytes), 0) > 0) continue;
    }
  }
  // To whoever came first.
  void AnswerFirst(const std::string& bytes) {
    MutexLock lock(&mutex_);
    send(kept_.front().number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void Drop() {
    MutexLock lock(&mutex_);
    kept_.clear();
  }

 private:
  Mutex mutex_;
  std::vector<FileDescriptor> kept_ ABSL_GUARDED_BY(mutex_);
  std::optional<Acceptor> acceptor_;
};

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

TEST(Acceptor, ClosesWhatBringsMoreThanTheServerCouldAnswer) {
  constexpr int64_t kMiB = 1 << 20;
  RunningAcceptor running({.input = {.bytes_per_second = 1, .burst = kMiB}});
  const FileDescriptor modest = Caller();
  const FileDescriptor flood = Caller();
  for (const FileDescriptor* caller : {&modest, &flood}) {
    Connect(*caller, running.acceptor().port());
  }
  ASSERT_TRUE(WaitUntil([&] { return running.kept() == 2; }));
  EXPECT_EQ(send(modest.number(), "Check", 5, MSG_NOSIGNAL), 5);
  const std::string much(kMiB / 8, 'x');
  EXPECT_TRUE(WaitUntil([&] {
    running.ReadAll();
    send(flood.number(), much.data(), much.size(), MSG_NOSIGNAL);
    return IsClosed(flood);
  }));
  EXPECT_EQ(running.acceptor().counts().cut, 1);
  EXPECT_FALSE(IsClosed(modest));
}

TEST(Acceptor, ClosesWhatBringsMuchWithoutWaitingForAnswers) {
  constexpr int64_t kMiB = 1 << 20;
  RunningAcceptor running({.unanswered = {.bytes_per_second = 1, .burst = kMiB}});
  const FileDescriptor patient = Caller();
  Connect(patient, running.acceptor().port());
  ASSERT_TRUE(WaitUntil([&] { return running.kept() == 1; }));
  const std::string some(8 << 10, 'x');
  // Twice as much as may be unanswered, in all.
  for (int i = 0; i < 2 * kMiB / (8 << 10); ++i) {
    send(patient.number(), some.data(), some.size(), MSG_NOSIGNAL);
    running.AnswerFirst(some.substr(0, 2 << 10));
    running.ReadAll();
    char answers[4096];
    while (recv(patient.number(), answers, sizeof(answers), 0) > 0) continue;
  }
  const FileDescriptor flood = Caller();
  Connect(flood, running.acceptor().port());
  EXPECT_TRUE(WaitUntil([&] {
    running.ReadAll();
    send(flood.number(), some.data(), some.size(), MSG_NOSIGNAL);
    return IsClosed(flood);
  }));
  EXPECT_EQ(running.acceptor().counts().cut, 1);
  EXPECT_FALSE(IsClosed(patient));
}

TEST(Acceptor, ClosesWhatMakesTheProcessGrowWithoutWaitingForAnswers) {
  constexpr int64_t kMiB = 1 << 20;
  std::atomic<int64_t> grown = 0;
  RunningAcceptor running({.memory = {.growth = kMiB}, .grown = [&] { return grown.load(); }});
  const FileDescriptor patient = Caller();
  const FileDescriptor flood = Caller();
  for (const FileDescriptor* caller : {&patient, &flood}) {
    Connect(*caller, running.acceptor().port());
  }
  ASSERT_TRUE(WaitUntil([&] { return running.kept() == 2; }));
  const std::string some(256 << 10, 'x');
  int64_t sent = 0;
  EXPECT_TRUE(WaitUntil([&] {
    running.ReadAll();
    running.AnswerFirst(some.substr(0, 1 << 10));
    send(patient.number(), some.data(), 4 << 10, MSG_NOSIGNAL);
    sent += std::max<ssize_t>(0, send(flood.number(), some.data(), some.size(), MSG_NOSIGNAL));
    return sent > kMiB;
  }));
  EXPECT_FALSE(IsClosed(flood));
  grown = 2 * kMiB;
  EXPECT_TRUE(WaitUntil([&] { return IsClosed(flood); }));
  EXPECT_EQ(running.acceptor().counts().cut, 1);
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
