// Connections that are closed for what they bring, and those beside them that are not.

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/serve/transport/acceptor.h"
#include "tests/serve/transport/running_acceptor.h"
#include "tests/testing/wait_until.h"

namespace headgate::transport {
namespace {

TEST(Acceptor, EndsTheLongestOfTooManyHandshakes) {
  const auto never = std::make_shared<std::atomic<bool>>(false);
  RunningAcceptor running({.greet = [&](int) { return never; }, .max_greetings = 2});
  const FileDescriptor callers[] = {Caller(), Caller(), Caller()};
  for (size_t i = 0; i < 3; ++i) {
    Connect(callers[i], running.acceptor().port());
    ASSERT_TRUE(WaitUntil([&] { return running.kept() == i + 1; }));
  }
  EXPECT_TRUE(WaitUntil([&] { return IsClosed(callers[0]); }));
  EXPECT_FALSE(IsClosed(callers[1]));
  EXPECT_FALSE(IsClosed(callers[2]));
  EXPECT_EQ(running.acceptor().counts().greeting, 1);
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

TEST(Acceptor, ClosesWhatMakesCallersHoldMuchWithoutWaitingForAnswers) {
  constexpr int64_t kMiB = 1 << 20;
  std::atomic<int64_t> held = 0;
  RunningAcceptor running({.memory = {.growth = kMiB}, .callers = [&] {
                             return ProcessMemory::Callers{held.load(), held.load()};
                           }});
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
  held = 2 * kMiB;
  EXPECT_TRUE(WaitUntil([&] { return IsClosed(flood); }));
  EXPECT_EQ(running.acceptor().counts().cut, 1);
}

// What has come and was not read yet goes with the connection: nobody makes anything of it any
// more.
TEST(Acceptor, TakesWhatWasNotReadYetFromWhoeverHasTheConnection) {
  RunningAcceptor running({.input = {.bytes_per_second = 1, .burst = 16 << 10}});
  const FileDescriptor flood = Caller();
  Connect(flood, running.acceptor().port());
  ASSERT_TRUE(WaitUntil([&] { return running.kept() == 1; }));
  const std::string much(64 << 10, 'x');
  EXPECT_GT(send(flood.number(), much.data(), much.size(), MSG_NOSIGNAL), 16 << 10);
  EXPECT_TRUE(WaitUntil([&] { return running.acceptor().counts().cut == 1; }));
  EXPECT_EQ(running.ReadAll(), 0);
}

TEST(Acceptor, ClosesNobodyForWhatServicesHaveTaken) {
  constexpr int64_t kMiB = 1 << 20;
  TakenBytes taken;
  RunningAcceptor running({.unanswered = {.bytes_per_second = 1, .burst = kMiB}, .taken = &taken});
  const FileDescriptor caller = Caller();
  Connect(caller, running.acceptor().port());
  ASSERT_TRUE(WaitUntil([&] { return running.kept() == 1; }));
  const std::string name = PeerNameOf(caller);
  const std::string some(32 << 10, 'x');
  const auto send_some = [&](bool is_taken) {
    const ssize_t sent = send(caller.number(), some.data(), some.size(), MSG_NOSIGNAL);
    if (sent > 0 && is_taken) taken.Add(name, static_cast<size_t>(sent));
    running.ReadAll();
    return std::max<ssize_t>(sent, 0);
  };
  int64_t sent = 0;
  EXPECT_TRUE(WaitUntil([&] { return (sent += send_some(true)) > 4 * kMiB; }));
  EXPECT_EQ(running.acceptor().counts().cut, 0);
  EXPECT_TRUE(WaitUntil([&] {
    send_some(false);
    return IsClosed(caller);
  }));
}

TEST(Acceptor, ClosesWhatMakesCallersHoldMoreThanIsExplained) {
  constexpr int64_t kMiB = 1 << 20;
  std::atomic<int64_t> held = 0;
  std::atomic<int> releases = 0;
  TakenBytes taken;
  RunningAcceptor running(
      {.unexplained = {.growth = kMiB, .least_brought = 1, .least_in_all = 1000},
       .callers =
           [&] {
             return ProcessMemory::Callers{held.load(), held.load()};
           },
       .on_cut_for_memory = [&] { ++releases; },
       .taken = &taken});
  const FileDescriptor modest = Caller();
  const FileDescriptor flood = Caller();
  for (const FileDescriptor* caller : {&modest, &flood}) {
    Connect(*caller, running.acceptor().port());
  }
  ASSERT_TRUE(WaitUntil([&] { return running.kept() == 2; }));
  const std::string some(2000, 'x');
  EXPECT_EQ(send(modest.number(), some.data(), 200, MSG_NOSIGNAL), 200);
  EXPECT_EQ(send(flood.number(), some.data(), some.size(), MSG_NOSIGNAL), 2000);
  // A hundred calls that wait are a MiB and a half.
  taken.AddParked(100);
  held = 2 * kMiB;
  EXPECT_FALSE(WaitUntil([&] { return IsClosed(flood); }, absl::Milliseconds(300)));
  taken.AddParked(-100);
  EXPECT_TRUE(WaitUntil([&] { return IsClosed(flood); }));
  EXPECT_FALSE(IsClosed(modest));
  EXPECT_EQ(running.acceptor().counts().cut, 1);
  EXPECT_EQ(releases, 1);
}

// Its next message is on its way when memory grows by what somebody else does.
TEST(Acceptor, LetsWhoeverIsServedBeWhereMemoryGrows) {
  constexpr int64_t kMiB = 1 << 20;
  std::atomic<int64_t> held = 0;
  TakenBytes taken;
  RunningAcceptor running({.memory = {.growth = kMiB, .least_brought = 1000},
                           .callers =
                               [&] {
                                 return ProcessMemory::Callers{held.load(), 0};
                               },
                           .taken = &taken});
  const FileDescriptor served = Caller();
  const FileDescriptor flood = Caller();
  for (const FileDescriptor* caller : {&served, &flood}) {
    Connect(*caller, running.acceptor().port());
  }
  ASSERT_TRUE(WaitUntil([&] { return running.kept() == 2; }));
  const std::string message(8000, 'x');
  EXPECT_EQ(send(flood.number(), message.data(), 2000, MSG_NOSIGNAL), 2000);
  EXPECT_EQ(send(served.number(), message.data(), message.size(), MSG_NOSIGNAL), 8000);
  // What came before is taken, and the next one is there.
  const auto ask = [&] {
    taken.Add(PeerNameOf(served), message.size());
    EXPECT_EQ(send(served.number(), message.data(), message.size(), MSG_NOSIGNAL), 8000);
    running.ReadAll();
  };
  EXPECT_FALSE(WaitUntil(
      [&] {
        ask();
        return IsClosed(served);
      },
      absl::Milliseconds(300)));
  EXPECT_TRUE(WaitUntil([&] {
    ask();
    held += kMiB;
    return IsClosed(flood);
  }));
  EXPECT_FALSE(WaitUntil(
      [&] {
        ask();
        held += kMiB;
        return IsClosed(served);
      },
      absl::Milliseconds(300)));
}

}  // namespace
}  // namespace headgate::transport
