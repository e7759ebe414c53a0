// What the throttle log costs a Check, and what its SQLite file can do.
//
//   headgate-bench-log [--rounds=N] [--rows=N]
//
// On the hot path: the engine's Check alone, and with its recording, in interleaved chunks of one
// run; the median difference is what recording costs. Four levels, 10,000 rules, 1,000 identities
// in an order that no prefetcher guesses, as the engine's benchmark has it.
//
// In the file: a day in steps of 10 s, --rows rows of 1,000 identities and more, of which every
// seventh was denied as well; then all of one identity's day is read.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "server/decide/engine/engine.h"
#include "server/remember/throttle_log/recorder.h"
#include "server/remember/throttle_log/sqlite_store.h"
#include "tests/testing/median.h"
#include "tests/testing/temp_folder.h"

namespace {

std::atomic<uint64_t> allocations{0};

void* Allocate(size_t bytes, size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace headgate::throttle_log {
namespace {

using engine::CheckAnswer;
using engine::Verdict;

constexpr int kLevels = 4;
constexpr int kChunk = 2048;  // Checks between two readings of the stopwatch
constexpr double kMaxCost = 1e12;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "benchmark is broken: %s\n", what.c_str());
  std::exit(1);
}

void Require(const absl::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

// d666bbfc_0000002a_11ef_b0b3_0a43f95f28a3:vcopier:vreplication:online-ddl, the number in hex.
class Identities {
 public:
  std::string_view Next() {
    constexpr uint32_t kIdentities = 1000;
    number_ = (number_ + 2654435761U) % kIdentities;
    uint32_t rest = number_;
    for (size_t i = 16; i > 8; --i, rest >>= 4) text_[i] = "0123456789abcdef"[rest & 15];
    return text_;
  }

 private:
  uint32_t number_ = 0;
  std::string text_ = "d666bbfc_00000000_11ef_b0b3_0a43f95f28a3:vcopier:vreplication:online-ddl";
};

// Four budgets, one for each level, and rules that match nothing here.
engine::PolicySpec Policy() {
  constexpr size_t kRules = 10'000;
  engine::PolicySpec spec;
  spec.profiles = {{.name = "default", .signals = {"replication_lag_seconds"}}};
  spec.targets = {{.name = "main", .capacity = std::nullopt, .default_health = "default"}};
  const char* const levels[kLevels] = {"online-ddl", "vreplication:online-ddl",
                                       "vcopier:vreplication:online-ddl", "online-ddl"};
  for (int depth = 1; depth <= kLevels; ++depth) {
    engine::BudgetSpec budget;
    budget.name = absl::StrCat("level-", depth);
    budget.rate = engine::UnitsPerSecond{1e9};
    budget.burst = kMaxCost;
    budget.split = engine::SplitByDepth{depth};
    spec.budgets.push_back(budget);
    engine::RuleSpec rule;
    rule.name = absl::StrCat("charge-", depth);
    rule.match.identity = levels[depth - 1];
    rule.action = engine::ChargeAction{{budget.name}};
    spec.rules.push_back(rule);
  }
  while (spec.rules.size() < kRules) {
    engine::RuleSpec rule;
    rule.name = absl::StrCat("other-", spec.rules.size());
    rule.match.identity = absl::StrCat("job-", spec.rules.size(), ":etl");
    rule.action = engine::ChargeAction{{"level-1"}};
    spec.rules.push_back(rule);
  }
  return spec;
}

struct Rig {
  Rig() : engine({.seed = 0x1234567890abcdef, .max_permits = 8 * kChunk}) {
    Require(engine.Install(Policy(), clock.Read()));
    permits.reserve(kChunk);
  }

  void ReportAll() {
    for (const engine::PermitId id : permits)
      engine.Report(id, {.cost = 1}, clock.Read()).IgnoreError();
    permits.clear();
  }

  SystemClock clock;
  engine::Engine engine;
  Recorder recorder{{.seed = 99}};
  ThreadCounts& counts = recorder.AddThread();
  std::vector<engine::PermitId> permits;
  Identities identities;
  CheckAnswer answer;
  int64_t recorded = 0;
};

// ns for each Check of a chunk.
template <bool kRecord>
double TimeChunk(Rig& rig, double cost, Verdict expected) {
  CheckAnswer& answer = rig.answer;
  const int64_t start_ns = rig.clock.Read().monotonic_ns;
  for (int i = 0; i < kChunk; ++i) {
    const Now now = rig.clock.Read();
    const engine::CheckRequest request{.identity = rig.identities.Next(), .estimated_cost = cost};
    const absl::Status status = rig.engine.Check(request, now, answer);
    if (!status.ok() || answer.verdict != expected) Fail("not the verdict that was expected");
    if constexpr (kRecord) rig.counts.Record(request, answer, now);
    if (answer.permit != 0) rig.permits.push_back(answer.permit);
  }
  const int64_t total_ns = rig.clock.Read().monotonic_ns - start_ns;
  rig.ReportAll();
  if (kRecord) rig.recorded += kChunk;
  return static_cast<double>(total_ns) / kChunk;
}

// Prints both, and returns the median difference of neighbouring chunks, which take half a
// millisecond: whatever else the machine does spoils some of them, not most.
double HotPathNs(Rig& rig, const char* name, double cost, Verdict expected, int rounds) {
  constexpr int kChunks = 64;  // in a round
  std::vector<double> alone, recorded, difference;
  for (int i = 0; i <= rounds * kChunks; ++i) {
    // Each goes first every other time.
    double ns[2];
    for (int turn = 0; turn < 2; ++turn) {
      const bool record = (turn + i) % 2 == 1;
      ns[record] =
          record ? TimeChunk<true>(rig, cost, expected) : TimeChunk<false>(rig, cost, expected);
    }
    if (i == 0) continue;  // warm-up
    alone.push_back(ns[0]);
    recorded.push_back(ns[1]);
    difference.push_back(ns[1] - ns[0]);
  }
  std::printf("%-26s %8.1f %10.1f %8.1f\n", name, Median(alone), Median(recorded),
              Median(difference));
  return Median(difference);
}

void RequireNoAllocations(Rig& rig) {
  const uint64_t before = allocations.load();
  TimeChunk<true>(rig, 1, Verdict::kAllowed);
  TimeChunk<true>(rig, 2 * kMaxCost, Verdict::kDenied);
  const uint64_t made = allocations.load() - before;
  if (made > 0) Fail(absl::StrCat(made, " allocations on the hot path"));
}

void CompareCounts(Rig& rig) {
  int64_t counted = 0;
  rig.recorder.Collect({}, [&](const RowKey&, const Counts& counts) { counted += counts.checks; });
  if (counted != rig.recorded) Fail(absl::StrCat(counted, " of ", rig.recorded, " are counted"));
}

// A day of rows, step by step.
class Day {
 public:
  static constexpr int64_t kBegin = 1'767'225'600;
  static constexpr int64_t kSteps = 8640;

  explicit Day(int64_t rows) : rows_in_step_(std::max<int64_t>(rows / kSteps, 1)) {}

  int64_t rows() const { return rows_in_step_ * kSteps; }
  std::string IdentityOf(int64_t number) const {
    return absl::StrCat("job-", number, ":copier-", number % 40, ":nightly:etl");
  }
  // Identities that were asked for in every step.
  int64_t identities() const { return rows_in_step_ - rows_in_step_ / 8; }

  void AddStep(int64_t step, std::vector<Row>& rows) const {
    for (int64_t i = 0; i < rows_in_step_; ++i) {
      const bool denied = i >= identities();
      Row& row = rows.emplace_back();
      row.step_s = kBegin + 10 * step;
      row.length_s = 10;
      row.key.target = "main";
      row.key.identity = IdentityOf(denied ? (i - identities()) * 7 : i);
      row.counts = {.checks = 1 + (i + step) % 90, .cost = 100.5 * static_cast<double>(i % 17)};
      if (!denied) continue;
      row.key.outcome = Outcome::kDenied;
      row.key.cause = {.reason = engine::Reason::kHealth,
                       .limit = engine::Limit::kHealth,
                       .budget = "etl",
                       .signal = "replication_lag_seconds on standby-2"};
      row.counts.peak = 7.1;
      row.counts.limit = 5;
    }
  }

 private:
  const int64_t rows_in_step_;
};

double Seconds(Clock& clock, int64_t since_ns) {
  return static_cast<double>(clock.Read().monotonic_ns - since_ns) / 1e9;
}

// Rows a second.
double Fill(Clock& clock, const Day& day, Store& store) {
  constexpr int64_t kStepsInBatch = 6;
  double seconds = 0;
  std::vector<Row> rows;
  for (int64_t step = 0; step < Day::kSteps; step += kStepsInBatch) {
    rows.clear();
    for (int64_t i = 0; i < kStepsInBatch; ++i) day.AddStep(step + i, rows);
    const int64_t start_ns = clock.Read().monotonic_ns;
    Require(store.Append(rows, step + 1));
    seconds += Seconds(clock, start_ns);
  }
  return static_cast<double>(day.rows()) / seconds;
}

// Milliseconds to read one identity's day.
double Query(Clock& clock, const Day& day, const Store& store) {
  std::vector<double> ms;
  for (int64_t i = 0; i < 15; ++i) {
    ScanFilter filter;
    filter.from_s = Day::kBegin;
    filter.to_s = Day::kBegin + 86'400;
    filter.identity = day.IdentityOf(i * 71 % day.identities());
    int64_t rows = 0;
    const int64_t start_ns = clock.Read().monotonic_ns;
    Require(store.Scan(filter, [&rows](const Row&) { return ++rows > 0; }));
    ms.push_back(1000 * Seconds(clock, start_ns));
    if (rows < Day::kSteps) Fail(absl::StrCat(rows, " rows of ", filter.identity));
  }
  return Median(ms);
}

int Run(int rounds, int64_t rows) {
  SystemClock clock;
  double hot_path_ns = 0;
  {
    Rig rig;
    std::printf("%-26s %8s %10s %8s\n", "ns, medians of chunks", "alone", "recorded", "more");
    hot_path_ns = HotPathNs(rig, "Check, allowed", 1, Verdict::kAllowed, rounds);
    HotPathNs(rig, "Check, denied", 2 * kMaxCost, Verdict::kDenied, rounds);
    RequireNoAllocations(rig);
    CompareCounts(rig);
  }
  const TempFolder folder;
  const Day day(rows);
  auto store = SqliteStore::Open(folder.File("log.db"), Retention{.max_bytes = int64_t{8} << 30});
  Require(store.status());
  std::printf("writing %lld rows of %lld identities ...\n", static_cast<long long>(day.rows()),
              static_cast<long long>(day.identities()));
  std::fflush(stdout);
  const double rows_per_s = Fill(clock, day, **store);
  const double query_ms = Query(clock, day, **store);
  const StoreState state = (*store)->State();
  std::printf("log: hot_path_ns=%.1f rows_per_s=%.0f query_24h_ms=%.1f bytes_per_row=%.1f\n",
              hot_path_ns, rows_per_s, query_ms,
              static_cast<double>(state.bytes) / static_cast<double>(day.rows()));
  return 0;
}

}  // namespace
}  // namespace headgate::throttle_log

int main(int argc, char** argv) {
  int rounds = 15;
  int64_t rows = 10'000'000;
  for (int i = 1; i < argc; ++i) {
    const bool is_rounds = std::strncmp(argv[i], "--rounds=", 9) == 0 &&
                           absl::SimpleAtoi(argv[i] + 9, &rounds) && rounds > 0;
    const bool is_rows = std::strncmp(argv[i], "--rows=", 7) == 0 &&
                         absl::SimpleAtoi(argv[i] + 7, &rows) && rows > 0;
    if (is_rounds || is_rows) continue;
    std::fprintf(stderr, "usage: headgate-bench-log [--rounds=N] [--rows=N]\n");
    return 2;
  }
  return headgate::throttle_log::Run(rounds, rows);
}
