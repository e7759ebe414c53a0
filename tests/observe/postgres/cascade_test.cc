// Standbys that others feed, and standbys that share a name: on a cluster of their own, with two.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/observe/postgres/probe_fixture.h"

namespace headgate::postgres {
namespace {

using testing::HasSubstr;

class TwoStandbys : public testing::Test {
 protected:
  void SetUp() override {
    if (absl::StatusOr<std::string> bin = PostgresCluster::BinFolder(); !bin.ok()) {
      GTEST_SKIP() << bin.status().message();
    }
    auto cluster = PostgresCluster::Start({.standbys = 2});
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = *std::move(cluster);
  }

  PostgresServer& primary() { return cluster_->primary(); }
  PostgresServer& first() { return cluster_->standby(0); }
  PostgresServer& second() { return cluster_->standby(1); }

  std::unique_ptr<PostgresProbe> ProbeOn(const PostgresServer& server, ServerRole role) {
    return std::make_unique<PostgresProbe>(
        PostgresProbeOptions{.server = server.name(),
                             .role = role,
                             .dsn = [dsn = server.SocketDsn()] { return dsn; },
                             .timeout = absl::Seconds(30),
                             .batch_work = {},
                             .position = position_},
        clock_);
  }
  static void Feed(PostgresServer& standby, const std::string& conninfo) {
    ASSERT_TRUE(standby.Stop().ok());
    ASSERT_TRUE(standby.Configure({{"primary_conninfo", conninfo}}).ok());
    ASSERT_TRUE(standby.Start().ok());
  }
  void Write() {
    ASSERT_TRUE(
        primary().RunSql("CREATE TABLE w AS SELECT generate_series(1, 1000); DROP TABLE w").ok());
  }
  std::vector<health::Reading> ReadingsOf(PostgresProbe& probe, const health::SignalQuery& query) {
    const auto readings = probe.Poll({&query, 1});
    EXPECT_TRUE(readings.ok()) << readings.status();
    return readings.value_or(std::vector<health::Reading>());
  }

