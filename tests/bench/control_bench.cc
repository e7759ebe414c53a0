// How well `rate: auto` protects a foreground, against a real PostgreSQL: the seven workloads of
// docs/control.md, under the law in force and under a hard gate on active sessions.
//
//   ./dev bench control [--seconds=20] [--only=w1]
//
// The engine, the monitor, the probe and the controller are the server's own, in this process. Each
// phase lies between two of the foreground alone, and is compared with their mean, since machines
// drift. The oracle is the best of several fixed average in-flights, found in the same run, that
// leaves the foreground 0.95. Ends with the line
//   control: worst_foreground_ratio=… median_foreground_ratio=… median_batch_share=… idle_share=…

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/system_clock.h"
#include "server/engine/engine.h"
#include "server/health/control_loop.h"
#include "server/health/monitor.h"
#include "server/postgres/postgres_probe.h"
#include "tests/load/batch_workers.h"
#include "tests/load/chunk_log.h"
#include "tests/load/pgbench.h"
#include "tests/testing/postgres_cluster.h"

namespace headgate {
namespace {

constexpr int kScale = 20;
constexpr int kGateSessions = 8;
constexpr double kLeft = 0.95;  // what the oracle leaves the foreground
constexpr double kFixedRates[] = {0.1, 0.2, 0.4};

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "control: %s\n", status.ToString().c_str());
  std::exit(1);
}
void Must(const absl::Status& status) {
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

std::string UpdateOther(int64_t first, int64_t last) {
  return absl::StrCat("UPDATE other SET filler = md5(random()::text) WHERE id BETWEEN ", first,
                      " AND ", last);
}
std::string Scan(int64_t first, int64_t last) {
  return absl::StrCat("SELECT max(md5(filler || aid)) FROM pgbench_accounts WHERE aid BETWEEN ",
                      first, " AND ", last);
}

std::vector<Workload> Workloads() {
  return {{.name = "w1"},
          {.name = "w2", .chunk_rows = 1'000},
          {.name = "w3", .builtin = "select-only", .statement = Scan},
          {.name = "w4", .statement = UpdateOther},
          {.name = "w5", .pace = 800},
          {.name = "w6", .builtin = ""},
          {.name = "w7", .period = absl::Seconds(10)}};
}

enum class Law { kAlone, kGreedy, kController, kHardGate, kFixed };

// The engine's side of a phase: who sets the rate of the one budget.
class Driver final : public health::WorkListener, public health::HealthSink {
 public:
  Driver(engine::Engine& engine, Clock& clock)
      : engine_(engine), clock_(clock), cores_(std::thread::hardware_concurrency()) {
    Set(Law::kAlone, 0);
  }

  void Set(Law law, double rate) {
    std::lock_guard lock(mutex_);
    law_ = law;
    rate_ = rate;
    loop_ = std::make_unique<health::ControlLoop>(
        health::ControlSpec{.target = "",
                            .budgets = {{"batch", ""}},
                            .options = {.cores = cores_, .max_rate = 2 * cores_, .seed = 1}},
        engine_);
    if (law != Law::kController) {
      (void)engine_.SetAutoRate("", "batch", {.rate = law == Law::kFixed ? rate : 1000},
                                clock_.Read());
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
        {.rate = law_ == Law::kFixed ? rate_ : 1000,
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
      demand_->Note();
      if (answer.verdict == engine::Verdict::kAllowed) return Granted(answer, rows);
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      const auto wait = std::min(answer.retry_after, absl::Seconds(1));
      never.wait_for(lock, stop, absl::ToChronoNanoseconds(wait), [] { return false; });
    }
    return absl::CancelledError();
  }

  void Watch(std::shared_ptr<health::Demand> demand) { demand_ = std::move(demand); }

 private:
  load::Turn Granted(const engine::CheckAnswer& answer, int64_t rows) {
    load::Turn turn;
    turn.done = [this, permit = answer.permit](absl::Duration took) {
      (void)engine_.Report(permit, absl::ToDoubleSeconds(took), clock_.Read());
    };
    if (answer.chunk_scale > 0) {
      const double scaled = static_cast<double>(rows) * answer.chunk_scale;
      turn.next_rows = std::clamp<int64_t>(static_cast<int64_t>(scaled), 100, 10'000);
    }
    return turn;
  }

  engine::Engine& engine_;
  Clock& clock_;
  const double cores_;
  std::shared_ptr<health::Demand> demand_;
  std::mutex mutex_;
  Law law_ = Law::kAlone;
  double rate_ = 0;
  std::unique_ptr<health::ControlLoop> loop_;
};

struct Result {
  double per_second = 0;  // foreground
  double p99_ms = 0;
  load::BatchStats batch;
};

class Bench {
 public:
  Bench() {
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

  Result Run(const Workload& workload, Law law, absl::Duration length, double rate = 0) {
    driver_.Set(law, rate);
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
    driver_.Watch(monitor_->demand());
    monitor_->Start();
  }

  std::unique_ptr<load::BatchWorkers> StartBatch(const Workload& workload, Law law,
                                                 load::ChunkLog& log) {
    load::BatchOptions options;
    options.dsn = cluster_->primary().SocketDsn("batch");
    // Below one busy second a second one worker is enough, and cannot rush.
    if (law == Law::kFixed) options.workers = 1;
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

double Ratio(double a, double b) { return b > 0 ? a / b : 1; }

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Summary {
  std::vector<double> ratios, shares;
  double idle_share = 0;
};

class Table {
 public:
  Table(Bench& bench, absl::Duration length) : bench_(bench), length_(length) {}

  void Measure(const Workload& workload) {
    const bool idle = workload.builtin.empty();
    Result alone = idle ? Result{} : bench_.Run(workload, Law::kAlone, length_ / 2);
    const auto row = [&](const char* law, Law which, absl::Duration length, double rate) {
      const Result result = bench_.Run(workload, which, length, rate);
      const absl::Duration pause = std::min(length, length_ / 2) / 2;
      const Result after = idle ? Result{} : bench_.Run(workload, Law::kAlone, pause);
      const double tps = (alone.per_second + after.per_second) / 2;
      const double p99 = (alone.p99_ms + after.p99_ms) / 2;
      alone = after;
      const double ratio = Ratio(result.per_second, tps);
      std::printf("%-3s %-14s %8.0f %6.3f %7.1f %6.2f %9.0f %8.3f %7.1f\n", workload.name.c_str(),
                  law, result.per_second, ratio, result.p99_ms, Ratio(result.p99_ms, p99),
                  result.batch.rows_per_second, result.batch.in_flight,
                  absl::ToDoubleMilliseconds(result.batch.mean_chunk));
      std::fflush(stdout);
      return std::pair(ratio, result.batch.rows_per_second);
    };
    const auto [held, rows] = row("law in force", Law::kController, length_, 0);
    (void)row("hard gate", Law::kHardGate, length_, 0);
    double oracle = 0;
    if (!idle) {
      for (const double rate : kFixedRates) {
        const auto [ratio, fixed] =
            row(absl::StrFormat("fixed %.2f", rate).c_str(), Law::kFixed, length_ / 2, rate);
        if (ratio >= kLeft) oracle = std::max(oracle, fixed);
      }
    }
    const double greedy = row("greedy", Law::kGreedy, length_ / 2, 0).second;
    if (idle) {
      summary_.idle_share = Ratio(rows, greedy);
      return;
    }
    summary_.ratios.push_back(held);
    // Where no fixed rate spares the foreground, there is nothing to have a share of.
    if (oracle > 0) summary_.shares.push_back(rows / oracle);
  }

  const Summary& summary() const { return summary_; }

 private:
  Bench& bench_;
  const absl::Duration length_;
  Summary summary_;
};

int Main(int argc, char** argv) {
  double seconds = 20;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (absl::ConsumePrefix(&argument, "--seconds=") && absl::SimpleAtod(argument, &seconds) &&
        seconds >= 2) {
      continue;
    }
    if (absl::ConsumePrefix(&argument, "--only=")) {
      only = std::string(argument);
      continue;
    }
    std::fprintf(stderr, "usage: %s [--seconds=20] [--only=w1]\n", argv[0]);
    return 2;
  }
  Bench bench;
  Table table(bench, absl::Seconds(seconds));
  std::printf("%-3s %-14s %8s %6s %7s %6s %9s %8s %7s\n", "", "law", "TPS", "ratio", "p99 ms",
              "ratio", "rows/s", "busy s/s", "chunk");
  for (const Workload& workload : Workloads()) {
    if (only.empty() || only == workload.name) table.Measure(workload);
  }
  const Summary& summary = table.summary();
  const double worst =
      summary.ratios.empty() ? 0 : *std::min_element(summary.ratios.begin(), summary.ratios.end());
  std::printf(
      "control: worst_foreground_ratio=%.3f median_foreground_ratio=%.3f "
      "median_batch_share=%.2f idle_share=%.2f\n",
      worst, Median(summary.ratios), Median(summary.shares), summary.idle_share);
  return 0;
}

}  // namespace
}  // namespace headgate

int main(int argc, char** argv) { return headgate::Main(argc, argv); }
