// What tests against a real PostgreSQL share: one cluster for the whole program, with a standby,
// set up by server/observe/postgres/setup.sql as an operator would, and short ways to poll it.
//
// A test leaves both servers running, and its own sessions closed. Roles "headgate" (with
// kPassword; pg_monitor), "app" and "etl" can log in; the database is "shop".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"
#include "server/observe/postgres/postgres_probe.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/sql_session.h"
#include "tests/testing/wait_until.h"

namespace headgate::postgres {

inline constexpr char kPassword[] = "right";
inline constexpr char kDatabase[] = "shop";

// The settings of the shared cluster.
PostgresOptions ClusterOptions();

// Runs setup.sql, and makes the roles and the database.
absl::Status SetUpCluster(PostgresCluster& cluster);

// `signal` of a target with the one standby "standby-1", in all its instances on the primary or,
// for standby_lag_seconds, on the standby: there it is compared with what the primary said when it
// was asked the same.
health::SignalQuery QueryFor(std::string_view signal);
health::SignalQuery CustomQuery(std::string sql);

class ProbeTest : public testing::Test {
 protected:
  void SetUp() override;

  static PostgresCluster& cluster();
  static PostgresServer& primary() { return cluster().primary(); }
  static PostgresServer& standby() { return cluster().standby(); }

  // Options of a probe on a server of the shared cluster, as role "headgate".
  static PostgresProbeOptions On(const PostgresServer& server,
                                 ServerRole role = ServerRole::kPrimary);
  // Probes of one test compare their positions.
  PostgresProbe MakeProbe(PostgresProbeOptions options) {
    if (options.position == nullptr) options.position = position_;
    return PostgresProbe(std::move(options), clock_);
  }

  // The one reading of a poll; absent and the failure of the test if there is not one.
  static std::optional<health::Reading> ReadOne(PostgresProbe& probe,
                                                const health::SignalQuery& query);
  // Its value; -1 and the failure of the test without one.
  static double ValueOf(PostgresProbe& probe, const health::SignalQuery& query);
  static double ValueOf(PostgresProbe& probe, std::string_view signal) {
    return ValueOf(probe, QueryFor(signal));
  }
  // Polls until the value is as `condition` wants it. Polls that have none are passed over.
  static testing::AssertionResult Becomes(PostgresProbe& probe, std::string_view signal,
                                          absl::FunctionRef<bool(double)> condition);

  // A session on the primary's "shop", as superuser by default; ends the test if it fails.
  static SqlSession Open(const std::string& role = "postgres", const std::string& more_of_dsn = "");
  static SqlRows Run(SqlSession& session, const std::string& sql);
  static SqlRows RunSql(const std::string& sql);
  // As 150006 is 15.6.
  static int ServerVersion();

  static double SecondsNow() {
    return static_cast<double>(SystemClock::ReadKernel().monotonic_ns) * 1e-9;
  }

  SystemClock clock_;
  const std::shared_ptr<PrimaryPosition> position_ = std::make_shared<PrimaryPosition>();
};

}  // namespace headgate::postgres
