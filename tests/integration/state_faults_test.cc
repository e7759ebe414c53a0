// What the server keeps for itself fails in every way that it can: Checks go on, status says so,
// and nothing that was acknowledged is lost.

#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/override_requests.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/small_disk.h"
#include "tests/testing/temp_folder.h"

namespace headgate {
namespace {

constexpr char kYaml[] = "throttle_log: {max_buffered_rows: 200000}\n";

grpc::Status TryToPause(const RunningHeadgated& server, const std::string& identity) {
  return CallRpc(server.channel(), &v1::OverrideService::Stub::CreateOverride,
                 PauseForGood(identity));
}

bool IsPaused(RunningHeadgated& server, const std::string& identity) {
  return server.Check(identity).verdict() == v1::VERDICT_DENIED;
}

// Checks by so many identities, each of which must be answered.
void Ask(const RunningHeadgated& server, const std::string& prefix, int identities) {
  constexpr int kInBatch = 100;
  for (int first = 0; first < identities; first += kInBatch) {
    v1::BatchCheckRequest request;
    for (int i = 0; i < kInBatch; ++i) {
      request.add_checks()->set_identity(absl::StrCat(prefix, first + i, ":batch"));
    }
    const v1::BatchCheckResponse response =
        AnswerOf(server.channel(), &v1::ThrottlerService::Stub::BatchCheck, request);
    EXPECT_EQ(response.results_size(), kInBatch);
  }
}

grpc::Status QueryLog(const RunningHeadgated& server, v1::QueryThrottleLogResponse& response) {
  v1::QueryThrottleLogRequest request;
  request.mutable_filter()->set_identity("batch");
  return CallRpc(server.channel(), &v1::ThrottleLogService::Stub::QueryThrottleLog, request,
                 response);
}

int64_t LoggedChecks(const RunningHeadgated& server) {
  v1::QueryThrottleLogResponse response;
  const grpc::Status status = QueryLog(server, response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  int64_t checks = 0;
  for (const v1::LogSum& sum : response.sums()) checks += sum.allowed() + sum.denied();
  return checks;
}

bool IsWritten(const v1::GetStatusResponse& status, int64_t rows) {
  const v1::ThrottleLogStatus& log = status.throttle_log();
  return log.error().empty() && log.rows_buffered() == 0 && log.rows_written() >= rows;
}

bool LogErrorHas(const v1::GetStatusResponse& status, const char* text) {
  return absl::StrContains(status.throttle_log().error(), text);
}

class StateFaults : public testing::Test {
 protected:
  std::filesystem::path folder() const { return folder_.path(); }
  // Files that were damaged.
  int SetAside() const {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      if (absl::StrContains(entry.path().string(), ".db.corrupt-")) ++files;
    }
    return files;
  }

 private:
  const TempFolder folder_;
};

TEST_F(StateFaults, WhileTheDiskIsFullCountsWaitAndOverridesStay) {
  const SmallDisk disk(folder() / "disk");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small tmpfs takes root";
  RunningHeadgated server({.yaml = kYaml, .state = disk.path()});
  ASSERT_TRUE(TryToPause(server, "etl").ok());
  Ask(server, "before-", 100);
  server.AwaitStatus([](const auto& status) { return IsWritten(status, 100); });

  disk.Fill();
  Ask(server, "during-", 1000);
  server.AwaitStatus(
      [](const auto& status) { return LogErrorHas(status, "make room on its disk"); });
  Ask(server, "later-", 1000);
  EXPECT_TRUE(IsPaused(server, "etl"));
  const grpc::Status refused = TryToPause(server, "other");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(absl::StartsWith(refused.error_message(), "nothing has changed"))
      << refused.error_message();
  EXPECT_FALSE(IsPaused(server, "other"));
  EXPECT_EQ(server.Status().overrides().in_force(), 1);
  EXPECT_TRUE(absl::StrContains(server.Status().overrides().error(), "disk"));

  disk.MakeRoom();
  server.AwaitStatus([](const auto& status) { return IsWritten(status, 2100); });
  EXPECT_EQ(LoggedChecks(server), 2100);
  EXPECT_EQ(server.Status().throttle_log().dropped_checks(), 0);
  EXPECT_TRUE(TryToPause(server, "other").ok());
  EXPECT_EQ(server.Status().overrides().error(), "");
}

TEST_F(StateFaults, AServerStartsOnAFullDisk) {
  const SmallDisk disk(folder() / "disk");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small tmpfs takes root";
  {
    RunningHeadgated server({.yaml = kYaml, .state = disk.path()});
    ASSERT_TRUE(TryToPause(server, "etl").ok());
    Ask(server, "before-", 100);
  }
  disk.Fill();
  {
    RunningHeadgated server({.yaml = kYaml, .state = disk.path()});
    Ask(server, "during-", 100);
    EXPECT_TRUE(IsPaused(server, "etl"));
    EXPECT_EQ(server.Status().overrides().in_force(), 1);
    EXPECT_NE(server.Status().overrides().error(), "");
    EXPECT_NE(server.Status().throttle_log().error(), "");
  }
  disk.MakeRoom();
  RunningHeadgated server({.yaml = kYaml, .state = disk.path()});
  EXPECT_TRUE(IsPaused(server, "etl"));
  EXPECT_EQ(server.Status().overrides().error(), "");
  EXPECT_EQ(LoggedChecks(server), 100);  // the second server's had nowhere to go
}

TEST_F(StateFaults, AServerThatStopsOnAFullDiskSaysWhatIsLost) {
  const SmallDisk disk(folder() / "disk");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small tmpfs takes root";
  RunningHeadgated server({.yaml = kYaml, .state = disk.path()});
  Ask(server, "before-", 100);
  server.AwaitStatus([](const auto& status) { return IsWritten(status, 100); });
  disk.Fill();
  Ask(server, "during-", 1000);
  server.AwaitStatus(
      [](const auto& status) { return LogErrorHas(status, "make room on its disk"); });
  const absl::Status stopped = server.Stop();
  EXPECT_TRUE(stopped.ok()) << stopped;
  EXPECT_TRUE(absl::StrContains(server.Log(), "stopped without the engine's state"))
      << server.Log();
  EXPECT_TRUE(absl::StrContains(server.Log(), "stopped without all of the throttle log"))
      << server.Log();
  EXPECT_TRUE(absl::StrContains(server.Log(), "checks=1000")) << server.Log();
}

// Whoever opens a pipe waits for the other end, which nobody has.
TEST_F(StateFaults, APipeWithTheNameOfAnyFileHoldsUpNoStart) {
  for (const char* const name :
       {"engine.snapshot", "engine.snapshot.new", "overrides.db", "overrides.db-wal",
        "overrides.db.copy", "overrides.db.copy.new", "overrides.db.lock", "overrides.db.new",
        "throttle_log.db", "throttle_log.db-wal", "throttle_log.db-shm", "throttle_log.db.lock"}) {
    const TempFolder state;
    ASSERT_EQ(mkfifo(state.File(name).c_str(), 0600), 0);
    HeadgatedProcess server({.yaml = kYaml, .state = state.path()});
    const absl::Status started = server.Start();
    const bool is_named = absl::StrContains(started.message(), "is a pipe or a device");
    EXPECT_TRUE(started.ok() || is_named) << name << ": " << started;
    if (started.ok()) {
      const absl::Status stopped = server.Stop();
      EXPECT_TRUE(stopped.ok()) << name << ": " << stopped;
    }
  }
}

TEST_F(StateFaults, AServerStartsInAFolderThatItMayNotWrite) {
  const SmallDisk disk(folder() / "disk");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small tmpfs takes root";
  {
    RunningHeadgated server({.yaml = kYaml, .state = disk.path()});
    ASSERT_TRUE(TryToPause(server, "etl").ok());
  }
  disk.MakeReadOnly();
  RunningHeadgated server({.yaml = kYaml, .state = disk.path()});
  Ask(server, "during-", 100);
  EXPECT_TRUE(IsPaused(server, "etl"));
  EXPECT_EQ(TryToPause(server, "other").error_code(), grpc::StatusCode::UNAVAILABLE);
  const v1::GetStatusResponse status = server.Status();
  EXPECT_TRUE(absl::StrContains(status.overrides().error(), "Read-only")) << status.DebugString();
  EXPECT_TRUE(absl::StrContains(status.throttle_log().error(), "Read-only"))
      << status.DebugString();
}

TEST_F(StateFaults, AFolderThatIsNotThereIsAWrongSetting) {
  const absl::Status started = HeadgatedProcess({.state = folder() / "none"}).Start();
  EXPECT_TRUE(absl::StrContains(started.message(), "see that its folder exists")) << started;
}

TEST_F(StateFaults, FilesThatWereDamagedAreSetAsideAndNoOverrideIsLost) {
  {
    RunningHeadgated server({.yaml = kYaml, .state = folder()});
    ASSERT_TRUE(TryToPause(server, "etl").ok());
    Ask(server, "before-", 100);
  }
  for (const char* name : {"overrides.db", "throttle_log.db"}) {
    std::ofstream(folder() / name) << std::string(100'000, 'x');
  }
  RunningHeadgated server({.yaml = kYaml, .state = folder()});
  EXPECT_TRUE(IsPaused(server, "etl"));
  Ask(server, "after-", 100);
  server.AwaitStatus([](const auto& status) { return IsWritten(status, 100); });
  EXPECT_EQ(LoggedChecks(server), 100);
  EXPECT_TRUE(TryToPause(server, "other").ok());
  EXPECT_EQ(SetAside(), 2);
}

TEST_F(StateFaults, ALogThatIsDamagedWhileItIsWrittenBeginsAnew) {
  RunningHeadgated server({.yaml = kYaml, .state = folder()});
  Ask(server, "before-", 500);
  server.AwaitStatus([](const auto& status) { return IsWritten(status, 500); });
  // Of both, since a page is in either.
  for (const char* name : {"throttle_log.db", "throttle_log.db-wal"}) {
    std::fstream file(folder() / name, std::ios::in | std::ios::out);
    file << std::string(std::filesystem::file_size(folder() / name), '\xff');
  }
  // Somebody notices. What waits is not lost with the file.
  v1::QueryThrottleLogResponse ignored;
  EXPECT_FALSE(QueryLog(server, ignored).ok());
  for (int round = 0; round < 3; ++round) Ask(server, absl::StrCat("after-", round, "-"), 500);
  server.AwaitStatus([](const auto& status) { return IsWritten(status, 2000); });
  EXPECT_EQ(SetAside(), 1);
  EXPECT_EQ(LoggedChecks(server), 1500);
  EXPECT_EQ(server.Status().throttle_log().dropped_checks(), 0);
}

TEST_F(StateFaults, WhileTheLogsDatabaseIsDownCountsWait) {
  if (!PostgresCluster::BinFolder().ok()) GTEST_SKIP() << PostgresCluster::BinFolder().status();
  auto cluster = PostgresCluster::Start({});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  PostgresServer& database = (*cluster)->primary();
  RunningHeadgated server(
      {.yaml = absl::StrCat("throttle_log:\n  postgres: {dsn: \"", database.Dsn(), "\"}\n"),
       .state = folder()});
  Ask(server, "before-", 100);
  server.AwaitStatus([](const auto& status) { return IsWritten(status, 100); });

  ASSERT_TRUE(database.Stop(PostgresServer::StopMode::kImmediate).ok());
  Ask(server, "during-", 1000);
  server.AwaitStatus([](const auto& status) { return !status.throttle_log().error().empty(); });
  Ask(server, "later-", 1000);
  EXPECT_EQ(server.Status().throttle_log().store(), "postgres");
  EXPECT_TRUE(TryToPause(server, "etl").ok());  // which is another store's

  ASSERT_TRUE(database.Start().ok());
  server.AwaitStatus([](const auto& status) { return IsWritten(status, 2100); });
  EXPECT_EQ(LoggedChecks(server), 2100);
  EXPECT_EQ(server.Status().throttle_log().dropped_checks(), 0);
}

}  // namespace
}  // namespace headgate
