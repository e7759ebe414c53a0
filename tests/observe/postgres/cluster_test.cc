// The servers under test themselves: what a test starts is gone after it, whatever becomes of it.

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

// TMPDIR of this test alone.
class ClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (absl::StatusOr<std::string> bin = PostgresCluster::BinFolder(); !bin.ok()) {
      GTEST_SKIP() << bin.status().message();
    }
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    std::filesystem::remove_all(folder_);
  }

  const std::string& folder() const { return folder_; }

  bool IsGone() const {
    if (!std::filesystem::is_empty(folder_)) return false;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(entry.path() / "cmdline");
      const std::string command((std::istreambuf_iterator<char>(file)), {});
      if (command.find(folder_) != std::string::npos) return false;
    }
    return true;
  }

 private:
  std::string folder_ = "/tmp/headgate-test-XXXXXX";
};

TEST_F(ClusterTest, IsGoneWhenItIsDestroyed) {
  absl::StatusOr<std::unique_ptr<PostgresCluster>> cluster =
      PostgresCluster::Start({.standbys = 1});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  (*cluster)->standby().Suspend();
  EXPECT_FALSE(IsGone());
  cluster->reset();
  EXPECT_TRUE(IsGone());
}

TEST_F(ClusterTest, IsGoneWhenTheProgramIsKilledWithAServerSuspended) {
  EXPECT_EXIT(
      {
        auto cluster = PostgresCluster::Start({.standbys = 1});
        if (!cluster.ok()) _exit(1);
        (*cluster)->primary().Suspend();
        raise(SIGKILL);
      },
      testing::KilledBySignal(SIGKILL), "");
  EXPECT_TRUE(WaitUntil([&] { return IsGone(); }));
}

TEST_F(ClusterTest, TakesItsSettingsAndKeepsWhatWasWrittenThroughACrash) {
  absl::StatusOr<std::unique_ptr<PostgresCluster>> cluster =
      PostgresCluster::Start({.standbys = 0, .settings = {{"work_mem", "7MB"}}});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  PostgresServer& primary = (*cluster)->primary();
  ASSERT_TRUE(primary.RunSql("CREATE TABLE kept AS SELECT 42 AS i").ok());
  primary.Kill();
  const absl::Status started = primary.Start();
  ASSERT_TRUE(started.ok()) << started;
  absl::StatusOr<SqlRows> rows = primary.RunSql("SELECT i, current_setting('work_mem') FROM kept");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT((*rows)[0], testing::ElementsAre("42", "7MB"));
}

// Names another installation for as long as it lives.
class NamedInstallation {
 public:
  explicit NamedInstallation(const std::string& folder) {
    if (const char* const before = getenv(kVariable); before != nullptr) before_ = before;
    setenv(kVariable, folder.c_str(), 1);
  }
  ~NamedInstallation() {
    unsetenv(kVariable);
    if (before_.has_value()) setenv(kVariable, before_->c_str(), 1);
  }
  NamedInstallation(const NamedInstallation&) = delete;
  NamedInstallation& operator=(const NamedInstallation&) = delete;

 private:
  static constexpr char kVariable[] = "HEADGATE_POSTGRES";
  std::optional<std::string> before_;
};

// As one in a source tree that only root may read.
TEST_F(ClusterTest, RunsAnInstallationThatItsAccountCannotReach) {
  const std::filesystem::path bin = *PostgresCluster::BinFolder();
  const std::string hidden = folder() + "/hidden";
  ASSERT_EQ(mkdir(hidden.c_str(), 0700), 0);
  std::filesystem::copy(
      bin.parent_path(), hidden + "/postgresql",
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  const NamedInstallation named(hidden + "/postgresql");
  auto cluster = PostgresCluster::Start({.password = "right"});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  absl::StatusOr<SqlRows> rows = (*cluster)->primary().RunSql("SELECT 1");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT((*rows)[0], testing::ElementsAre("1"));
}

TEST_F(ClusterTest, SaysWhereThereIsNoInstallation) {
  const NamedInstallation named(folder() + "/nowhere");
  const absl::Status missing = PostgresCluster::BinFolder().status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(std::string(missing.message()), testing::HasSubstr(folder() + "/nowhere"));
}

}  // namespace
}  // namespace headgate
