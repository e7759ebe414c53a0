// The store dies, hangs, refuses, or is another one than before: callers count what they are told.

#include <grpc/health/v1/health.grpc.pb.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/servers/deployment.h"
#include "tests/servers/steady_caller.h"

namespace headgate {
namespace {

using grpc::health::v1::HealthCheckResponse;

constexpr double kBurst = 500;
constexpr double kRate = 100;

double Promise(absl::Duration span) { return kBurst + kRate * absl::ToDoubleSeconds(span); }

class StoreLoss : public testing::Test {
 protected:
  explicit StoreLoss(DeploymentOptions options = {.servers = 2, .targets = {"orders", "billing"}})
      : servers_(std::move(options)) {}

  // Nobody decides any more, and whoever asks is told so in time.
  void AwaitStop() {
    EXPECT_TRUE(servers_.AwaitNoOwner(0, "orders", absl::Seconds(1)));
    EXPECT_TRUE(servers_.AwaitLog(0, "the store does not answer"));
  }
  HealthCheckResponse::ServingStatus HealthOf(int server, const std::string& service) {
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::ClientContext context;
    HealthCheckResponse response;
    const grpc::Status status = grpc::health::v1::Health::NewStub(servers_.channel(server))
                                    ->Check(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.status();
  }
  void AwaitReturn() {
    EXPECT_TRUE(servers_.AwaitOwners(0));
    EXPECT_TRUE(servers_.AwaitOwners(1));
    EXPECT_TRUE(servers_.AwaitLog(0, "the store answers again"));
  }

  Deployment servers_;
};

TEST_F(StoreLoss, AStoreThatCrashesAndRestartsAdmitsNothingExtra) {
  ASSERT_TRUE(servers_.AwaitOwners());
  SteadyCaller caller(servers_, 0, "orders", 10);
  servers_.store().Kill();
  AwaitStop();
  ASSERT_TRUE(servers_.store().Start().ok());
  AwaitReturn();
  caller.Stop();
  EXPECT_EQ(caller.failed(), 0) << caller.last_error();  // it was held
  EXPECT_LE(caller.admitted(), Promise(caller.span()));
}

TEST_F(StoreLoss, AStoreThatHangsStopsDecisionsWhenLeasesEnd) {
  ASSERT_TRUE(servers_.AwaitOwners());
  SteadyCaller caller(servers_, 0, "orders", 10);
  servers_.store().Suspend();
  AwaitStop();
  servers_.store().Resume();
  AwaitReturn();
  caller.Stop();
  EXPECT_LE(caller.admitted(), Promise(caller.span()));
}

TEST_F(StoreLoss, AStoreThatIsReadOnlyIsAsGoodAsAway) {
  ASSERT_TRUE(servers_.AwaitOwners());
  const auto set = [&](const char* value) {
    ASSERT_TRUE(servers_.store().Configure({{"default_transaction_read_only", value}}).ok());
    ASSERT_TRUE(servers_.store().RunSql("SELECT pg_reload_conf()").ok());
  };
  set("on");
  AwaitStop();
  set("off");
  AwaitReturn();
}

TEST_F(StoreLoss, AStoreWhoseTablesAreOfAnotherVersionIsNotUsed) {
  ASSERT_TRUE(servers_.AwaitOwners());
  ASSERT_TRUE(servers_.store()
                  .RunSql("UPDATE headgate_store.version SET version = 99, works_with = 99")
                  .ok());
  AwaitStop();
  EXPECT_TRUE(servers_.AwaitLog(0, "tables are of version 99"));
  ASSERT_TRUE(servers_.store()
                  .RunSql("UPDATE headgate_store.version SET version = 2, works_with = 1")
                  .ok());
  AwaitReturn();
}

TEST_F(StoreLoss, AServerThatStartsWithoutTheStoreWaitsForIt) {
  ASSERT_TRUE(servers_.AwaitOwners());
  ASSERT_TRUE(servers_[1].Stop().ok());
  servers_.store().Kill();
  servers_.Start(1);
  EXPECT_TRUE(servers_.AwaitLog(1, "the store does not answer"));
  EXPECT_TRUE(servers_.AwaitNoOwner(1, "orders", absl::Seconds(1)));
  // It is not to be asked, and not to be ended either.
  EXPECT_EQ(HealthOf(1, ""), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(HealthOf(1, "liveness"), HealthCheckResponse::SERVING);
  ASSERT_TRUE(servers_.store().Start().ok());
  EXPECT_TRUE(servers_.AwaitOwners(1));
}

TEST_F(StoreLoss, AConfigurationThatHasTheStoreAmongItsTargetsIsNotTaken) {
  ASSERT_TRUE(servers_.AwaitOwners());
  const std::string store = absl::StrCat(", primary: {dsn: \"", servers_.store().Dsn(), "\"}");
  servers_[0].Rewrite(servers_.Yaml(store));
  EXPECT_TRUE(servers_.AwaitLog(0, "database postgres cannot be the store: it is target orders"));
  EXPECT_EQ(servers_.Check(0, "orders", "job").verdict(), v1::VERDICT_ALLOWED);
}

TEST_F(StoreLoss, AServerWithTheStoreAmongItsTargetsDoesNotStart) {
  ASSERT_TRUE(servers_.AwaitOwners());
  ASSERT_TRUE(servers_[0].Stop().ok());
  const std::string store = absl::StrCat(", primary: {dsn: \"", servers_.store().Dsn(), "\"}");
  servers_[0].Rewrite(servers_.Yaml(store));
  EXPECT_FALSE(servers_[0].Start().ok());
  EXPECT_TRUE(servers_.AwaitLog(0, "database postgres cannot be the store: it is target orders"));
}

class FullStore : public StoreLoss {
 protected:
  FullStore()
      : StoreLoss({.servers = 2,
                   .targets = {"orders", "billing"},
                   .store_settings = {{"max_connections", "16"},
                                      {"superuser_reserved_connections", "0"}}}) {}
};

TEST_F(FullStore, WithoutAFreeConnectionIsAsGoodAsAway) {
  ASSERT_TRUE(servers_.AwaitOwners());
  std::vector<absl::StatusOr<SqlSession>> taken;
  const auto open = [&] { return taken.emplace_back(servers_.store().Open()).ok(); };
  ASSERT_TRUE(open());
  // Each place that a server loses is taken before it can come back, sooner or later.
  ASSERT_TRUE(WaitUntil([&] {
    while (open()) {
    }
    const auto ended = taken.front()->Run(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <>"
        " pg_backend_pid() AND backend_type = 'client backend' AND application_name LIKE"
        " 'headgate%'");
    return ended.ok() && (*ended)[0][0] == "0";
  }));
  AwaitStop();
  taken.clear();
  AwaitReturn();
}

class StoreWithStandby : public StoreLoss {
 protected:
  StoreWithStandby() : StoreLoss({.servers = 2, .targets = {"orders", "billing"}, .standbys = 1}) {}
};

TEST_F(StoreWithStandby, AStandbyThatIsPromotedTakesItsPlace) {
  ASSERT_TRUE(servers_.AwaitOwners());
  ASSERT_TRUE(servers_.stores().WaitForStandbys().ok());
  SteadyCaller caller(servers_, 0, "orders", 10);
  servers_.store().Kill();
  ASSERT_TRUE(servers_.stores().standby().Promote().ok());
  // Both go on there, whether or not they noticed that the other was gone.
  const auto rounds = [this] {
    const auto rows =
        servers_.stores().standby().RunSql("SELECT min(round) FROM headgate_store.member");
    return rows.ok() ? std::atoll((*rows)[0][0].c_str()) : 0;
  };
  const int64_t before = rounds();
  EXPECT_TRUE(WaitUntil([&] { return rounds() > before + 1; }));
  EXPECT_TRUE(servers_.AwaitOwners(0));
  EXPECT_TRUE(servers_.AwaitOwners(1));
  caller.Stop();
  EXPECT_LE(caller.admitted(), Promise(caller.span()));
}

}  // namespace
}  // namespace headgate
