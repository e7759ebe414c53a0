// What the agent asks a real PostgreSQL, and which it refuses.

#include "client/agent/database.h"

#include "client/agent/linux_processes.h"
#include "common/system_clock.h"
#include "tests/agent/agent_fixture.h"

namespace headgate::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// This machine's, seen from elsewhere.
class OtherProcesses : public Processes {
 public:
  std::optional<Found> found;

  std::optional<Found> Find(int) override { return found; }
  absl::StatusOr<Before> Read(int, const Means&) override { return absl::NotFoundError(""); }
  absl::Status Lower(int, const Means&) override { return absl::NotFoundError(""); }
  absl::Status Raise(int, const Means&, const Before&) override { return absl::NotFoundError(""); }
  std::optional<int64_t> ProcessorNs(int) override { return std::nullopt; }
};

class DatabaseTest : public AgentTest {
 protected:
  absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& dsn,
                                                 Processes* processes = nullptr) {
    return Database::Open({.dsn = dsn,
                           .limit = absl::Seconds(30),
                           .clock = &clock_,
                           .processes = processes == nullptr ? &processes_ : processes});
  }
  std::vector<int> BatchPids(Database& database, const BatchWork& batch) {
    const absl::StatusOr<Database::Sight> sight = database.Look(batch);
    EXPECT_TRUE(sight.ok()) << sight.status();
    std::vector<int> pids;
    for (const BatchSession& session : sight->sessions) pids.push_back(session.pid);
    return pids;
  }

  SystemClock clock_;
  LinuxProcesses processes_;
};

TEST_F(DatabaseTest, KnowsItsPostmasterOverSocketAndLoopback) {
  for (const std::string& dsn : {Dsn(), SharedPostgres().Dsn("agent")}) {
    const auto database = Open(dsn);
    ASSERT_TRUE(database.ok()) << database.status();
    EXPECT_EQ((*database)->server().postmaster, SharedPostgres().pid());
    EXPECT_EQ((*database)->server().role, "agent");
  }
}

TEST_F(DatabaseTest, RefusesWhatIsNotProvedToBeOnThisMachine) {
  OtherProcesses elsewhere;
  EXPECT_THAT(std::string(Open(Dsn(), &elsewhere).status().message()),
              HasSubstr("is not seen here; the agent has to run in PostgreSQL's namespace"));
  elsewhere.found = {.started_ticks = 1, .parent = 1};
  const absl::Status status = Open(Dsn(), &elsewhere).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is not what serves the agent here"));
}

TEST_F(DatabaseTest, TheRoleHasToSeeOtherSessions) {
  const absl::Status status = Open(SharedPostgres().SocketDsn("blind")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("GRANT pg_read_all_stats TO blind"));
}

TEST_F(DatabaseTest, SaysThatNobodyListens) {
  const absl::Status status = Open("host=/nowhere dbname=postgres user=agent").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere"));
}

TEST_F(DatabaseTest, NamesMatchAsInTheServersConfiguration) {
  const auto database = Open(Dsn());
  ASSERT_TRUE(database.ok()) << database.status();
  SqlSession batch = Connect("batch"), web = Connect("web", "night_1");
  SqlSession like = Connect("web", "nightX1");
  EXPECT_THAT(BatchPids(**database, {.roles = {"batch"}}), ElementsAre(batch.backend_pid()));
  EXPECT_THAT(BatchPids(**database, {.application_names = {"night_*"}}),
              ElementsAre(web.backend_pid()));
  EXPECT_THAT(BatchPids(**database, {.roles = {"bat", "BATCH"}, .application_names = {"night"}}),
              ElementsAre());
  EXPECT_THAT(BatchPids(**database, {.roles = {"batch"}, .application_names = {"night*"}}),
              SizeIs(3));
  // The agent itself is no batch work, whatever is said.
  EXPECT_THAT(BatchPids(**database, {.roles = {"agent"}}), ElementsAre());
}

