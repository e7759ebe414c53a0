// What yielding gains: `rate: auto` with sessions that yield the processor against the same law
// with such as do not, on a real PostgreSQL with a real `headgate agent` beside it.
//
//   ./dev bench yield [--rounds=6] [--settle=40] [--runs=3] [--only=closed,ramp,locks]
//
// Takes a machine where yielding works, which the agent proves: else it says why not, and fails.
// The engine, the monitor, the probe and the controller are the server's own, in this process; what
// the agent writes into its metrics each second is told to the controller. In each workload jobs of
// both kinds and the foreground alone take turns of a second or two, so that a machine that drifts
// does so under all of them, and each turn is compared with the foreground alone just before and
// after it. Rows are compared in pairs of turns. `locks` has a session that wants to run wait for a
// row of one that yields, and of one that does not, beside 32 clients. Ends with
//   yield: rows_ratio_median=… rows_ratio_worst=… foreground_median=… foreground_worst=…
//   p99_median=… p99_worst=… raised_ms=… restored=… agent_percent=… settle_s=…
// in one line: medians and worst of the workloads; raised_ms is how much longer the wait is for a
// session that yields, in the median; restored is 1 where all processes of PostgreSQL were as
// before when the agent had ended; settle_s is after how long the number of sessions stayed within
// 30 % of what it was in the end, in the median.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/bench/yield_stage.h"
#include "tests/testing/median.h"

namespace headgate {
namespace {

constexpr absl::Duration kTurn = absl::Milliseconds(2500);
constexpr absl::Duration kAlone = absl::Milliseconds(1200);
// In which the agent finds the sessions, and the controller's first pause is over.
constexpr absl::Duration kLead = absl::Milliseconds(900);
constexpr int kTries = 15;

// Busy for a second, and almost idle for the next one.
constexpr char kPeriodic[] =
    "\\set aid random(1, 2000000)\n"
    "SELECT pg_sleep(CASE WHEN extract(epoch FROM clock_timestamp())::bigint % 2 = 0 THEN 0.02 "
    "ELSE 0 "
    "END);\n"
    "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;\n";

std::string UpdateOtherTable(int64_t first, int64_t last) {
  return absl::StrCat("UPDATE other SET filler = md5(random()::text) WHERE id BETWEEN ", first,
                      " AND ", last);
}
std::string ScanAccounts(int64_t first, int64_t last) {
  return absl::StrCat("SELECT max(md5(filler || aid)) FROM pgbench_accounts WHERE aid BETWEEN ",
                      first, " AND ", last);
}
std::string Load(int64_t first, int64_t last) {
  return absl::StrCat("INSERT INTO loaded SELECT g, repeat('y', 100) FROM generate_series(", first,
                      ", ", last, ") g");
}

std::vector<YieldWorkload> YieldWorkloads() {
  return {{.name = "closed", .statement = UpdateOtherTable},
          {.name = "rows"},
          {.name = "open", .pace = 1000, .statement = UpdateOtherTable},
          {.name = "reads", .builtin = "select-only", .statement = UpdateOtherTable},
          {.name = "scans", .builtin = "select-only", .statement = ScanAccounts},
          {.name = "one", .clients = 1, .statement = UpdateOtherTable},
          {.name = "periodic", .script = std::string(kPeriodic), .statement = UpdateOtherTable},
          {.name = "ramp", .clients = 2, .more_clients = 22, .statement = UpdateOtherTable},
          {.name = "load", .statement = Load},
          {.name = "analytics", .analysts = true, .statement = UpdateOtherTable}};
}

// A part of the foreground that is there for a while, or comes and goes.
class MoreClients {
 public:
  MoreClients(YieldStage& stage, const YieldWorkload& workload, int clients)
      : options_(stage.Foreground(workload)) {
    options_.clients = clients;
    options_.seed = 2;
    options_.folder += "/more";
    std::filesystem::create_directories(options_.folder);
    std::filesystem::permissions(options_.folder, std::filesystem::perms::all);
  }
  void Come() { pgbench_ = Require(load::Pgbench::Start(options_)); }
  void Go(load::Transactions& transactions) {
    if (pgbench_ == nullptr) return;
    Require(pgbench_->Stop());
    pgbench_->transactions().CopyTo(transactions);
    pgbench_ = nullptr;
  }

 private:
  load::PgbenchOptions options_;
  std::unique_ptr<load::Pgbench> pgbench_;
};

struct YieldRow {
  double rows_ratio = 0, foreground = 0, p99 = 0, settle = 0;
};

class YieldRun {
 public:
  YieldRun(YieldStage& stage, const YieldWorkload& workload, int rounds, absl::Duration settle)
      : stage_(stage), workload_(workload), rounds_(rounds), settle_(settle) {}

