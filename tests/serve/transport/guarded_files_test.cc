// The functions of the C library's and of OpenSSL's names, by a socket; with gRPC and TLS it is
// tests/govern/tls/header_flood_test.cc.

#include "server/serve/transport/guarded_files.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "common/file_descriptor.h"
#include "gtest/gtest.h"
#include "server/serve/transport/header_guard.h"
#include "tests/govern/tls/raw_caller.h"

namespace headgate::transport {
namespace {

struct Pair {
  Pair() {
    int files[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, files), 0);
    caller = FileDescriptor(files[0]);
    server = FileDescriptor(files[1]);
  }

  FileDescriptor caller;
  FileDescriptor server;
};

void Bring(const Pair& pair, const std::string& bytes) {
  EXPECT_EQ(send(pair.caller.number(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
}

// In two parts, as gRPC reads. Below zero: an error.
ssize_t Read(const Pair& pair) {
  char first[16];
  char second[4096];
  iovec parts[] = {{.iov_base = first, .iov_len = sizeof(first)},
                   {.iov_base = second, .iov_len = sizeof(second)}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  return recvmsg(pair.server.number(), &message, 0);
}

std::string TooManyFields() {
  return tls::Frame(1, 4, 1, std::string(HeaderGuard::kMaxFields + 1, '\x82'));
}

TEST(GuardedFiles, EndsAConnectionForItsHeadersAndReadsNoMoreOfIt) {
  const Pair pair;
  ASSERT_TRUE(GuardConnection(pair.server.number()));
  const int64_t before = CountEndedForHeaders();
  Bring(pair, tls::kPreface);
  EXPECT_EQ(Read(pair), static_cast<ssize_t>(tls::kPreface.size()));
  EXPECT_TRUE(HasReadGuarded(Encryption::kNone));
  Bring(pair, TooManyFields());
  EXPECT_EQ(Read(pair), -1);
  EXPECT_EQ(errno, ECONNRESET);
  Bring(pair, "more");
  EXPECT_EQ(Read(pair), -1);
  EXPECT_EQ(CountEndedForHeaders(), before + 1);
}

TEST(GuardedFiles, LeavesOthersAloneAlsoWhereTheyHaveTheNumberOfOneThatWasGuarded) {
  int number = -1;
  {
    const Pair pair;
    number = pair.server.number();
    ASSERT_TRUE(GuardConnection(number));
  }
  Pair pair;
  // The lowest numbers that are free are given again.
  ASSERT_TRUE(pair.server.number() == number || pair.caller.number() == number);
  if (pair.caller.number() == number) std::swap(pair.caller, pair.server);
  Bring(pair, tls::kPreface + TooManyFields());
  EXPECT_GT(Read(pair), 0);
}

TEST(GuardedFiles, SeesWhatIsSent) {
  const Pair pair;
  ASSERT_TRUE(GuardConnection(pair.server.number()));
  Bring(pair, tls::kPreface);
  EXPECT_GT(Read(pair), 0);
  uint32_t stream = 1;
  for (size_t i = 0; i < 3 * HeaderGuard::kMaxOpenCalls; ++i, stream += 2) {
    Bring(pair, tls::Headers(stream, "/m"));
    ASSERT_GT(Read(pair), 0);
    std::string end = tls::Frame(1, 5, stream, "\x88");
    iovec part = {.iov_base = end.data(), .iov_len = end.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    ASSERT_EQ(sendmsg(pair.server.number(), &message, 0), static_cast<ssize_t>(end.size()));
    char received[64];
    ASSERT_EQ(recv(pair.caller.number(), received, sizeof(received), 0),
              static_cast<ssize_t>(end.size()));
  }
}

TEST(GuardedFiles, RefusesANumberBeyondItsPlaces) {
  EXPECT_FALSE(GuardConnection(-1));
  EXPECT_FALSE(GuardConnection(1 << 20));
}

}  // namespace
}  // namespace headgate::transport
