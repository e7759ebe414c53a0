// What the log says of a PostgreSQL that cannot be reached: else the first sign of it would be
// denials.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/load/headgated_process.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

using testing::HasSubstr;

class HealthLog : public testing::Test {
 protected:
  void Serve(const std::string& dsn) {
    std::ofstream(folder_.File("headgate.yaml"))
        << "targets:\n  - name: orders\n    default_health: h\n    primary: {dsn: \"" << dsn
        << "\"}\n    polling: {interval: 50ms, timeout: 500ms}\nhealth_profiles:\n"
           "  - name: h\n    signals: [{name: active_backends, soft: 50, hard: 100}]\n";
    auto server = load::HeadgatedProcess::Start(
        folder_.path(), {"--config", folder_.File("headgate.yaml"), "--log-format", "json"});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  // The line of this event, once it is there.
  std::string AwaitLine(const std::string& event) const {
    std::string found;
    EXPECT_TRUE(WaitUntil([&] {
      std::ifstream log(folder_.File("headgated.log"));
      for (std::string line; found.empty() && std::getline(log, line);) {
        if (line.find(absl::StrCat("\"event\":\"", event, "\"")) != line.npos) found = line;
      }
      return !found.empty();
    })) << event;
    return found;
  }

  const TempFolder folder_;
  std::unique_ptr<load::HeadgatedProcess> server_;
};

TEST_F(HealthLog, SaysThatADatabaseIsDownAtTheStart) {
  Serve("host=127.0.0.1 port=1 user=nobody");
  const std::string line = AwaitLine("PostgreSQL does not answer");
  EXPECT_THAT(line, HasSubstr("\"level\":\"warning\""));
  EXPECT_THAT(line, HasSubstr("\"target\":\"orders\",\"server\":\"primary\""));
  EXPECT_THAT(line, HasSubstr("refused"));
}

TEST_F(HealthLog, SaysThatADatabaseGoesDownWhileItServes) {
  if (!PostgresCluster::BinFolder().ok()) GTEST_SKIP() << PostgresCluster::BinFolder().status();
  const auto cluster = PostgresCluster::Start({});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  Serve((*cluster)->primary().Dsn());
  const std::string healthy = AwaitLine("health changed");
  EXPECT_THAT(healthy, HasSubstr("\"target\":\"orders\",\"profile\":\"h\",\"state\":\"healthy\","
                                 "\"before\":\"warming\""));
  (*cluster)->primary().Kill();
  EXPECT_THAT(AwaitLine("PostgreSQL does not answer"), HasSubstr("\"server\":\"primary\""));
}

}  // namespace
}  // namespace headgate