  YieldRow Measure() {
    stage_.driver().Forget();
    stage_.driver().Let(true);
    pgbench_ = Require(load::Pgbench::Start(stage_.Foreground(workload_)));
    if (workload_.analysts) StartAnalysts();
    Settle(false);
    const double settle = Settle(true);
    MoreClients more(stage_, workload_,
                     workload_.more_clients > 0 ? workload_.more_clients : workload_.clients / 2);
    for (int part = 0; part < (workload_.more_clients > 0 ? 3 : 1); ++part) {
      if (part == 1) more.Come();
      Turns();
      if (part == 1) more.Go(record_.transactions);
    }
    analysts_ = {};
    absl::SleepFor(absl::Milliseconds(500));
    Require(pgbench_->Poll());
    pgbench_->transactions().CopyTo(record_.transactions);
    Require(pgbench_->Stop());
    return Conclude(settle);
  }

 private:
  // The law alone for a while; after how long what it found stayed the same.
  double Settle(bool yields) {
    const absl::Time from = absl::Now();
    stage_.driver().Let(true);
    const auto job = stage_.StartJob(workload_, yields, record_.chunks);
    absl::SleepFor(settle_);
    Require(job->Stop());
    std::vector<double> late;
    const absl::Time until = absl::Now();
    for (const FoundRate& found : stage_.driver().found()) {
      if (found.at > until - absl::Seconds(5)) late.push_back(found.rate);
    }
    const double final = Median(late);
    absl::Time settled = from;
    for (const FoundRate& found : stage_.driver().found()) {
      const bool counts = found.at > from && found.at < until;
      if (counts && std::abs(found.rate - final) > 0.3 * final) settled = found.at;
    }
    return absl::ToDoubleSeconds(settled - from);
  }

  void Turns() {
    for (int round = 0; round < rounds_; ++round) {
      for (const bool yields : {round % 2 == 0, round % 2 != 0}) {
        Hold(demo::Phase::kAlone, kAlone);
        stage_.driver().Let(true);
        const auto job = stage_.StartJob(workload_, yields, record_.chunks);
        absl::SleepFor(kLead);
        Hold(yields ? demo::Phase::kThrottled : demo::Phase::kFixed, kTurn);
        stage_.driver().Let(false);
        Require(job->Stop());
      }
    }
    Hold(demo::Phase::kAlone, kAlone);
  }

  void Hold(demo::Phase phase, absl::Duration length) {
    if (phase == demo::Phase::kAlone) absl::SleepFor(absl::Milliseconds(150));
    demo::Slice slice{.phase = phase, .window = {.from = absl::Now(), .to = {}}, .fixed_rate = 1};
    absl::SleepFor(length);
    slice.window.to = absl::Now();
    record_.slices.push_back(slice);
  }

  void StartAnalysts() {
    analysts_ = std::jthread([this](const std::stop_token& stop) {
      auto session = Require(SqlSession::Open(stage_.server().SocketDsn("app")));
      while (!stop.stop_requested()) {
        (void)Require(session.Run("SELECT sum(abalance) FROM pgbench_accounts WHERE aid % 7 <> 0"));
        absl::SleepFor(absl::Milliseconds(500));
      }
    });
  }

  // Rows of each turn with yielding by those of the turn without next to it.
  double RowsRatio() const {
    std::vector<double> yielding, plain, ratios;
    for (const demo::Slice& slice : record_.slices) {
      if (slice.phase == demo::Phase::kAlone) continue;
      const double rows = record_.chunks.Over(slice.window).rows_per_second;
      (slice.phase == demo::Phase::kThrottled ? yielding : plain).push_back(rows);
    }
    for (size_t i = 0; i < std::min(yielding.size(), plain.size()); ++i) {
      if (plain[i] > 0) ratios.push_back(yielding[i] / plain[i]);
    }
    return Median(ratios);
  }

  YieldRow Conclude(double settle) {
    const demo::Results results = demo::Evaluate(record_);
    const auto print = [this](const char* law, const demo::PhaseResult& row) {
      std::printf("%-9s %-9s %8.0f %6.3f %5.3f %6.2f %6.2f %6.2f %5.2f %9.0f %8.3f %7.1f\n",
                  workload_.name.c_str(), law, row.foreground.per_second, row.tps_ratio,
                  row.tps_error, row.mean_ratio, row.deviation_ratio, row.p99_ratio, row.p99_error,
                  row.batch.rows_per_second, row.batch.in_flight,
                  absl::ToDoubleMilliseconds(row.batch.mean_chunk));
    };
    print("alone", results.itself);
    if (!results.fixed.empty()) print("rate", results.fixed.front());
    print("yielding", results.throttled);
    std::printf("%-9s settled after %.1f s; %s\n", workload_.name.c_str(), settle,
                stage_.driver().words().c_str());
    std::fflush(stdout);
    return {.rows_ratio = RowsRatio(),
            .foreground = results.throttled.tps_ratio,
            .p99 = results.throttled.p99_ratio,
            .settle = settle};
  }

