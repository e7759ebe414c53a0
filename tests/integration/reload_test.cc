// A configuration file that changes under a running server.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/testing/process_usage.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

namespace fs = std::filesystem;

// Denies `identity`, and nobody else.
std::string Denying(const std::string& identity) {
  return absl::StrCat("rules:\n  - name: stop\n    match: {identity: ", identity,
                      "}\n    deny: true\n");
}

// But for the time that the machine spent on others.
absl::Duration TimeUntilDenied(RunningHeadgated& server, const std::string& identity) {
  const auto waited = [&] {
    return WaitedForProcessor(server.pid()) + WaitedForProcessor(getpid());
  };
  const absl::Duration waited_before = waited();
  const int64_t from_ns = MonotonicNs();
  EXPECT_TRUE(WaitUntil([&] { return server.Check(identity).verdict() == v1::VERDICT_DENIED; }));
  return absl::Nanoseconds(MonotonicNs() - from_ns) - (waited() - waited_before);
}

TEST(Reload, IsInForceWithinASecondOfSaving) {
  RunningHeadgated server({.yaml = Denying("a")});
  EXPECT_EQ(server.Check("b").verdict(), v1::VERDICT_ALLOWED);
  server.Rewrite(Denying("b"));
  EXPECT_LT(TimeUntilDenied(server, "b"), absl::Seconds(1));
  EXPECT_EQ(server.Check("a").verdict(), v1::VERDICT_ALLOWED);
}

TEST(Reload, SeesTheSymlinkThatKubernetesSwaps) {
  RunningHeadgated server({.yaml = Denying("a")});
  // As a ConfigMap is mounted: headgate.yaml -> ..data/headgate.yaml, ..data -> ..1
  const fs::path folder = server.folder();
  for (const char* version : {"..1", "..2"}) fs::create_directory(folder / version);
  std::ofstream(folder / "..1" / "headgate.yaml") << Denying("a");
  std::ofstream(folder / "..2" / "headgate.yaml") << Denying("b");
  fs::create_symlink("..1", folder / "..data");
  fs::create_symlink("..data/headgate.yaml", folder / "link");
  fs::rename(folder / "link", server.config_path());
  EXPECT_EQ(server.Check("b").verdict(), v1::VERDICT_ALLOWED);
  fs::create_symlink("..2", folder / "..data_tmp");
  fs::rename(folder / "..data_tmp", folder / "..data");
  EXPECT_LT(TimeUntilDenied(server, "b"), absl::Seconds(1));
}

TEST(Reload, OfABadFileKeepsTheRunningRulesAndShowsWhatIsWrong) {
  RunningHeadgated server({.yaml = Denying("a")});
  server.Rewrite("rules:\n  - name: stop\n    mach: {identity: b}\n    deny: true\n");
  ASSERT_TRUE(server.AwaitStatus([](const auto& status) {
    return status.config().errors_size() == 1 && status.config().has_refused_at();
  }));
  const v1::ConfigStatus refused = server.Status().config();
  EXPECT_TRUE(absl::StrContains(refused.errors(0), "headgate.yaml:3:5: ")) << refused.errors(0);
  EXPECT_EQ(refused.version(), 1);
  EXPECT_EQ(server.Check("a").verdict(), v1::VERDICT_DENIED);
  server.Rewrite(Denying("b"));
  EXPECT_LT(TimeUntilDenied(server, "b"), absl::Seconds(1));
  EXPECT_EQ(server.Status().config().errors_size(), 0);
  EXPECT_EQ(server.Status().config().version(), 2);
}

TEST(Reload, OfADeletedFileKeepsTheRunningRules) {
  RunningHeadgated server({.yaml = Denying("a")});
  fs::remove(server.config_path());
  EXPECT_TRUE(
      server.AwaitStatus([](const auto& status) { return status.config().errors_size() > 0; }));
  EXPECT_EQ(server.Check("a").verdict(), v1::VERDICT_DENIED);
}

TEST(Reload, OfAnAddressWaitsForARestartAndSaysSo) {
  RunningHeadgated server({.yaml = Denying("a")});
  server.Rewrite(absl::StrCat("server: {threads: 2}\n", Denying("b")));
  EXPECT_TRUE(server.AwaitStatus(
      [](const auto& status) { return status.config().pending_restart_size() == 1; }));
  EXPECT_EQ(server.Check("b").verdict(), v1::VERDICT_DENIED);
}

}  // namespace
}  // namespace headgate
