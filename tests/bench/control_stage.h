// The stage of the control bench: a PostgreSQL of its own, a foreground, a batch, and the engine,
// monitor, probe and controller of the server itself, in this process.
//
// Ends the process where anything fails. Thread-compatible.

#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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

namespace headgate {

inline constexpr int kScale = 20;
inline constexpr int kWalSegments = 256;
// Machines differ from themselves as much over a second as over ten: many short turns say more than
// a few long ones.
inline constexpr absl::Duration kTurn = absl::Milliseconds(2500);
inline constexpr absl::Duration kFixedSlice = absl::Milliseconds(1200);
inline constexpr absl::Duration kAloneSlice = absl::Milliseconds(1200);
// After each break the controller begins with a pause, which must not count twice.
inline constexpr absl::Duration kLeadIn = absl::Milliseconds(600);
inline constexpr absl::Duration kIdleLeadIn = absl::Milliseconds(1500);
inline constexpr int kIdleTurns = 12;
// Even rates that are tried, as multiples of what the controller had found when they began. Harm
// grows less than in proportion, so those further away would make the oracle's look greater.
inline constexpr double kFixedRates[] = {1, 2};
inline constexpr int64_t kChunkSizes[] = {100, 400, 1'000, 2'000};  // rows

[[noreturn]] inline void Die(const absl::Status& status) {
  std::fprintf(stderr, "control: %s\n", status.ToString().c_str());
  std::exit(1);
}
inline void Must(const absl::Status& status) {
  if (!status.ok()) Die(status);
}
template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) Die(result.status());
  return *std::move(result);
}

struct Workload {
  std::string name;
  std::string builtin = "tpcb-like";  // empty: no foreground
  std::optional<double> pace = {};
  int clients = 8;
  absl::Duration period = absl::InfiniteDuration();  // the foreground is there every other one
  int64_t chunk_rows = 10'000;
  load::Statement statement = load::AccountsBackfill;
  // Rows a second at which lengths of chunks are compared, near what `rate: auto` finds; 0: they
  // are not.
  double chunks_rate = 0;
};

inline std::string UpdateOther(int64_t first, int64_t last) {
  return absl::StrCat("UPDATE other SET filler = md5(random()::text) WHERE id BETWEEN ", first,
                      " AND ", last);
}
inline std::string Scan(int64_t first, int64_t last) {
  return absl::StrCat("SELECT max(md5(filler || aid)) FROM pgbench_accounts WHERE aid BETWEEN ",
                      first, " AND ", last);
}