  YieldStage& stage_;
  const YieldWorkload& workload_;
  const int rounds_;
  const absl::Duration settle_;
  demo::Record record_;
  std::unique_ptr<load::Pgbench> pgbench_;
  std::jthread analysts_;
};

// How long a session of the foreground waits for a row of a batch session, in ms.
double WaitFor(YieldStage& stage, bool yields) {
  auto holder = Require(SqlSession::Open(stage.DsnOf(yields)));
  auto waiter = Require(SqlSession::Open(stage.server().SocketDsn("app")));
  std::vector<double> waits;
  absl::SleepFor(absl::Seconds(1));  // the agent finds it
  for (int i = 0; i < kTries; ++i) {
    Require(holder.Start("UPDATE other SET filler = filler WHERE id = 1; " +
                         UpdateOtherTable(2, 20'000)));
    absl::SleepFor(absl::Milliseconds(20));
    const absl::Time from = absl::Now();
    (void)Require(waiter.Run("UPDATE other SET filler = filler WHERE id = 1"));
    waits.push_back(absl::ToDoubleMilliseconds(absl::Now() - from));
    (void)Require(holder.Finish());
  }
  return Median(waits);
}

double MeasureLocks(YieldStage& stage) {
  const YieldWorkload workload{.name = "locks", .clients = 32};
  stage.driver().Let(false);
  auto pgbench = Require(load::Pgbench::Start(stage.Foreground(workload)));
  absl::SleepFor(absl::Seconds(2));
  const double plain = WaitFor(stage, false), yielding = WaitFor(stage, true);
  Require(pgbench->Stop());
  std::printf("a wait for a row: %.0f ms where its holder does not yield, %.0f ms where it does\n",
              plain, yielding);
  return yielding - plain;
}

struct YieldFlags {
  int rounds = 6, runs = 1, settle_s = 40;
  std::vector<std::string> only = {};

  bool Wants(const std::string& name) const {
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  }
};

bool ParseFlag(absl::string_view argument, YieldFlags& flags) {
  if (absl::ConsumePrefix(&argument, "--rounds=")) {
    return absl::SimpleAtoi(argument, &flags.rounds) && flags.rounds >= 1;
  }
  if (absl::ConsumePrefix(&argument, "--runs=")) {
    return absl::SimpleAtoi(argument, &flags.runs) && flags.runs >= 1;
  }
  if (absl::ConsumePrefix(&argument, "--settle=")) {
    return absl::SimpleAtoi(argument, &flags.settle_s) && flags.settle_s >= 1;
  }
  if (!absl::ConsumePrefix(&argument, "--only=")) return false;
  flags.only = absl::StrSplit(argument, ',', absl::SkipEmpty());
  return true;
}

// On a database of its own.
void RunOnce(const YieldFlags& flags) {
  YieldStage stage;
  std::printf("%-9s %-9s %8s %6s %5s %6s %6s %6s %5s %9s %8s %7s\n", "", "", "TPS", "ratio", "+-",
              "mean", "dev", "p99", "+-", "rows/s", "busy s/s", "chunk");
  std::vector<double> rows, foreground, p99, settle;
  for (const YieldWorkload& workload : YieldWorkloads()) {
    if (!flags.Wants(workload.name)) continue;
    const YieldRow row =
        YieldRun(stage, workload, flags.rounds, absl::Seconds(flags.settle_s)).Measure();
    rows.push_back(row.rows_ratio);
    foreground.push_back(row.foreground);
    p99.push_back(row.p99);
    settle.push_back(row.settle);
  }
  const double raised_ms = flags.Wants("locks") ? MeasureLocks(stage) : 0;
  const bool restored = stage.EndAgent();
  if (rows.empty()) rows = foreground = p99 = settle = {0};
  const auto least = [](const std::vector<double>& of) { return *std::ranges::min_element(of); };
  const auto most = [](const std::vector<double>& of) { return *std::ranges::max_element(of); };
  std::printf(
      "yield: rows_ratio_median=%.1f rows_ratio_worst=%.1f foreground_median=%.3f "
      "foreground_worst=%.3f p99_median=%.2f p99_worst=%.2f raised_ms=%.0f restored=%d "
      "agent_percent=%.2f settle_s=%.1f\n",
      Median(rows), least(rows), Median(foreground), least(foreground), Median(p99), most(p99),
      raised_ms, restored ? 1 : 0, stage.agent_percent(), Median(settle));
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  YieldFlags flags;
  for (int i = 1; i < argc; ++i) {
    if (ParseFlag(argv[i], flags)) continue;
    std::fprintf(stderr,
                 "usage: %s [--rounds=6] [--settle=40] [--runs=3] [--only=closed,ramp,locks]\n",
                 argv[0]);
    return 2;
  }
  for (int run = 0; run < flags.runs; ++run) RunOnce(flags);
  return 0;
}

}  // namespace
}  // namespace headgate

int main(int argc, char** argv) { return headgate::Main(argc, argv); }
