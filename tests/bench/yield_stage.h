// The stage of the yield bench: a PostgreSQL of its own, with fsync as any is run, `headgate agent`
// beside it, and the engine, monitor, probe and controller of the server itself, in this process.
//
// Jobs log in as one of two roles. Both are batch work, and the agent lowers one of them: so the
// same controller is tried with sessions that yield and with such as do not, by turns, and what it
// learns is kept apart as ever.
//
// Ends the process where anything fails. Thread-compatible.

#pragma once

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/system_clock.h"
#include "server/decide/engine/engine.h"
#include "server/observe/health/monitor.h"
#include "tests/bench/control_driver.h"
#include "tests/bench/control_watch.h"
#include "tests/bench/cpu_time.h"
#include "tests/demo/results.h"
#include "tests/load/batch_workers.h"
#include "tests/load/chunk_log.h"
#include "tests/load/pgbench.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/subprocess.h"
#include "tests/testing/wait_until.h"

namespace headgate {

[[noreturn]] inline void Fail(const absl::Status& status) {
  std::fprintf(stderr, "yield: %s\n", status.ToString().c_str());
  std::exit(1);
}
inline void Require(const absl::Status& status) {
  if (!status.ok()) Fail(status);
}
template <typename T>
T Require(absl::StatusOr<T> result) {
  if (!result.ok()) Fail(result.status());
  return *std::move(result);
}

struct YieldWorkload {
  std::string name;
  std::string builtin = "tpcb-like";
  std::optional<double> pace = {};
  int clients = 8;
  int more_clients = 0;  // in the second third
  bool analysts = false;
  std::string script = {};  // then builtin does not count
  load::Statement statement = load::AccountsBackfill;
};

class YieldStage {
 public:
  static constexpr int kScale = 20;
  static constexpr int kWalSegments = 256;

  YieldStage() {
    cluster_ = Require(
        PostgresCluster::Start({.settings = {{"shared_buffers", "1GB"},
                                             {"min_wal_size", "6GB"},
                                             {"max_wal_size", "8GB"},
                                             {"max_connections", "200"},
                                             {"shared_preload_libraries", "pg_stat_statements"}},
                                .fsync = true}));
    PostgresServer& server = cluster_->primary();
    foreground_ = {.bin = cluster_->bin(), .folder = cluster_->folder()};
    foreground_.dsn = server.SocketDsn("app");
    load::PgbenchOptions owner = foreground_;
    owner.dsn = server.SocketDsn();
    (void)Require(server.RunSql(
        "CREATE EXTENSION pg_stat_statements; CREATE ROLE app LOGIN SUPERUSER;"
        "CREATE ROLE yielding LOGIN; CREATE ROLE plain LOGIN; CREATE ROLE headgate LOGIN; "
        "GRANT pg_monitor TO headgate; GRANT pg_read_all_data, pg_write_all_data TO yielding, "
        "plain;"
        "CREATE ROLE agent LOGIN IN ROLE pg_read_all_stats"));
    Require(load::RunToEnd(load::PgbenchInitialization(owner, kScale),
                           cluster_->folder() + "/initialization.log"));
    (void)Require(server.RunSql(
        "CREATE TABLE other AS SELECT aid AS id, filler FROM pgbench_accounts;"
        "ALTER TABLE other ADD PRIMARY KEY (id); CREATE TABLE loaded (id int, filler text); "
        "ANALYZE"));
    Require(cluster_->primary().FillWal(kWalSegments));
    (void)Require(server.RunSql("CHECKPOINT"));
    Require(engine_.Install(AutoBatchPolicy(), clock_.Read()));
    monitor_ = WatchFor(driver_, clock_, server.SocketDsn("headgate"), {"yielding", "plain"});
    StartAgent();
  }
  ~YieldStage() { std::filesystem::remove_all(state_); }

  PostgresServer& server() { return cluster_->primary(); }
  Driver& driver() { return driver_; }
  std::string DsnOf(bool yields) { return server().SocketDsn(yields ? "yielding" : "plain"); }