TEST_F(DatabaseTest, SeesWhoHoldsATransactionAndWhoWants) {
  const auto database = Open(Dsn());
  ASSERT_TRUE(database.ok()) << database.status();
  SqlSession batch = Connect("batch");
  const auto look = [&] { return (*database)->Look({.roles = {"batch"}})->sessions.at(0); };
  EXPECT_FALSE(look().holds);
  ASSERT_TRUE(batch.Run("BEGIN; UPDATE t SET i = i WHERE i = 3").ok());
  EXPECT_TRUE(look().holds);
  EXPECT_FALSE(look().wants());  // it waits for its client
  ASSERT_TRUE(batch.Start("SELECT count(*) FROM generate_series(1, 300000000)").ok());
  EXPECT_TRUE(WaitUntil([&] { return look().wants(); }));
  ASSERT_TRUE(SharedPostgres()
                  .RunSql(absl::StrCat("SELECT pg_terminate_backend(", batch.backend_pid(), ")"))
                  .ok());
}

TEST_F(DatabaseTest, SeesWhatASessionIsAt) {
  const auto database = Open(Dsn());
  ASSERT_TRUE(database.ok()) << database.status();
  SqlSession batch = Connect("batch"), web = Connect("web");
  const auto comes_to = [&](Work work) {
    return WaitUntil(
        [&] { return (*database)->Look({.roles = {"batch"}})->sessions.at(0).work == work; });
  };
  EXPECT_TRUE(comes_to(Work::kNone));
  ASSERT_TRUE(batch.Start("SELECT pg_sleep(0.5)").ok());
  EXPECT_TRUE(comes_to(Work::kOther));
  ASSERT_TRUE(batch.Finish().ok());
  ASSERT_TRUE(web.Run("BEGIN; UPDATE t SET i = i WHERE i = 4").ok());
  ASSERT_TRUE(batch.Start("UPDATE t SET i = i WHERE i = 4").ok());
  EXPECT_TRUE(comes_to(Work::kLocks));
  ASSERT_TRUE(web.Run("COMMIT").ok());
  ASSERT_TRUE(batch.Finish().ok());
  ASSERT_TRUE(batch.Start("SELECT count(*) FROM generate_series(1, 3000000)").ok());
  EXPECT_TRUE(comes_to(Work::kProcessor));
  ASSERT_TRUE(batch.Finish().ok());
}

TEST_F(DatabaseTest, AParallelWorkerHasItsLeader) {
  const auto database = Open(Dsn());
  ASSERT_TRUE(database.ok()) << database.status();
  SqlSession batch = Connect("batch");
  ASSERT_TRUE(batch
                  .Run("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; "
                       "SET min_parallel_table_scan_size = 0")
                  .ok());
  ASSERT_TRUE(batch.Start("SELECT count(*) FROM t WHERE pg_sleep(0.02) IS NOT NULL").ok());
  const auto has_worker = [&] {
    const absl::StatusOr<Database::Sight> sight = (*database)->Look({.roles = {"batch"}});
    for (const BatchSession& session : sight->sessions) {
      if (session.leader == batch.backend_pid()) return true;
    }
    return false;
  };
  EXPECT_TRUE(WaitUntil(has_worker));
  ASSERT_TRUE(SharedPostgres()
                  .RunSql(absl::StrCat("SELECT pg_cancel_backend(", batch.backend_pid(), ")"))
                  .ok());
}

TEST_F(DatabaseTest, LockWaitsNameWhoStandsBefore) {
  const auto database = Open(Dsn());
  ASSERT_TRUE(database.ok()) << database.status();
  SqlSession batch = Connect("batch"), web = Connect("web");
  ASSERT_TRUE(batch.Run("BEGIN; LOCK TABLE t").ok());
  EXPECT_EQ((*database)->Look({.roles = {"batch"}})->waiting, 0u);
  ASSERT_TRUE(web.Start("SELECT count(*) FROM t").ok());
  EXPECT_TRUE(WaitUntil([&] { return (*database)->Look({.roles = {"batch"}})->waiting == 1; }));
  std::vector<LockWait> waits;
  EXPECT_TRUE(WaitUntil([&] { return !(waits = *(*database)->LockWaits()).empty(); }));
  ASSERT_THAT(waits, SizeIs(1));
  EXPECT_EQ(waits[0].pid, web.backend_pid());
  EXPECT_THAT(waits[0].blockers, ElementsAre(batch.backend_pid()));
  ASSERT_TRUE(batch.Run("ROLLBACK").ok());
  ASSERT_TRUE(web.Finish().ok());
}

}  // namespace
}  // namespace headgate::agent
