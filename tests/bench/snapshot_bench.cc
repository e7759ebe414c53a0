// What a snapshot takes, and what it does to Checks meanwhile.
//
//   headgate-bench-snapshot [BUCKETS]     1,000,000 unless told otherwise
//
// First each step by itself, the median of nine: copying the engine, laying the bytes out, writing
// them with fsync; reading and checking them, and restoring an engine. All buckets owe.
//
// Then a Check's latency beside a writer that writes without a pause, against the same Checks
// without one, in turns of one run: what counts is the ratio. With two cores the writer has one to
// itself; latencies above the 99.9th percentile are the kernel's as much as ours.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "server/decide/engine/engine.h"
#include "server/remember/snapshot/atomic_file.h"
#include "server/remember/snapshot/snapshot_writer.h"
#include "tests/testing/median.h"
#include "tests/testing/temp_folder.h"

namespace headgate::snapshot {
namespace {

constexpr int kRounds = 9;
constexpr int kTurns = 10;
constexpr int kChecksInTurn = 500'000;

int64_t NowNs() { return SystemClock::ReadKernel().monotonic_ns; }

double MedianMs(const std::function<void()>& step) {
  std::vector<double> took;
  for (int i = 0; i < kRounds; ++i) {
    const int64_t from = NowNs();
    step();
    took.push_back(static_cast<double>(NowNs() - from) / 1e6);
  }
  return Median(std::move(took));
}

engine::PolicySpec Policy(size_t buckets) {
  engine::PolicySpec spec;
  spec.budgets.resize(1);
  spec.budgets[0].name = "job";
  spec.budgets[0].rate = engine::UnitsPerSecond{1};
  spec.budgets[0].burst = 1e9;
  spec.budgets[0].split = engine::SplitByDepth{8};
  spec.budgets[0].max_buckets = buckets + buckets / 4;
  engine::RuleSpec rule;
  rule.name = "all";
  rule.action = engine::ChargeAction{{"job"}};
  spec.rules.push_back(rule);
  return spec;
}

std::string NameOf(size_t job) { return absl::StrCat("job-", job, ":bench"); }

void Fill(engine::Engine& engine, size_t buckets, Clock& clock) {
  engine::CheckAnswer answer;
  for (size_t i = 0; i < buckets; ++i) {
    const std::string identity = NameOf(i);
    const engine::CheckRequest request{.identity = identity, .estimated_cost = 1e6};
    if (!engine.Check(request, clock.Read(), answer).ok()) std::abort();
  }
}

// Percentiles of one turn's Checks are in `took`, which is sorted.
void Turn(engine::Engine& engine, size_t buckets, Clock& clock, std::vector<int64_t>& took) {
  engine::CheckAnswer answer;
  size_t job = 1;
  for (int i = 0; i < kChecksInTurn; ++i) {
    job = (job * 2862933555777941757ULL + 3037000493ULL) % buckets;
    const std::string identity = NameOf(job);
    const int64_t from = NowNs();
    if (!engine.Check({.identity = identity, .estimated_cost = 1}, clock.Read(), answer).ok()) {
      std::abort();
    }
    took.push_back(NowNs() - from);
  }
}

void Print(const char* what, std::vector<int64_t>& took) {
  std::sort(took.begin(), took.end());
  const auto at = [&](double share) {
    return static_cast<double>(took[static_cast<size_t>(share * static_cast<double>(took.size()))]);
  };
  std::printf("%-28s p50 %6.2f us   p99 %6.2f us   p99.9 %7.2f us\n", what, at(0.5) / 1e3,
              at(0.99) / 1e3, at(0.999) / 1e3);
}

void Run(size_t buckets) {
  const TempFolder folder;
  const std::string path = folder.File("engine.snapshot");
  SystemClock clock;
  engine::EngineOptions options;
  options.seed = 7;
  engine::Engine engine(options);
  if (!engine.Install(Policy(buckets), clock.Read()).ok()) std::abort();
  Fill(engine, buckets, clock);

  engine::SavedState state;
  Encoded encoded;
  const BootId boot = ReadBootId();
  const double copy = MedianMs([&] { engine.Save(clock.Read(), state); });
  const double lay_out = MedianMs([&] { Encode(state, boot, encoded); });
  const double write = MedianMs([&] {
    if (!Replace(path, encoded.bytes).ok()) std::abort();
  });
  Loaded loaded;
  const double read = MedianMs([&] { loaded = Load(path, clock.Read()); });
  if (!loaded.state.has_value()) std::abort();
  const double restore = MedianMs([&] {
    engine::Engine restored(options);
    if (!restored.Restore(*loaded.state, clock.Read(), 0).ok()) std::abort();
  });
  std::printf("%zu buckets that owe, %zu permits: %.1f MB\n",
              engine.ReadStats(clock.Read()).buckets_owing, state.permits.size(),
              static_cast<double>(encoded.bytes.size()) / 1e6);
  std::printf("copy %.1f ms, lay out %.1f ms, write with fsync %.1f ms\n", copy, lay_out, write);
  std::printf("read and check %.1f ms, restore %.1f ms\n", read, restore);

  std::vector<int64_t> alone;
  std::vector<int64_t> beside;
  int64_t writes = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    Turn(engine, buckets, clock, alone);
    SnapshotWriter writer({.path = path, .period = absl::ZeroDuration()}, engine, clock);
    writer.Start();
    Turn(engine, buckets, clock, beside);
    writer.Stop();
    writes += writer.State().writes;
  }
  Print("Check alone", alone);
  Print("Check beside a writer", beside);
  const auto median = [](const std::vector<int64_t>& took) {
    return static_cast<double>(took[took.size() / 2]);
  };
  std::printf("ratio of medians %.2f, while %lld snapshots were written\n",
              median(beside) / median(alone), static_cast<long long>(writes));
}

}  // namespace
}  // namespace headgate::snapshot

int main(int argc, char** argv) {
  size_t buckets = 1'000'000;
  if (argc > 1 && (!absl::SimpleAtoi(argv[1], &buckets) || buckets < 1000)) {
    std::fprintf(stderr, "usage: %s [BUCKETS], 1000 at least\n", argv[0]);
    return 2;
  }
  headgate::snapshot::Run(buckets);
  return 0;
}