  std::unique_ptr<PostgresCluster> cluster_;
  SystemClock clock_;
  const std::shared_ptr<PrimaryPosition> position_ = std::make_shared<PrimaryPosition>();
};

TEST_F(TwoStandbys, OneWhoseFeederIsCutOffLagsThoughItStreams) {
  Feed(second(), first().SocketDsn());
  const auto of_primary = ProbeOn(primary(), ServerRole::kPrimary);
  const auto of_second = ProbeOn(second(), ServerRole::kStandby);
  const health::SignalQuery query = QueryFor("standby_lag_seconds");
  const auto lag = [&]() -> std::optional<double> {
    ReadingsOf(*of_primary, query);
    const std::vector<health::Reading> readings = ReadingsOf(*of_second, query);
    return readings.empty() ? std::nullopt : readings[0].value;
  };
  Write();
  EXPECT_TRUE(WaitUntil([&] { return lag() == 0; }));
  // Nobody feeds the one that feeds it.
  ASSERT_TRUE(first().Configure({{"primary_conninfo", "host=127.0.0.1 port=1"}}).ok());
  ASSERT_TRUE(first().RunSql("SELECT pg_reload_conf()").ok());
  ASSERT_TRUE(WaitUntil([&] {
    const auto rows = primary().RunSql("SELECT count(*) FROM pg_stat_replication");
    return rows.ok() && (*rows)[0][0] == "0";
  }));
  Write();
  EXPECT_TRUE(WaitUntil([&] { return lag().value_or(0) > 1; }));
  const auto receiver = second().RunSql("SELECT status FROM pg_stat_wal_receiver");
  ASSERT_TRUE(receiver.ok()) << receiver.status();
  EXPECT_EQ((*receiver)[0][0], "streaming");
  ASSERT_TRUE(first().Configure({{"primary_conninfo", primary().SocketDsn()}}).ok());
  ASSERT_TRUE(first().RunSql("SELECT pg_reload_conf()").ok());
  EXPECT_TRUE(WaitUntil([&] { return lag() == 0; }));
}

TEST_F(TwoStandbys, OneThatIsOfAnotherClusterHasNoLag) {
  // With a password of its own, as those without are copies of one data folder: one cluster to
  // PostgreSQL.
  auto other = PostgresCluster::Start({.standbys = 1, .password = "own"});
  ASSERT_TRUE(other.ok()) << other.status();
  const auto of_primary = ProbeOn(primary(), ServerRole::kPrimary);
  const auto of_stranger = ProbeOn((*other)->standby(), ServerRole::kStandby);
  const health::SignalQuery query = QueryFor("standby_lag_seconds");
  ReadingsOf(*of_primary, query);
  const std::vector<health::Reading> readings = ReadingsOf(*of_stranger, query);
  ASSERT_EQ(readings.size(), 1u);
  EXPECT_FALSE(readings[0].value.has_value());
  EXPECT_THAT(readings[0].error, HasSubstr("another cluster"));
}

TEST_F(TwoStandbys, ThatShareANameAreWatchedAndNeitherHidesTheOther) {
  const std::string conninfo = primary().SocketDsn() + " application_name=15/main";
  for (PostgresServer* server : {&first(), &second()}) Feed(*server, conninfo);
  const auto of_primary = ProbeOn(primary(), ServerRole::kPrimary);
  health::SignalQuery query = QueryFor("replication_lag_bytes");
  query.of = {{.name = "a", .application_name = "15/main"},
              {.name = "b", .application_name = "15/main"}};
  const auto streaming = [&] {
    int count = 0;
    for (const health::Reading& reading : ReadingsOf(*of_primary, query)) {
      count += reading.value.has_value() ? 1 : 0;
    }
    return count;
  };
  EXPECT_TRUE(WaitUntil([&] { return streaming() == 2; }));
  ASSERT_TRUE(second().Stop().ok());
  EXPECT_TRUE(WaitUntil([&] { return streaming() == 1; }));
  ASSERT_TRUE(second().Start().ok());
  EXPECT_TRUE(WaitUntil([&] { return streaming() == 2; }));
  // With one expected alone, that is noted.
  query.of.pop_back();
  EXPECT_THAT(ReadingsOf(*of_primary, query)[0].note, HasSubstr("would not be noticed"));
}

TEST_F(TwoStandbys, ThatShareANameAreToldApartByTheirSlots) {
  for (PostgresServer* server : {&first(), &second()}) {
    const std::string slot = server == &first() ? "east" : "west";
    ASSERT_TRUE(
        primary()
            .RunSql(absl::StrCat("SELECT pg_create_physical_replication_slot('", slot, "')"))
            .ok());
    ASSERT_TRUE(server->Configure({{"primary_slot_name", slot}}).ok());
    Feed(*server, primary().SocketDsn() + " application_name=15/main");
  }
  const auto of_primary = ProbeOn(primary(), ServerRole::kPrimary);
  health::SignalQuery query = QueryFor("replication_lag_seconds");
  query.of = {{.name = "a", .slot = "east"}, {.name = "b", .slot = "west"}};
  std::vector<health::Reading> readings;
  const auto both = [&] {
    readings = ReadingsOf(*of_primary, query);
    return readings.size() == 2 && readings[0].value.has_value() && readings[1].value.has_value();
  };
  EXPECT_TRUE(WaitUntil(both));
  EXPECT_EQ(readings[0].note, "");
  ASSERT_TRUE(first().Stop().ok());
  EXPECT_TRUE(WaitUntil([&] { return !both() && readings[1].value.has_value(); }));
  EXPECT_THAT(readings[0].error, HasSubstr("no row of pg_stat_replication has slot 'east'; there "
                                           "is '15/main' from a Unix socket with slot 'west'"));
}

}  // namespace
}  // namespace headgate::postgres
