// headgated as a program: its flags, its signals and its exit status.

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/run_headgate.h"
#include "tests/cli/test_server.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/wait_until.h"

namespace headgate::cli {
namespace {

using ::testing::HasSubstr;

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

TEST(RunningHeadgated, WarnsWhereAnybodyOnTheNetworkMayDoEverything) {
  RunningHeadgated server({.stateless = true, .grpc_address = "0.0.0.0:0"});
  ASSERT_TRUE(server.AwaitLog("anybody on the network may do everything"));
  const Finished status = RunHeadgate({"status", "--address", server.address()});
  EXPECT_THAT(status.out, HasSubstr("access is off"));
  EXPECT_THAT(status.out,
              HasSubstr("warning: 0.0.0.0:0 is in plaintext, reachable from elsewhere"));
}

// As the image is set up: it listens for whoever reaches the container.
TEST(Headgated, ToldToRefuseDoesNotStartWhereAnybodyOnTheNetworkMayDoEverything) {
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    const Finished grpc =
        RunHeadgated({"--grpc-address", address}, {{"HEADGATE_IF_EXPOSED", "refuse"}});
    EXPECT_EQ(grpc.status, 2) << address;
    EXPECT_THAT(grpc.err, HasSubstr(absl::StrCat("headgated: refused to start: ", address,
                                                 " is in plaintext, reachable from elsewhere")));
    EXPECT_THAT(grpc.err, HasSubstr("configure tls and access, or listen on 127.0.0.1; or start "
                                    "it with --if-exposed=warn (HEADGATE_IF_EXPOSED=warn)"));
  }
  const Finished http = RunHeadgated(
      {"--if-exposed=refuse", "--grpc-address=127.0.0.1:0", "--http-address=0.0.0.0:0"});
  EXPECT_EQ(http.status, 2);
  EXPECT_THAT(http.err, HasSubstr("refused to start: 0.0.0.0:0"));
}

TEST(RunningHeadgated, ToldToRefuseServesWhereCallersAreKnownOrOnLoopback) {
  const RunningHeadgated known(
      {.yaml = "access: {callers: [{name: all, anybody: true, identities: [\"*\"]}]}\n",
       .stateless = true,
       .grpc_address = "0.0.0.0:0",
       .flags = {"--if-exposed=refuse"}});
  EXPECT_EQ(RunHeadgate({"check", "job", "--address", known.address()}).status, 0);
  const RunningHeadgated local({.stateless = true, .flags = {"--if-exposed=refuse"}});
  EXPECT_EQ(RunHeadgate({"check", "job", "--address", local.address()}).status, 0);
}

// The flag goes before the image's own setting.
TEST(RunningHeadgated, ToldOtherwiseServesTheNetworkAndWarns) {
  RunningHeadgated server({.stateless = true,
                           .grpc_address = "0.0.0.0:0",
                           .flags = {"--if-exposed=warn"},
                           .environment = {{"HEADGATE_IF_EXPOSED", "refuse"}}});
  EXPECT_TRUE(server.AwaitLog("anybody on the network may do everything"));
}

TEST(RunningHeadgated, SaysNothingOfThatOnTheLoopback) {
  RunningHeadgated server({.stateless = true});
  const Finished status = RunHeadgate({"status", "--address", server.address()});
  EXPECT_THAT(status.out, HasSubstr("access is off"));
  EXPECT_THAT(status.out, testing::Not(HasSubstr("warning:")));
}

// The whole way: a job is counted, and who looks at the server is told.
TEST(RunningHeadgated, WarnsOfAJobWhoseNameDiffersFromARulesInCapitalsAlone) {
  const RunningHeadgated server(
      {.yaml = "rules: [{name: freeze, match: {identity: etl}, deny: true}]\n"});
  EXPECT_EQ(RunHeadgate({"check", "job-7:ETL", "--address", server.address()}).status, 0);
  EXPECT_THAT(RunHeadgate({"log", "--unmatched", "--address", server.address()}).out,
              HasSubstr("job-7:etl\n"));
  // The log has collected it.
  EXPECT_THAT(RunHeadgate({"status", "--address", server.address()}).out,
              HasSubstr("warning: no rule matched 1 Check of 'ETL', such as of 'job-7:ETL', and "
                        "nothing limits them: identities are case-sensitive; did you mean 'etl', "
                        "which rule 'freeze' is for?"));
}

TEST(RunningHeadgated, KeepsWhatIsInForceWhereItsFileIsEmptied) {
  RunningHeadgated server(
      {.yaml = "rules: [{name: freeze, match: {identity: etl}, deny: true}]\n"});
  server.Rewrite("# emptied\n");
  ASSERT_TRUE(server.AwaitLog("configuration refused"));
  EXPECT_EQ(RunHeadgate({"check", "job:etl", "--address", server.address()}).status, 1);
}

TEST(RunningHeadgated, HangUpNeitherEndsNorDisturbsIt) {
  RunningHeadgated server({.stateless = true});
  server.Signal(SIGHUP);
  ASSERT_TRUE(server.AwaitLog("nothing to reload"));
  EXPECT_EQ(RunHeadgate({"check", "job", "--address", server.address()}).status, 0);
  server.Terminate();
  EXPECT_THAT(server.Log(), HasSubstr("stopped"));
}

TEST(RunningHeadgated, MayOpenAsManyFilesAsTheSystemAllows) {
  const RunningHeadgated server({.stateless = true});
  rlimit limit = {};
  ASSERT_EQ(prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
}

// A table that grew later would hold up whoever accepts a connection.
TEST(RunningHeadgated, HasATableOfFilesForAllItsConnectionsFromTheStart) {
  const RunningHeadgated server({.stateless = true});
  std::ifstream status(absl::StrCat("/proc/", server.pid(), "/status"));
  std::string name;
  int64_t places = 0;
  while (status >> name && name != "FDSize:") {
  }
  status >> places;
  rlimit limit = {};
  ASSERT_EQ(prlimit(server.pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
  EXPECT_GE(places, std::min<int64_t>(2 * 4096, static_cast<int64_t>(limit.rlim_cur)));
}

#if !defined(__SANITIZE_ADDRESS__)
// UndefinedBehaviorSanitizer opens a pipe to look at an object's type, and reports what it cannot
// look at.
TEST(RunningHeadgated, ServesAgainAfterAllItsOpenFilesWereTaken) {
  RunningHeadgated server({.stateless = true, .wrapper = {"prlimit", "--nofile=60"}});
  sockaddr_in to = {.sin_family = AF_INET,
                    .sin_port = htons(static_cast<uint16_t>(server.port())),
                    .sin_addr = {},
                    .sin_zero = {}};
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
  EXPECT_EQ(RunHeadgate({"check", "job", "--address", server.address()}).status, 3);
  for (const int socket : idle) close(socket);
  EXPECT_TRUE(WaitUntil([&] {
    return RunHeadgate({"check", "job", "--address", server.address()}).status == 0;
  }));
  server.Terminate();
}
#endif

}  // namespace
}  // namespace headgate::cli
