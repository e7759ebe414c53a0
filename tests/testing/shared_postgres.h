// SharedPostgres: one PostgreSQL for all tests of a program, started when it is first asked for.
//
//   SharedPostgres().RunSql("CREATE DATABASE mine");

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tests/testing/postgres_cluster.h"

namespace headgate {

inline PostgresCluster& SharedPostgresCluster() {
  static const std::unique_ptr<PostgresCluster> cluster = [] {
    auto started = PostgresCluster::Start({});
    EXPECT_TRUE(started.ok()) << started.status();
    return *std::move(started);
  }();
  return *cluster;
}

inline PostgresServer& SharedPostgres() { return SharedPostgresCluster().primary(); }
inline const std::string& SharedPostgresFolder() { return SharedPostgresCluster().folder(); }

}  // namespace headgate
