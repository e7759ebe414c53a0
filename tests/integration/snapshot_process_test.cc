// The program and its snapshot: a file that may not grow, and one that cannot be read.

#include <sys/resource.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/running_headgated.h"

namespace headgate {
namespace {

using testing::HasSubstr;

TEST(SnapshotProcess, AFileThatMayNotGrowEndsNoServer) {
  RunningHeadgated server({.yaml = "budgets: [{name: rows, rate: 1, burst: 10}]\n"
                                   "rules: [{name: charge, charge: [rows]}]\n"});
  // Room for the log, and none for a snapshot.
  rlimit small = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &small), 0);
  small.rlim_cur = 64 << 10;
  ASSERT_EQ(prlimit(server.pid(), RLIMIT_FSIZE, &small, nullptr), 0);
  server.Check("job:etl");  // so that there is something to write
  server.AwaitStatus([](const auto& status) { return status.snapshot().failed_writes() > 0; });
  EXPECT_THAT(server.Status().snapshot().error(), HasSubstr("File too large"));
  server.Check("job:etl");
  const absl::Status stopped = server.Stop();
  EXPECT_TRUE(stopped.ok()) << stopped;
}

// The file may be sound: to begin without it would be to forget what it holds.
TEST(SnapshotProcess, AServerThatCannotReadItDoesNotStartAndLeavesItAlone) {
  HeadgatedProcess server;
  const std::filesystem::path snapshot = server.state() / "engine.snapshot";
  std::filesystem::create_symlink("engine.snapshot", snapshot);
  const absl::Status started = server.Start();
  ASSERT_FALSE(started.ok());
  EXPECT_THAT(std::string(started.message()), HasSubstr("the engine's state cannot be read"));
  EXPECT_THAT(std::string(started.message()), HasSubstr("Too many levels of symbolic links"));
  EXPECT_TRUE(std::filesystem::is_symlink(snapshot));
  EXPECT_FALSE(std::filesystem::exists(snapshot.string() + ".refused"));
}

}  // namespace
}  // namespace headgate
