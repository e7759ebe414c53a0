// The stage of the control bench: a PostgreSQL of its own, a foreground, a batch, and the engine,
// monitor, probe and controller of the server itself, in this process.
//
// Ends the process where anything fails. Thread-compatible.

#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/system_clock.h"
#include "server/engine/engine.h"
#include "server/health/control_loop.h"
#include "server/health/monitor.h"
#include "server/postgres/postgres_probe.h"
#include "tests/demo/results.h"
#include "tests/load/batch_workers.h"
#include "tests/load/chunk_log.h"
#include "tests/load/pgbench.h"
#include "tests/testing/postgres_cluster.h"

namespace headgate {

inline constexpr int kScale = 20;
inline constexpr int kGateSessions = 8;
inline constexpr absl::Duration kFixedSlice = absl::Seconds(1);
// Busy seconds a second; twice as many again while the foreground bears it, up to the cores.
inline constexpr double kFirstFixedRates[] = {0.1, 0.2, 0.4};

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
  absl::Duration period = absl::InfiniteDuration();  // the foreground is there every other one
  int64_t chunk_rows = 10'000;
  load::Statement statement = load::AccountsBackfill;
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
  return {{.name = "w1"},
          {.name = "w2", .chunk_rows = 1'000},
          {.name = "w3", .builtin = "select-only", .statement = Scan},
          {.name = "w4", .statement = UpdateOther},
          {.name = "w5", .pace = 800},
          {.name = "w6", .builtin = ""},
          {.name = "w7", .period = absl::Seconds(10)}};
}

enum class Law { kAlone, kGreedy, kController, kHardGate };

// The engine's side of a phase: who sets the rate of the one budget.
class Driver final : public health::WorkListener, public health::HealthSink {
 public:
  Driver(engine::Engine& engine, Clock& clock)
      : engine_(engine), clock_(clock), cores_(std::thread::hardware_concurrency()) {
    Set(Law::kAlone);
  }

  void Set(Law law) {
    std::lock_guard lock(mutex_);
    law_ = law;
    loop_ = std::make_unique<health::ControlLoop>(
        health::ControlSpec{.target = "",
                            .budgets = {{"batch", ""}},
                            .options = {.cores = cores_, .max_rate = 2 * cores_, .seed = 1}},
        engine_);
    if (law != Law::kController) {
      (void)engine_.SetAutoRate("", "batch", {.rate = 1000}, clock_.Read());
    }
  }

  absl::Duration OnWork(const absl::StatusOr<health::WorkCounters>& sample, Now now) override {
    std::lock_guard lock(mutex_);
    if (law_ == Law::kController) return loop_->OnWork(sample, now);
    const absl::Duration next = absl::Milliseconds(500);
    const bool shut = law_ == Law::kHardGate && sample.ok() &&
                      sample->foreground_active + sample->batch_active >= kGateSessions;
    (void)engine_.SetAutoRate(
        "", "batch",
        {.rate = 1000,
         .shut = shut,
         .next_change_at_ns = now.monotonic_ns + absl::ToInt64Nanoseconds(next)},
        now);
    return next;
  }
  void OnHealth(std::string_view, std::string_view, const engine::Health&, Now) override {}

  absl::StatusOr<load::Turn> Ask(int worker, int64_t rows, const std::stop_token& stop) {
    const std::string identity = absl::StrCat("worker-", worker, ":batch");
    while (!stop.stop_requested()) {
      engine::CheckAnswer answer;
      const absl::Status asked =
          engine_.Check({.identity = identity, .estimated_cost = rows, .pattern = "chunk"},
                        clock_.Read(), answer);
      if (!asked.ok()) return asked;
      activity_->Note();
      if (answer.verdict == engine::Verdict::kAllowed) return Granted(answer, rows);
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      const auto wait = std::min(answer.retry_after, absl::Seconds(1));
      never.wait_for(lock, stop, absl::ToChronoNanoseconds(wait), [] { return false; });
    }
    return absl::CancelledError();
  }

