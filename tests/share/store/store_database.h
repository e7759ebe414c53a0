// What tests of the store share: one PostgreSQL for the whole program, and a database for each
// test.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"
#include "server/share/store/admin.h"
#include "server/share/store/transactor.h"
#include "tests/testing/postgres_cluster.h"

namespace headgate::store {

// For what has no reason to take long.
inline constexpr absl::Duration kLong = absl::Minutes(2);

class StoreDatabase {
 public:
  enum class Tables { kMade, kMissing };

  explicit StoreDatabase(Tables tables = Tables::kMade) {
    static int count = 0;
    name_ = absl::StrCat("store_", ++count);
    // A test that failed may have left it stopped.
    EXPECT_TRUE(server().pid() != 0 || server().Start().ok());
    EXPECT_TRUE(server().RunSql("CREATE DATABASE " + name_).ok());
    if (tables == Tables::kMissing) return;
    const absl::StatusOr<std::string> made = Init(Admin(), clock_);
    EXPECT_TRUE(made.ok()) << made.status();
  }

  const std::string& name() const { return name_; }
  std::string Dsn(const std::string& role = "postgres") const { return server().Dsn(role, name_); }
  AdminOptions Admin(const std::string& role = "postgres") const {
    return {.dsn = Dsn(role), .timeout = kLong};
  }
  TransactorOptions Options() const {
    return {
        .dsn = [dsn = Dsn()] { return dsn; }, .statement_timeout = absl::Seconds(20), .seed = 1};
  }

  SqlRows RunSql(const std::string& sql) {
    absl::StatusOr<SqlRows> rows = server().RunSql(sql, name_);
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.ok() ? *rows : SqlRows();
  }

  // Transactions are as YugabyteDB's may have to be, and as an operator may set it.
  void MakeSerializable() {
    RunSql(absl::StrCat("ALTER DATABASE ", name_,
                        " SET default_transaction_isolation = 'serializable'"));
  }

  // As docs/cluster.md has it.
  void CreateServerRole(const std::string& role) {
    RunSql(absl::StrCat("CREATE ROLE ", role, " LOGIN"));
    RunSql(absl::StrCat("GRANT USAGE ON SCHEMA headgate_store TO ", role));
    RunSql(
        absl::StrCat("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA"
                     " headgate_store TO ",
                     role));
  }

  static PostgresServer& server() { return cluster().primary(); }
  static const std::string& folder() { return cluster().folder(); }

 private:
  static PostgresCluster& cluster() {
    static const std::unique_ptr<PostgresCluster> cluster = [] {
      auto started = PostgresCluster::Start({.settings = {{"max_connections", "40"}}});
      EXPECT_TRUE(started.ok()) << started.status();
      return *std::move(started);
    }();
    return *cluster;
  }

  std::string name_;
  SystemClock clock_;
};

}  // namespace headgate::store
