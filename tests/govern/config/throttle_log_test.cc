// What a file says about the throttle log.

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/govern/config/load.h"

namespace headgate::config {
namespace {

TEST(ThrottleLogSettings, AreReadInFull) {
  const LoadResult result = Parse(R"(
server: {state_dir: /var/lib/headgate}
throttle_log:
  step: 5s
  coarse_step: 1m
  coarsen_after: 2h
  retention: 48h
  max_bytes: 2000000
  max_identities: 100
  max_buffered_rows: 5000
  recent_denials: 64
  postgres: {dsn: "host=logs dbname=headgate"}
)",
                                  "f.yaml");
  ASSERT_TRUE(result.config.has_value()) << result.Errors().front();
  EXPECT_EQ(result.config->server.state_dir, "/var/lib/headgate");
  const ThrottleLogSettings& log = result.config->throttle_log;
  EXPECT_EQ(log.step, absl::Seconds(5));
  EXPECT_EQ(log.coarse_step, absl::Minutes(1));
  EXPECT_EQ(log.coarsen_after, absl::Hours(2));
  EXPECT_EQ(log.retention, absl::Hours(48));
  EXPECT_EQ(log.max_bytes, 2'000'000);
  EXPECT_EQ(log.max_identities, 100);
  EXPECT_EQ(log.max_buffered_rows, 5000);
  EXPECT_EQ(log.recent_denials, 64);
  ASSERT_TRUE(log.postgres.has_value());
  EXPECT_EQ(log.postgres->dsn, "host=logs dbname=headgate");
}

TEST(ThrottleLogSettings, HaveDefaults) {
  const LoadResult result = Parse("throttle_log:\n", "f.yaml");
  ASSERT_TRUE(result.config.has_value());
  EXPECT_EQ(result.config->throttle_log, ThrottleLogSettings());
  EXPECT_EQ(result.config->server.state_dir, "");
}

}  // namespace
}  // namespace headgate::config
