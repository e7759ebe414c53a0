// headgated as a program: its flags, its signals and its exit status.

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#ifdef HEADGATED_PROGRAM

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cli/subprocess.h"
#include "tests/cli/test_server.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate::cli {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> Command(std::vector<std::string> words) {
  words.insert(words.begin(), HEADGATED_PROGRAM);
  return words;
}

Finished RunHeadgated(std::vector<std::string> words,
                      std::map<std::string, std::string> environment = {}) {
  return Subprocess(Command(std::move(words)), {.environment = std::move(environment)}).Wait();
}

TEST(Headgated, AddressThatGrpcWouldMisreadIsWrongUsage) {
  for (const char* address : {"127.0.0.1:70000", "127.0.0.1", "::1:8081", ""}) {
    const Finished flag = RunHeadgated({"--grpc-address", address});
    EXPECT_EQ(flag.status, 2) << address;
    EXPECT_THAT(flag.err, HasSubstr("--grpc-address: must be host:port")) << address;
    EXPECT_THAT(flag.err, HasSubstr(absl::StrCat("it is '", address, "'")));
  }
  const Finished variable = RunHeadgated({}, {{"HEADGATE_GRPC_ADDRESS", "127.0.0.1:70000"}});
  EXPECT_EQ(variable.status, 2);
  EXPECT_THAT(variable.err, HasSubstr("it is '127.0.0.1:70000'"));
}

TEST(Headgated, EmptyPathIsWrongUsage) {
  for (const char* flag : {"--check-config", "--config"}) {
    const Finished empty = RunHeadgated({flag, "", "--grpc-address", "127.0.0.1:0"});
    EXPECT_EQ(empty.status, 2) << flag;
    EXPECT_THAT(empty.err, HasSubstr(absl::StrCat(flag, ": the path is empty")));
  }
}

TEST(Headgated, AddressThatIsTakenIsToldInOneLine) {
  TestServer first{engine::PolicySpec{}};
  const Finished second = RunHeadgated({"--grpc-address", first.address()});
  EXPECT_EQ(second.status, 1);
  EXPECT_EQ(second.err, absl::StrCat("headgated: cannot listen on '", first.address(),
                                     "': Address already in use\n"));
}

class RunningHeadgated : public ::testing::Test {
 protected:
  // Serves once it returns.
  void Start(const std::string& shell = "") {
    program_.emplace(std::vector<std::string>{"sh", "-c", shell + " exec \"$@\"", "sh",
                                              HEADGATED_PROGRAM, "--grpc-address", "127.0.0.1:0",
                                              "--port-file", folder_.File("port")});
    ASSERT_TRUE(WaitUntil([&] { return std::filesystem::exists(folder_.File("port")); }));
    std::ifstream(folder_.File("port")) >> port_;
    address_ = absl::StrCat("127.0.0.1:", port_);
  }

  TempFolder folder_;
  std::optional<Subprocess> program_;
  uint16_t port_ = 0;
  std::string address_;
};

TEST_F(RunningHeadgated, HangUpNeitherEndsNorDisturbsIt) {
  Start();
  program_->Signal(SIGHUP);
  ASSERT_TRUE(
      WaitUntil([&] { return program_->Err().find("nothing to reload") != std::string::npos; }));
  EXPECT_EQ(RunHeadgate({"check", "job", "--address", address_}).status, 0);
  program_->Signal(SIGTERM);
  const Finished end = program_->Wait();
  EXPECT_EQ(end.status, 0);
  EXPECT_THAT(end.err, HasSubstr("stopped"));
}

TEST_F(RunningHeadgated, MayOpenAsManyFilesAsTheSystemAllows) {
  Start();
  rlimit limit = {};
  ASSERT_EQ(prlimit(program_->pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
}

#if !defined(__SANITIZE_ADDRESS__)
// UndefinedBehaviorSanitizer opens a pipe to look at an object's type, and reports what it cannot
// look at.
TEST_F(RunningHeadgated, ServesAgainAfterAllItsOpenFilesWereTaken) {
  Start("ulimit -n 60;");
  sockaddr_in to = {
      .sin_family = AF_INET, .sin_port = htons(port_), .sin_addr = {}, .sin_zero = {}};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<int> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    (void)connect(idle.back(), reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  }
  // The newest ones are closed at once, not left to wait.
  char byte = 0;
  EXPECT_TRUE(
      WaitUntil([&] { return recv(idle.back(), &byte, 1, 0) == 0 || errno == ECONNRESET; }));
  EXPECT_EQ(RunHeadgate({"check", "job", "--address", address_}).status, 3);
  for (const int socket : idle) close(socket);
  EXPECT_TRUE(WaitUntil([&] {
    return RunHeadgate({"check", "job", "--address", address_}).status == 0;
  }));
  program_->Signal(SIGTERM);
  EXPECT_EQ(program_->Wait().status, 0);
}
#endif

}  // namespace
}  // namespace headgate::cli

#endif  // HEADGATED_PROGRAM
