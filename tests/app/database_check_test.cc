// What databases say before a server is started with a configuration: that of a pooler, of a role,
// of the wrong server, of an encoding; and nothing where nobody answers.

#include "server/app/database_check.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "gmock/gmock.h"
#include "tests/testing/postgres_bouncer.h"
#include "tests/testing/shared_postgres.h"
#include "tests/testing/silent_server.h"

namespace headgate::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class DatabaseCheck : public testing::Test {
 protected:
  // A server that answers has all the time that a busy machine takes.
  std::vector<std::string> Ask(absl::Duration timeout = absl::Minutes(1)) {
    return AskDatabases(config_, timeout, clock_);
  }
  static config::PostgresSource Source(const std::string& dsn) {
    config::PostgresSource source;
    source.dsn = dsn;
    return source;
  }
  void AddTarget(const std::string& dsn) {
    config::TargetSettings& target = config_.targets.emplace_back();
    target.name = absl::StrCat("t", config_.targets.size());
    target.primary = Source(dsn);
  }

  SystemClock clock_;
  config::Config config_;
};

TEST_F(DatabaseCheck, WhoIsNotReachedIsPassedOver) {
  const SilentServer silent;
  AddTarget("host=127.0.0.1 port=1 user=headgate");
  AddTarget(absl::StrCat("host=127.0.0.1 port=", silent.port(), " user=headgate"));
  config_.targets.emplace_back().primary.emplace().dsn_file = "/nowhere";
  config_.throttle_log.postgres.emplace().dsn_env = "HEADGATE_TEST_NO_SUCH_VARIABLE";
  EXPECT_THAT(Ask(absl::Milliseconds(300)), IsEmpty());
}

TEST_F(DatabaseCheck, AServerThatCanBeUsedHasNothingToSay) {
  AddTarget(SharedPostgres().Dsn());
  config_.throttle_log.postgres = Source(SharedPostgres().Dsn());
  config_.cluster.emplace().store = Source(SharedPostgres().Dsn());
  EXPECT_THAT(Ask(), IsEmpty());
}

TEST_F(DatabaseCheck, WhatAServerObjectsToIsSaid) {
  for (const char* const sql :
       {"CREATE ROLE blind LOGIN",
        "CREATE DATABASE western ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"}) {
    ASSERT_TRUE(SharedPostgres().RunSql(sql).ok());
  }
  AddTarget(SharedPostgres().Dsn("blind"));
  AddTarget(SharedPostgres().Dsn("postgres", "no_such_database"));
  config_.targets[0].standbys.emplace_back().name = "east";
  config_.targets[0].standby_sources.push_back(Source(SharedPostgres().Dsn()));
  config_.throttle_log.postgres = Source(SharedPostgres().Dsn("postgres", "western"));
  EXPECT_THAT(
      Ask(),
      ElementsAre(AllOf(StartsWith("target t1, primary: "), HasSubstr("GRANT pg_monitor TO blind")),
                  AllOf(StartsWith("target t1, standby east: "),
                        HasSubstr("a primary, where a standby is expected")),
                  AllOf(StartsWith("target t2, primary: "), HasSubstr("no_such_database")),
                  AllOf(StartsWith("throttle_log: "), HasSubstr("its encoding is LATIN1"))));
}

TEST_F(DatabaseCheck, APoolerIsSaidInEachOfItsModes) {
  if (absl::StatusOr<std::string> program = PostgresBouncer::Program(); !program.ok()) {
    GTEST_SKIP() << program.status().message();
  }
  for (const char* const mode : {"session", "transaction", "statement"}) {
    const auto bouncer =
        PostgresBouncer::Start(SharedPostgresFolder(), SharedPostgres(), {.mode = mode});
    ASSERT_TRUE(bouncer.ok()) << bouncer.status();
    config_ = {};
    const config::PostgresSource pool = Source((*bouncer)->Dsn("postgres", "postgres"));
    AddTarget(pool.dsn);
    config_.throttle_log.postgres = pool;
    config_.cluster.emplace().store = pool;
    const std::vector<std::string> said = Ask();
    const auto from = [&](const std::string& who) {
      return testing::Contains(
          AllOf(StartsWith(who), HasSubstr("leads through a connection pooler"),
                HasSubstr("put PostgreSQL's own host and port into the connection string")));
    };
    for (const char* const who : {"target t1, primary: ", "throttle_log: ", "cluster.store: "}) {
      EXPECT_THAT(said, from(who)) << mode;
    }
  }
}

}  // namespace
}  // namespace headgate::app