inline std::vector<Workload> Workloads() {
  return {
      {.name = "w1", .chunks_rate = 4'500},
      {.name = "w2", .chunk_rows = 1'000},
      {.name = "w3", .builtin = "select-only", .statement = Scan, .chunks_rate = 10'000},
      {.name = "w4", .statement = UpdateOther},
      {.name = "w5", .pace = 800},
      {.name = "reads", .builtin = "select-only", .statement = UpdateOther, .chunks_rate = 4'500},
      {.name = "open", .pace = 1000, .statement = UpdateOther, .chunks_rate = 4'500},
      {.name = "one", .clients = 1, .statement = UpdateOther},
      {.name = "w6", .builtin = ""},
      {.name = "w7", .period = absl::Seconds(10)}};
}

// Of one workload.
struct Outcome {
  demo::Results results;
  std::vector<FoundRate> found;
  absl::Time began;       // the foreground
  absl::Time settled_by;  // up to when the controller alone was tried
  std::string words;      // what the controller says in the end
};

// Batch work while there is no foreground.
struct IdleTurn {
  bool greedy = false;
  load::BatchStats batch;
};

class ControlStage {
 public:
  ControlStage() {
    cluster_ = Must(
        PostgresCluster::Start({.settings = {{"shared_buffers", "1GB"},
                                             {"min_wal_size", "6GB"},
                                             {"max_wal_size", "8GB"},
                                             {"shared_preload_libraries", "pg_stat_statements"}}}));
    foreground_ = {.bin = cluster_->bin(), .folder = cluster_->folder()};
    foreground_.dsn = cluster_->primary().SocketDsn("app");
    load::PgbenchOptions owner = foreground_;
    owner.dsn = cluster_->primary().SocketDsn();
    (void)Must(cluster_->primary().RunSql(
        "CREATE EXTENSION pg_stat_statements; CREATE ROLE app LOGIN SUPERUSER;"
        "CREATE ROLE batch LOGIN SUPERUSER; CREATE ROLE headgate LOGIN; "
        "GRANT pg_monitor TO headgate"));
    Must(load::RunToEnd(load::PgbenchInitialization(owner, kScale),
                        cluster_->folder() + "/initialization.log"));
    (void)Must(cluster_->primary().RunSql(
        "CREATE TABLE other AS SELECT aid AS id, filler FROM pgbench_accounts;"
        "ALTER TABLE other ADD PRIMARY KEY (id); ANALYZE"));
    Must(cluster_->primary().FillWal(kWalSegments));
    (void)Must(cluster_->primary().RunSql("CHECKPOINT"));
    Must(engine_.Install(AutoBatchPolicy(), clock_.Read()));
    monitor_ = WatchFor(driver_, clock_, cluster_->primary().SocketDsn("headgate"), {"batch"});
  }

  // The controller alone for `settle`, then by turns the controller and each fixed rate, with the
  // foreground alone in between.
  Outcome Alternate(const Workload& workload, absl::Duration settle, int rounds) {
    Stretch stretch(*this, workload);
    Outcome outcome;
    outcome.began = absl::Now();
    stretch.Hold(demo::Phase::kPause, settle, 0);
    outcome.settled_by = absl::Now();
    // As the controller works from there on.
    const load::BatchStats stats =
        stretch.chunks().Over({.from = absl::Now() - settle / 2, .to = absl::Now()});
    stretch.StartFixed(driver_.advised_rows() > 0 ? driver_.advised_rows() : workload.chunk_rows);
    for (int round = 0; round < rounds; ++round) {
      stretch.Hold(demo::Phase::kAlone, kAloneSlice, 0);
      stretch.Hold(demo::Phase::kPause, kLeadIn, 0);
      stretch.Hold(demo::Phase::kThrottled, kTurn, 0);
      for (const double rate : kFixedRates) {
        stretch.Hold(demo::Phase::kAlone, kAloneSlice, 0);
        stretch.Hold(demo::Phase::kFixed, kFixedSlice, rate * stats.rows_per_second);
      }
    }
    stretch.Hold(demo::Phase::kAlone, kAloneSlice, 0);
    outcome.results = stretch.Finish();
    outcome.found = driver_.found();
    outcome.words = driver_.words();
    return outcome;
  }

  // Even work in chunks of each size by turns, with the foreground alone in between. In the results
  // sizes stand for rates.
  demo::Results ChunkLengths(const Workload& workload, int rounds) {
    Stretch stretch(*this, workload);
    for (int round = 0; round < rounds; ++round) {
      for (const int64_t rows : kChunkSizes) {
        stretch.Hold(demo::Phase::kAlone, kAloneSlice, 0);
        stretch.StartFixed(rows);
        stretch.Hold(demo::Phase::kFixed, kFixedSlice, workload.chunks_rate,
                     static_cast<double>(rows));
        stretch.StopFixed();
      }
    }
    stretch.Hold(demo::Phase::kAlone, kAloneSlice, 0);
    return stretch.Finish();
  }

  // The foreground comes and goes under the controller, and then comes alone.
  Outcome ComeAndGo(const Workload& workload, int rounds) {
    Stretch stretch(*this, workload, /*with_foreground=*/false);
    Outcome outcome;
    demo::Record record;
    const auto come = [&](demo::Phase phase) {
      load::PgbenchOptions options = stretch.Foreground();
      options.duration = workload.period;
      auto pgbench = Must(load::Pgbench::Start(options));
      const absl::Time from = absl::Now();
      outcome.began = from;
      Must(pgbench->WaitForEnd());
      record.slices.push_back(
          {.phase = phase,
           .window = {.from = from + absl::Milliseconds(500), .to = from + workload.period}});
      pgbench->transactions().CopyTo(record.transactions);
    };
    for (int round = 0; round < rounds; ++round) {
      driver_.Let(false);
      come(demo::Phase::kAlone);
      driver_.Let(true);
      stretch.Hold(demo::Phase::kPause, workload.period, 0);
      come(demo::Phase::kThrottled);
      outcome.settled_by = absl::Now();
      outcome.found = driver_.found();
    }
    driver_.Let(false);
    come(demo::Phase::kAlone);
    (void)stretch.Finish();
    outcome.results = demo::Evaluate(record);
    return outcome;
  }

  // With no foreground: under the controller, and as fast as it goes, by turns.
  std::vector<IdleTurn> Idle(const Workload& workload) {
    std::vector<IdleTurn> turns;
    for (int turn = 0; turn < kIdleTurns; ++turn) {
      const bool greedy = turn % 4 == 1 || turn % 4 == 2;
      driver_.Forget();
      driver_.Let(true);
      load::ChunkLog log;
      const auto batch = StartBatch(workload, greedy, log);
      absl::SleepFor(kIdleLeadIn);
      const absl::Time from = absl::Now();
      absl::SleepFor(kTurn);
      turns.push_back({greedy, log.Over({.from = from, .to = absl::Now()})});
      Must(batch->Stop());
    }
    return turns;
  }

  // What sampling costs the server with the view of pg_stat_statements full, while batch work asks
  // beside the workload's foreground: seconds of a core a second.
  double SamplingCost(const Workload& workload, absl::Duration length) {
    // Each pair of tables is a statement of its own.
    (void)Must(cluster_->primary().RunSql(
        "SET pg_stat_statements.track = 'all'; DO $$BEGIN "
        "FOR i IN 1..71 LOOP EXECUTE format('CREATE TABLE few_%s ()', i); END LOOP; "
        "FOR i IN 1..71 LOOP FOR j IN 1..71 LOOP "
        "EXECUTE format('SELECT FROM few_%s AS a, few_%s AS b', i, j); END LOOP; END LOOP; END$$"));
    Stretch stretch(*this, workload);
    stretch.Hold(demo::Phase::kPause, absl::Seconds(5), 0);
    const SqlRows rows = Must(cluster_->primary().RunSql(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'headgate'"));
    const int pid = std::atoi(rows[0][0].c_str());
    const absl::Duration before = CpuTimeOf(pid);
    stretch.Hold(demo::Phase::kPause, length, 0);
    const absl::Duration after = CpuTimeOf(pid);
    (void)stretch.Finish();
    return absl::ToDoubleSeconds(after - before) / absl::ToDoubleSeconds(length);
  }

  // What the controller held to be right since it knew nothing.
  std::vector<FoundRate> found() { return driver_.found(); }

  // What happens at several even rates by turns with pauses, written down.
  void Record(const Workload& workload, absl::Duration length, std::FILE* file) {
    Stretch stretch(*this, workload);
    stretch.Hold(demo::Phase::kPause, absl::Seconds(5), 0);
    driver_.Record(std::make_unique<ControlRecorder>(file));
    stretch.Hold(demo::Phase::kPause, length, 0);
    driver_.Record(nullptr);
    (void)stretch.Finish();
  }

  // A foreground with batch work beside it that asks, or is paced, or waits.
  class Stretch {
   public:
    Stretch(ControlStage& stage, const Workload& workload, bool with_foreground = true)
        : stage_(stage), workload_(workload) {
      stage.driver_.Forget();
      stage.driver_.Let(true);
      batch_ = stage.StartBatch(workload, /*greedy=*/false, record_.chunks);
      absl::SleepFor(absl::Seconds(2));  // with no foreground, as the controller has it easiest
      if (with_foreground) pgbench_ = Must(load::Pgbench::Start(Foreground()));
    }

    load::PgbenchOptions Foreground() const {
      load::PgbenchOptions options = stage_.foreground_;
      options.builtin = workload_.builtin;
      options.rate_per_second = workload_.pace;
      options.clients = workload_.clients;
      return options;
    }
    void StartFixed(int64_t chunk_rows) {
      load::BatchOptions options = stage_.Batch(workload_);
      options.chunk_rows = chunk_rows;
      options.ask = pace_.Asker();
      fixed_ = Must(load::BatchWorkers::Start(options, &record_.chunks));
    }

    void StopFixed() {
      Must(fixed_->Stop());
      fixed_ = nullptr;
    }

    void Hold(demo::Phase phase, absl::Duration length, double rows) {
      Hold(phase, length, rows, rows);
    }
    // `name`: what the slice is held under.
    void Hold(demo::Phase phase, absl::Duration length, double rows, double name) {
      stage_.driver_.Let(phase == demo::Phase::kThrottled || phase == demo::Phase::kPause);
      pace_.Set(rows);
      absl::SleepFor(absl::Milliseconds(100));  // chunks that are under way end
      demo::Slice slice{
          .phase = phase, .window = {.from = absl::Now(), .to = {}}, .fixed_rate = name};
      absl::SleepFor(length);
      slice.window.to = absl::Now();
      record_.slices.push_back(slice);
    }

    demo::Results Finish() {
      Must(batch_->Stop());
      if (fixed_ != nullptr) Must(fixed_->Stop());
      if (pgbench_ == nullptr) return {};
      absl::SleepFor(absl::Milliseconds(500));
      Must(pgbench_->Poll());
      pgbench_->transactions().CopyTo(record_.transactions);
      Must(pgbench_->Stop());
      return demo::Evaluate(record_);
    }
    const load::ChunkLog& chunks() const { return record_.chunks; }

   private:
    ControlStage& stage_;
    const Workload& workload_;
    load::Pace pace_{0};
    demo::Record record_;
    std::unique_ptr<load::Pgbench> pgbench_;
    std::unique_ptr<load::BatchWorkers> batch_, fixed_;
  };

 private:
  load::BatchOptions Batch(const Workload& workload) const {
    load::BatchOptions options;
    options.dsn = cluster_->primary().SocketDsn("batch");
    options.table_rows = kScale * load::kAccountsPerScale;
    options.chunk_rows = workload.chunk_rows;
    options.statement = workload.statement;
    return options;
  }
  std::unique_ptr<load::BatchWorkers> StartBatch(const Workload& workload, bool greedy,
                                                 load::ChunkLog& log) {
    load::BatchOptions options = Batch(workload);
    if (!greedy) {
      options.ask = [this](int worker, int64_t rows, const std::stop_token& stop) {
        return driver_.Ask(worker, rows, stop);
      };
    }
    return Must(load::BatchWorkers::Start(options, &log));
  }

  SystemClock clock_;
  std::unique_ptr<PostgresCluster> cluster_;
  load::PgbenchOptions foreground_;
  engine::Engine engine_{engine::EngineOptions{.seed = 1}};
  Driver driver_{engine_, clock_};
  std::unique_ptr<health::TargetMonitor> monitor_;
};

}  // namespace headgate