  void Watch(std::shared_ptr<health::CheckActivity> activity) { activity_ = std::move(activity); }
  // That was last advised; 0: none was.
  double cores() const { return cores_; }
  int64_t advised_rows() const { return advised_rows_.load(std::memory_order_relaxed); }

 private:
  load::Turn Granted(const engine::CheckAnswer& answer, int64_t rows) {
    load::Turn turn;
    turn.done = [this, permit = answer.permit](absl::Duration took) {
      (void)engine_.Report(permit, {.busy_time = took}, clock_.Read());
    };
    if (answer.chunk_scale > 0) {
      const double scaled = static_cast<double>(rows) * answer.chunk_scale;
      turn.next_rows = std::clamp<int64_t>(static_cast<int64_t>(scaled), 100, 10'000);
      advised_rows_.store(turn.next_rows, std::memory_order_relaxed);
    }
    return turn;
  }

  engine::Engine& engine_;
  Clock& clock_;
  const double cores_;
  std::shared_ptr<health::CheckActivity> activity_;
  std::atomic<int64_t> advised_rows_{0};
  std::mutex mutex_;
  Law law_ = Law::kAlone;
  std::unique_ptr<health::ControlLoop> loop_;
};

struct Result {
  double per_second = 0;  // foreground
  double p99_ms = 0;
  load::BatchStats batch;
};

class ControlStage {
 public:
  ControlStage() {
    cluster_ = Must(
        PostgresCluster::Start({.settings = {{"shared_buffers", "1GB"},
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
        "ALTER TABLE other ADD PRIMARY KEY (id); ANALYZE; CHECKPOINT"));
    Must(engine_.Install(Policy(), clock_.Read()));
    Watch();
  }

  Result Run(const Workload& workload, Law law, absl::Duration length) {
    driver_.Set(law);
    load::ChunkLog log;
    std::unique_ptr<load::BatchWorkers> batch;
    if (law != Law::kAlone) batch = StartBatch(workload, law, log);
    const absl::Time from = absl::Now() + absl::Milliseconds(300);
    Result result = RunForeground(workload, from, length);
    const absl::Time to = absl::Now();
    if (batch != nullptr) {
      Must(batch->Stop());
      result.batch = log.Over({.from = from, .to = to});
    }
    return result;
  }

  // Fixed rates in turn, `length` each in all, with chunks as they were advised before.
  demo::Results TryFixedRates(const Workload& workload, double rows_in_busy_second,
                              absl::Duration length) {
    driver_.Set(Law::kGreedy);
    load::PgbenchOptions options = foreground_;
    options.builtin = workload.builtin;
    options.rate_per_second = workload.pace;
    const auto pgbench = Must(load::Pgbench::Start(options));
    demo::Record record;
    load::Pace pace(0);
    const auto batch = Must(load::BatchWorkers::Start(FixedBatch(workload, pace), &record.chunks));
    const auto hold = [&](demo::Phase phase, double rows) {
      pace.Set(rows);
      demo::Slice slice = {
          .phase = phase, .window = {.from = absl::Now(), .to = {}}, .fixed_rate = rows};
      absl::SleepFor(kFixedSlice);
      slice.window.to = absl::Now();
      record.slices.push_back(slice);
    };
    const auto try_rates = [&](absl::Span<const double> rates) {
      for (absl::Duration done; done < length; done += kFixedSlice) {
        for (const double rate : rates) {
          hold(demo::Phase::kAlone, 0);
          hold(demo::Phase::kFixed, rate * rows_in_busy_second);
        }
      }
      hold(demo::Phase::kAlone, 0);
      Must(pgbench->Poll());
      record.transactions = pgbench->transactions();
      return demo::Evaluate(record);
    };
    hold(demo::Phase::kPause, 0);
    demo::Results results = try_rates(kFirstFixedRates);
    for (double rate = 0.8; results.best_fixed_is_higher && rate <= driver_.cores(); rate *= 2) {
      results = try_rates({rate});
    }
    Must(batch->Stop());
    Must(pgbench->Stop());
    return results;
  }

 private:
  static engine::PolicySpec Policy() {
    engine::PolicySpec policy;
    engine::BudgetSpec& budget = policy.budgets.emplace_back();
    budget.name = "batch";
    budget.rate = engine::AutoRate{};
    budget.burst = 0.1;
    budget.default_cost = 0.1;
    budget.max_concurrency = 10'000;
    engine::RuleSpec& rule = policy.rules.emplace_back();
    rule.name = "batch";
    rule.action = engine::ChargeAction{{"batch"}};
    return policy;
  }

  void Watch() {
    health::MonitorSpec spec;
    spec.polling.timeout = absl::Seconds(2);
    health::MonitorProbes probes;
    probes.primary = std::make_unique<postgres::PostgresProbe>(
        postgres::PostgresProbeOptions{.dsn = [dsn = cluster_->primary().SocketDsn("headgate")]()
                                           -> absl::StatusOr<std::string> { return dsn; },
                                       .timeout = spec.polling.timeout,
                                       .batch_work = {.roles = {"batch"}, .application_names = {}}},
        clock_);
    monitor_ = std::make_unique<health::TargetMonitor>(
        spec, std::move(probes),
        health::MonitorOptions{.clock = &clock_, .sink = &driver_, .work = &driver_, .seed = 1});
    driver_.Watch(monitor_->activity());
    monitor_->Start();
  }

  std::unique_ptr<load::BatchWorkers> StartBatch(const Workload& workload, Law law,
                                                 load::ChunkLog& log) {
    load::BatchOptions options;
    options.dsn = cluster_->primary().SocketDsn("batch");
    options.table_rows = kScale * load::kAccountsPerScale;
    options.chunk_rows = workload.chunk_rows;
    options.statement = workload.statement;
    if (law != Law::kGreedy) {
      options.ask = [this](int worker, int64_t rows, const std::stop_token& stop) {
        return driver_.Ask(worker, rows, stop);
      };
    }
    return Must(load::BatchWorkers::Start(options, &log));
  }

  load::BatchOptions FixedBatch(const Workload& workload, load::Pace& pace) const {
    load::BatchOptions options;
    options.dsn = cluster_->primary().SocketDsn("batch");
    options.table_rows = kScale * load::kAccountsPerScale;
    options.chunk_rows = workload.chunk_rows;
    if (driver_.advised_rows() > 0) options.chunk_rows = driver_.advised_rows();
    options.statement = workload.statement;
    options.ask = pace.Asker();
    return options;
  }

  // The foreground's throughput is of the time when there is one.
  Result RunForeground(const Workload& workload, absl::Time from, absl::Duration length) {
    Result result;
    const absl::Time end = from + length;
    double seconds = 0, count = 0;
    for (absl::Time at = from; at < end;) {
      const absl::Duration piece = std::min(workload.period, end - at);
      if (!workload.builtin.empty()) {
        load::PgbenchOptions options = foreground_;
        options.builtin = workload.builtin;
        options.rate_per_second = workload.pace;
        options.duration = piece;
        auto pgbench = Must(load::Pgbench::Start(options));
        Must(pgbench->WaitForEnd());
        const load::ForegroundStats stats = pgbench->transactions().Over(
            {{.from = at + absl::Milliseconds(500), .to = at + piece}});
        count += static_cast<double>(stats.count);
        seconds += absl::ToDoubleSeconds(piece - absl::Milliseconds(500));
        result.p99_ms = std::max(result.p99_ms, absl::ToDoubleMilliseconds(stats.p99));
        at = absl::Now();
      }
      const bool pause = workload.builtin.empty() || workload.period != absl::InfiniteDuration();
      if (pause && at < end) absl::SleepFor(std::min(workload.period, end - at));
      if (pause) at = absl::Now();
    }
    if (seconds > 0) result.per_second = count / seconds;
    return result;
  }

  SystemClock clock_;
  std::unique_ptr<PostgresCluster> cluster_;
  load::PgbenchOptions foreground_;
  engine::Engine engine_{engine::EngineOptions{.seed = 1}};
  Driver driver_{engine_, clock_};
  std::unique_ptr<health::TargetMonitor> monitor_;
};

}  // namespace headgate
