// What tests of the throttle log in PostgreSQL share: one server for the whole program, and a
// database for each test.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"
#include "server/observe/postgres/log_store.h"
#include "tests/testing/shared_postgres.h"

namespace headgate::postgres {

class LogDatabase {
 public:
  // Of a store whose server hangs. Others have the time that a busy machine takes.
  static constexpr absl::Duration kTimeout = absl::Seconds(2);

  LogDatabase() {
    static int count = 0;
    name_ = absl::StrCat("log_", ++count);
    // A test that failed may have left it stopped.
    EXPECT_TRUE(server().pid() != 0 || server().Start().ok());
    EXPECT_TRUE(server().RunSql("CREATE DATABASE " + name_).ok());
  }

  std::unique_ptr<PostgresLogStore> Open(const throttle_log::Retention& retention,
                                         absl::Duration timeout = absl::Minutes(1)) {
    PostgresLogStoreOptions options;
    options.dsn = [dsn = server().Dsn("postgres", name_)] { return dsn; };
    options.timeout = timeout;
    options.scan_timeout = timeout;
    return std::make_unique<PostgresLogStore>(options, retention, clock_);
  }

  const std::string& name() const { return name_; }

  SqlRows RunSql(const std::string& sql) {
    absl::StatusOr<SqlRows> rows = server().RunSql(sql, name_);
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.ok() ? *rows : SqlRows();
  }

  static PostgresServer& server() { return SharedPostgres(); }

 private:
  std::string name_;
  SystemClock clock_;
};

}  // namespace headgate::postgres
