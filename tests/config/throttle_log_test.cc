// What a file says about the throttle log, and logs that make no sense.

#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/config/load.h"
#include "tests/config/golden.h"

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

class WrongLog : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongLog, IsRefused) { ExpectErrors(GetParam()); }

const WrongCase kWrongLogs[] = {
    {"Sizes", R"y(
throttle_log:
  max_bytes: 1000
  max_identities: 1
  max_buffered_rows: 10
  recent_denials: 0
)y",
     R"e(
f.yaml:2:14: max_bytes must be 1048576 to 1125899906842624; it is 1000
f.yaml:3:19: max_identities must be 64 to 1048576; it is 1
f.yaml:4:22: max_buffered_rows must be 1000 to 10000000; it is 10
f.yaml:5:19: recent_denials must be 16 to 1048576; it is 0
)e"},
    {"Times", R"y(
throttle_log:
  step: 2m
  coarse_step: 4m
  coarsen_after: 1m
  retention: 1h
)y",
     R"e(
f.yaml:2:9: step must be 1s to 1m; it is 2m
f.yaml:4:18: coarsen_after must be 1h to 8784h; it is 1m
)e"},
    {"StepOfHalfASecond", R"y(
throttle_log: {step: 1500ms}
)y",
     R"e(
f.yaml:1:22: step must be whole seconds; it is 1.5s
)e"},
    {"CoarseStepThatIsNoMultiple", R"y(
throttle_log: {step: 7s, coarse_step: 1m}
)y",
     R"e(
f.yaml:1:39: coarse_step must be a multiple of the step, 7s; it is 1m
)e"},
    {"RetentionShorterThanFineSteps", R"y(
throttle_log: {coarsen_after: 24h, retention: 12h}
)y",
     R"e(
f.yaml:1:47: retention must not be shorter than coarsen_after, 24h; it is 12h
)e"},
    {"NoWayToTheDatabase", R"y(
throttle_log:
  postgres: {password_file: /secret}
)y",
     R"e(
f.yaml:2:13: needs one of dsn, dsn_file and dsn_env
f.yaml:2:29: password_file goes with dsn; in a dsn_file or a dsn_env the password may be part of the connection string
)e"},
};

INSTANTIATE_TEST_SUITE_P(Values, WrongLog, testing::ValuesIn(kWrongLogs), NameOfCase);

}  // namespace
}  // namespace headgate::config
