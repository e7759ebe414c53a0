// What the log says of a PostgreSQL that cannot be reached: else the first sign of it would be
// denials.

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/running_headgated.h"

namespace headgate {
namespace {

using testing::HasSubstr;

HeadgatedOptions Measuring(const std::string& dsn) {
  return {.yaml = absl::StrCat(
              "targets:\n  - name: orders\n    default_health: h\n    primary: {dsn: \"", dsn,
              "\"}\n    polling: {interval: 50ms, timeout: 5s}\nhealth_profiles:\n"
              "  - name: h\n    signals: [{name: active_backends, soft: 50, hard: 100}]\n"),
          .flags = {"--log-format=json"}};
}

// The line of this event, once it is there.
std::string AwaitLine(const RunningHeadgated& server, const std::string& event) {
  const std::string name = absl::StrCat("\"event\":\"", event, "\"");
  if (!server.AwaitLog(name)) return "";
  const std::string log = server.Log();
  const size_t at = log.find(name);
  const size_t begin = log.rfind('\n', at) + 1;
  return log.substr(begin, log.find('\n', at) - begin);
}

TEST(HealthLog, SaysThatADatabaseIsDownAtTheStart) {
  const RunningHeadgated server(Measuring("host=127.0.0.1 port=1 user=nobody"));
  const std::string line = AwaitLine(server, "PostgreSQL does not answer");
  EXPECT_THAT(line, HasSubstr("\"level\":\"warning\""));
  EXPECT_THAT(line, HasSubstr("\"target\":\"orders\",\"server\":\"primary\""));
  EXPECT_THAT(line, HasSubstr("refused"));
}

TEST(HealthLog, SaysThatADatabaseGoesDownWhileItServes) {
  if (!PostgresCluster::BinFolder().ok()) GTEST_SKIP() << PostgresCluster::BinFolder().status();
  const auto cluster = PostgresCluster::Start({});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const RunningHeadgated server(Measuring((*cluster)->primary().Dsn()));
  const std::string healthy = AwaitLine(server, "health changed");
  EXPECT_THAT(healthy, HasSubstr("\"target\":\"orders\",\"profile\":\"h\",\"state\":\"healthy\","
                                 "\"before\":\"warming\""));
  (*cluster)->primary().Kill();
  EXPECT_THAT(AwaitLine(server, "PostgreSQL does not answer"), HasSubstr("\"server\":\"primary\""));
}

}  // namespace
}  // namespace headgate
