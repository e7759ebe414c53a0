// What readers are shown of a configuration.
#include "server/govern/config/shown_text.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/govern/config/load.h"

namespace headgate::config {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Shown(const std::string& text) {
  const absl::StatusOr<std::string> shown = ShownText(text);
  EXPECT_TRUE(shown.ok()) << shown.status();
  return shown.value_or("");
}

TEST(ShownText, IsTheSamePolicyWithoutWhatReachesServers) {
  const std::string text = R"(
server: {grpc_address: "127.0.0.1:8081", state_dir: /var/lib/secret-place}
access: {callers: [{name: ops, anybody: true, status: true}]}
targets:
  - name: orders
    default_health: standard
    primary: {dsn: "host=db user=headgate"}
    standbys: [{name: s1, connection: {dsn: "host=s1 user=headgate"}}]
health_profiles:
  - {name: standard, signals: [{name: replication_lag_seconds, soft: 2, hard: 10}]}
budgets: [{name: etl, rate: 200, burst: 1m}]  # a comment
rules: [{name: etl, match: {identity: etl}, charge: [etl]}]
throttle_log: {step: 10s, coarse_step: 5m}
)";
  const std::string shown = Shown(text);
  for (const char* const hidden :
       {"host=s1", "secret-place", "anybody", "host=db", "coarse_step"}) {
    EXPECT_THAT(shown, Not(HasSubstr(hidden)));
  }
  const LoadResult before = Parse(text, "");
  const LoadResult after = Parse(shown, "");
  ASSERT_TRUE(before.config.has_value()) << before.status();
  ASSERT_TRUE(after.config.has_value()) << after.status() << shown;
  EXPECT_EQ(after.config->policy.targets[0].default_health, "standard");
  EXPECT_EQ(after.config->policy.budgets[0].name, before.config->policy.budgets[0].name);
  EXPECT_EQ(after.config->policy.rules[0].match.identity, "etl");
  EXPECT_EQ(after.config->text, shown);
}

TEST(ShownText, OfNothingIsNothing) {
  EXPECT_EQ(Shown(""), "{}\n");
  EXPECT_EQ(Shown("{}"), "{}\n");
  EXPECT_TRUE(absl::IsInvalidArgument(ShownText("a: [").status()));
}

}  // namespace
}  // namespace headgate::config
