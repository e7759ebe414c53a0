// The primary changes. On a cluster of its own, which does not survive it.

#include <stdlib.h>

#include <fstream>
#include <memory>
#include <pqxx/transaction>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/observe/postgres/session.h"
#include "tests/observe/postgres/probe_fixture.h"

namespace headgate::postgres {
namespace {

using testing::HasSubstr;

class Failover : public testing::Test {
 protected:
  void SetUp() override {
    if (absl::StatusOr<std::string> bin = PostgresCluster::BinFolder(); !bin.ok()) {
      GTEST_SKIP() << bin.status().message();
    }
    absl::StatusOr<std::unique_ptr<PostgresCluster>> cluster =
        PostgresCluster::Start(ClusterOptions());
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
    const absl::Status status = SetUpCluster(*cluster_);
    ASSERT_TRUE(status.ok()) << status;
  }

  // Leads to both servers, in this order, and says nothing of which is meant.
  static std::string DsnOf(const PostgresServer& one, const PostgresServer& other) {
    return absl::StrCat("host=127.0.0.1,127.0.0.1 port=", one.port(), ",", other.port(),
                        " user=headgate dbname=", kDatabase, " password=", kPassword);
  }
  // Whichever of both servers is the primary.
  std::string DsnOfBoth() { return DsnOf(first(), second()) + " target_session_attrs=primary"; }

  // Where a poll is answered; 0 and the failure of the test if it is not.
  static int PortOf(PostgresProbe& probe) {
    const health::SignalQuery query = CustomQuery("SELECT inet_server_port()");
    const auto readings = probe.Poll({&query, 1});
    EXPECT_TRUE(readings.ok()) << readings.status();
    if (!readings.ok() || readings->size() != 1) return 0;
    return static_cast<int>(readings->front().value.value_or(0));
  }

  PostgresProbe ProbeOn(const std::string& dsn, ServerRole role = ServerRole::kPrimary) {
    return PostgresProbe({.server = "standby-1",
                          .role = role,
                          .dsn = [dsn] { return dsn; },
                          .timeout = absl::Seconds(30),
                          .batch_work = {.roles = {"etl"}, .application_names = {}}},
                         clock_);
  }

  // With statement statistics, which are not in every sample; null: they do not come.
  std::unique_ptr<health::WorkCounters> SampleStatements(PostgresProbe& probe) {
    auto found = std::make_unique<health::WorkCounters>();
    const bool came = WaitUntil([&] {
      const auto work = probe.SampleWork(health::StatementsWish::kNow);
      if (work.ok()) *found = *work;
      return work.ok() && work->statements.has_value();
    });
    return came ? std::move(found) : nullptr;
  }

  PostgresServer& first() { return cluster_->primary(); }
  PostgresServer& second() { return cluster_->standby(); }