  load::PgbenchOptions Foreground(const YieldWorkload& workload) const {
    load::PgbenchOptions options = foreground_;
    options.builtin = workload.builtin;
    options.script = workload.script;
    options.rate_per_second = workload.pace;
    options.clients = workload.clients;
    return options;
  }
  // Workers that ask, from here until they are stopped.
  std::unique_ptr<load::BatchWorkers> StartJob(const YieldWorkload& workload, bool yields,
                                               load::ChunkLog& log) {
    load::BatchOptions options{.dsn = DsnOf(yields),
                               .workers = 4,
                               .table_rows = kScale * load::kAccountsPerScale,
                               .chunk_rows = next_rows_[yields ? 1 : 0],
                               .statement = workload.statement};
    options.ask = [this, yields](int worker, int64_t rows, const std::stop_token& stop) {
      // How long a chunk takes is another thing where it waits for a processor.
      absl::StatusOr<load::Turn> turn =
          driver_.Ask(worker, rows, stop, yields ? "yielding" : "plain");
      if (turn.ok() && turn->next_rows > 0) next_rows_[yields ? 1 : 0] = turn->next_rows;
      return turn;
    };
    yields_ = yields;
    return Require(load::BatchWorkers::Start(options, &log));
  }

  // The agent goes: whether all processes of PostgreSQL are as they were before, while a job's
  // session is there.
  bool EndAgent() {
    auto session = Require(SqlSession::Open(DsnOf(true)));
    absl::SleepFor(absl::Seconds(1));
    agent_percent_ = 100 * absl::FDivDuration(CpuTimeOf(agent_->pid()) - agent_began_with_,
                                              absl::Now() - agent_began_);
    teller_ = {};
    Require(agent_->Stop());
    const SqlRows rows = Require(server().RunSql("SELECT pid FROM pg_stat_activity"));
    bool all = true;
    for (const auto& row : rows) {
      int pid = 0;
      if (absl::SimpleAtoi(row[0], &pid)) all &= IsAsEver(pid);
    }
    return all;
  }
  double agent_percent() const { return agent_percent_; }

 private:
  // By any of the means that the agent has but for autogroups, where those are a nice value.
  static bool IsAsEver(int pid) {
    std::ifstream file(absl::StrCat("/proc/", pid, "/cgroup"));
    const std::string cgroups(std::istreambuf_iterator<char>(file), {});
    return sched_getscheduler(pid) == SCHED_OTHER && !absl::StrContains(cgroups, "/headgate-yield");
  }

  void StartAgent() {
    state_ = absl::StrCat("/tmp/headgate-bench-yield-", getpid());
    metrics_ = state_ + ".prom";
    agent_ = std::make_unique<Subprocess>(std::vector<std::string>{
        HEADGATE_PROGRAM, "agent", "--batch", "role=yielding", "--dsn", server().SocketDsn("agent"),
        "--state-dir", state_, "--metrics-file", metrics_});
    if (!WaitUntil([&] { return absl::StrContains(agent_->Out(), "yields: "); }) ||
        !absl::StrContains(agent_->Out(), "yields: yes")) {
      Fail(absl::FailedPreconditionError(absl::StrCat("nothing yields here: ", agent_->Out())));
    }
    std::printf("%s\n", agent_->Out().c_str());
    agent_began_ = absl::Now();
    agent_began_with_ = CpuTimeOf(agent_->pid());
    teller_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        Tell();
        absl::SleepFor(absl::Milliseconds(500));
      }
    });
  }

  // What the agent writes down each second, as a server would hear it.
  void Tell() {
    control::Yielding told{.works = yields_.load(std::memory_order_relaxed)};
    std::FILE* const file = std::fopen(metrics_.c_str(), "r");
    if (file == nullptr) return;
    char line[512];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      const std::vector<std::string> words =
          absl::StrSplit(absl::string_view(line), absl::ByAnyChar(" \n"), absl::SkipEmpty());
      double value = 0;
      if (words.size() != 2 || !absl::SimpleAtod(words[1], &value)) continue;
      if (words[0] == "headgate_agent_yields" && value != 1) told.works = false;
      if (words[0] == "headgate_agent_processor_seconds_total") told.processor_seconds = value;
      if (absl::StrContains(words[0], "rank=\"yielding\"")) told.sessions = std::llround(value);
      if (absl::StrContains(words[0], "rank=\"raised\"")) told.raised = std::llround(value);
    }
    std::fclose(file);
    driver_.Tell(told);
  }

  SystemClock clock_;
  std::unique_ptr<PostgresCluster> cluster_;
  load::PgbenchOptions foreground_;
  engine::Engine engine_{engine::EngineOptions{.seed = 1}};
  Driver driver_{engine_, clock_};
  std::unique_ptr<health::TargetMonitor> monitor_;
  std::atomic<int64_t> next_rows_[2] = {1000, 1000};  // of a chunk, plain and yielding
  std::atomic<bool> yields_{false};                   // those that are at work now
  std::string state_, metrics_;
  std::unique_ptr<Subprocess> agent_;
  absl::Time agent_began_;
  absl::Duration agent_began_with_;
  double agent_percent_ = 0;
  std::jthread teller_;  // goes first
};

}  // namespace headgate