  std::unique_ptr<PostgresCluster> cluster_;
  SystemClock clock_;
};

TEST_F(Failover, IsFollowedAndTheOldPrimaryIsRefused) {
  const std::string to_first = first().Dsn("headgate", kDatabase, kPassword);
  const std::string to_second = second().Dsn("headgate", kDatabase, kPassword);
  PostgresProbe probe = ProbeOn(DsnOfBoth());
  PostgresProbe of_standby = ProbeOn(to_second, ServerRole::kStandby);
  PostgresProbe of_first = ProbeOn(to_first);
  const std::vector<health::SignalQuery> queries = {QueryFor("wal_bytes_per_second"),
                                                    QueryFor("rollbacks_per_second"),
                                                    QueryFor("active_backends")};
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(probe.Poll(queries).ok());
  absl::Status status = of_standby.Poll({}).status();
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(of_first.Poll({}).ok());
  const auto work_before = SampleStatements(probe);
  ASSERT_NE(work_before, nullptr);

  ASSERT_TRUE(first().Stop().ok());
  status = second().Promote();
  ASSERT_TRUE(status.ok()) << status;
  // On the session that it had when the server was a standby.
  status = of_standby.Poll({}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is a primary"));
  // The new primary's counters are others: its rates start over.
  absl::StatusOr<std::vector<health::Reading>> readings;
  ASSERT_TRUE(WaitUntil([&] { return (readings = probe.Poll(queries)).ok(); }));
  ASSERT_EQ(readings->size(), 1u);
  EXPECT_EQ(readings->front().instance, "active_backends");
  readings = probe.Poll(queries);
  ASSERT_TRUE(readings.ok()) << readings.status();
  ASSERT_EQ(readings->size(), 3u);
  for (const health::Reading& reading : *readings) EXPECT_GE(reading.value.value_or(-1), 0);

  ASSERT_TRUE(first().BecomeStandbyOf(second()).ok());
  ASSERT_TRUE(first().Start().ok());
  ASSERT_TRUE(WaitUntil([&] { return absl::IsFailedPrecondition(of_first.Poll({}).status()); }));
  status = of_first.SampleWork(health::StatementsWish::kNow).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("is a standby"));
  // Statements are those of another server: they do not go on where the others ended.
  const auto work_after = SampleStatements(probe);
  ASSERT_NE(work_after, nullptr);
  EXPECT_NE(work_after->statements->generation, work_before->statements->generation);
  EXPECT_GE(work_after->next_xid, work_before->next_xid);
}

TEST_F(Failover, ServersAreFoundByTheirRolesThatSwap) {
  PostgresProbe of_primary = ProbeOn(DsnOf(second(), first()));
  PostgresProbe of_standby = ProbeOn(DsnOf(first(), second()), ServerRole::kStandby);
  EXPECT_EQ(PortOf(of_primary), first().port());
  EXPECT_EQ(PortOf(of_standby), second().port());

  ASSERT_TRUE(first().Stop().ok());
  ASSERT_TRUE(second().Promote().ok());
  ASSERT_TRUE(first().BecomeStandbyOf(second()).ok());
  ASSERT_TRUE(first().Start().ok());
  // The session with the new primary has outlived its promotion: the same poll goes on elsewhere.
  EXPECT_EQ(PortOf(of_standby), first().port());
  EXPECT_TRUE(of_standby.Poll({}).ok());
  ASSERT_TRUE(WaitUntil([&] { return of_primary.Poll({}).ok(); }));
  EXPECT_EQ(PortOf(of_primary), second().port());
}

TEST_F(Failover, WhereNoHostHasTheRoleItSaysSo) {
  PostgresProbe of_standbys = ProbeOn(DsnOf(second(), second()));
  EXPECT_THAT(std::string(of_standbys.Poll({}).status().message()), HasSubstr("is a standby"));
  ASSERT_TRUE(first().Stop().ok());
  PostgresProbe probe = ProbeOn(DsnOf(first(), second()));
  // One is down, and the other one not yet promoted.
  const absl::Status status = probe.Poll({}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is a standby"));
  ASSERT_TRUE(second().Promote().ok());
  EXPECT_EQ(PortOf(probe), second().port());
}

TEST_F(Failover, StoresFindThePrimaryAmongTheirHosts) {
  const SocketWaiter waiter;
  Connector connector(waiter);
  const auto write = [&] {
    const Deadline deadline(clock_, absl::Minutes(1));
    auto session =
        Session::Open(connector, {.dsn = DsnOf(second(), first()), .store = "the test"}, deadline);
    if (!session.ok()) return session.status();
    return (*session)->Transact(
        deadline, [](pqxx::work& work) { work.exec("CREATE TEMP TABLE written (i int)"); });
  };
  absl::Status status = write();
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_TRUE(first().Stop().ok());
  EXPECT_FALSE(write().ok());
  ASSERT_TRUE(second().Promote().ok());
  status = write();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(Failover, ServiceLeadsToTheServerOfTheRole) {
  const std::string file = cluster_->folder() + "/pg_service.conf";
  std::ofstream(file) << "[both]\nhost=127.0.0.1,127.0.0.1\nport=" << second().port() << ","
                      << first().port() << "\nuser=headgate\ndbname=" << kDatabase
                      << "\npassword=" << kPassword << "\n";
  setenv("PGSERVICEFILE", file.c_str(), 1);
  PostgresProbe of_primary = ProbeOn("service=both");
  EXPECT_EQ(PortOf(of_primary), first().port());
  PostgresProbe of_standby = ProbeOn("service=both", ServerRole::kStandby);
  EXPECT_EQ(PortOf(of_standby), second().port());
  unsetenv("PGSERVICEFILE");
}

}  // namespace
}  // namespace headgate::postgres
