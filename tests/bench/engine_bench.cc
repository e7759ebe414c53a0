// What a decision costs, as ratios within one run: interleaved rounds, medians.
//
//   headgate-bench-engine [--rounds=N]
//
// The floor is the least that any such limiter has to do for an identity of four levels: hash every
// suffix in one pass, find each level's bucket, and compare-and-swap it once. No validation, no
// rules, no clock, no limit, no permit. The Check it is compared with does all of these, reads its
// own clock and charges the same four levels.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "common/system_clock.h"
#include "server/decide/engine/engine.h"
#include "tests/bench/instruction_counter.h"
#include "tests/bench/refund_share.h"
#include "tests/testing/median.h"

namespace {

std::atomic<uint64_t> allocations{0};
std::atomic<uint64_t> allocated_bytes{0};

void* Allocate(size_t bytes, size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  allocated_bytes.fetch_add(bytes, std::memory_order_relaxed);
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

namespace headgate::engine {
namespace {

constexpr uint64_t kSeed = 0x1234567890abcdef;
constexpr int kLevels = 4;
constexpr int kChunk = 2048;  // Checks between two readings of the stopwatch

// d666bbfc_0000002a_11ef_b0b3_0a43f95f28a3:vcopier:vreplication:online-ddl, the number in hex. Next
// draws numbers below `count`, each as often, in an order that no prefetcher guesses.
class Identities {
 public:
  explicit Identities(uint32_t count, uint32_t start = 0) : count_(count), number_(start) {}

  std::string_view Next() {
    number_ = (number_ + 2654435761U) % count_;
    uint32_t rest = number_;
    for (size_t i = 16; i > 8; --i, rest >>= 4) text_[i] = "0123456789abcdef"[rest & 15];
    return text_;
  }

 private:
  const uint32_t count_;
  uint32_t number_;
  std::string text_ = "d666bbfc_00000000_11ef_b0b3_0a43f95f28a3:vcopier:vreplication:online-ddl";
};

// Four budgets, one for each level, that never refuse; a rule at each level, and others that match
// nothing here.
PolicySpec Policy(size_t rules, size_t leaf_buckets) {
  PolicySpec spec;
  spec.profiles = {{.name = "default", .signals = {"replication_lag_seconds"}}};
  spec.targets = {{.name = "main", .capacity = std::nullopt, .default_health = "default"}};
  const char* const levels[kLevels] = {"online-ddl", "vreplication:online-ddl",
                                       "vcopier:vreplication:online-ddl", "online-ddl"};
  for (int depth = 1; depth <= kLevels; ++depth) {
    BudgetSpec budget;
    budget.name = absl::StrCat("level-", depth);
    budget.rate = UnitsPerSecond{1e9};
    budget.burst = 1e12;
    budget.split = SplitByDepth{depth};
    budget.max_buckets = depth == kLevels ? leaf_buckets : 64;
    spec.budgets.push_back(budget);
    RuleSpec rule;
    rule.name = absl::StrCat("charge-", depth);
    rule.match.identity = levels[depth - 1];
    rule.action = ChargeAction{{budget.name}};
    spec.rules.push_back(rule);
  }
  while (spec.rules.size() < rules) {
    RuleSpec rule;
    rule.name = absl::StrCat("other-", spec.rules.size());
    rule.match.identity = absl::StrCat("job-", spec.rules.size(), ":etl");
    rule.action = ChargeAction{{"level-1"}};
    spec.rules.push_back(rule);
  }
  return spec;
}

// The same, with limits of concurrency besides that never refuse.
PolicySpec HoldingPolicy() {
  PolicySpec spec = Policy(10, size_t{1} << 16);
  for (BudgetSpec& budget : spec.budgets) budget.max_concurrency = 65535;
  return spec;
}

struct Rig {
  explicit Rig(size_t rules, size_t leaf_buckets) : Rig(Policy(rules, leaf_buckets), 1) {}
  Rig(PolicySpec spec, double max_permit_share)
      : engine({.seed = kSeed,
                .max_permits = 8 * kChunk,
                .max_permit_share = max_permit_share,
                .bucket_bytes = size_t{1} << 30}) {
    const absl::Status status = engine.Install(std::move(spec), clock.Read());
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
      std::exit(1);
    }
    permits.reserve(kChunk);
  }

  // Not timed: a permit that is never reported would make the next Check look for room.
  void ReportAll() {
    for (const PermitId permit : permits)
      engine.Report(permit, {.cost = 1}, clock.Read()).IgnoreError();
    permits.clear();
  }

  SystemClock clock;
  Engine engine;
  std::vector<PermitId> permits;
};

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "benchmark is broken: %s\n", what);
  std::exit(1);
}

// Times `chunk` (kChunk operations) over and over, and `between` outside the stopwatch.
template <typename Chunk, typename Between>
double NsPerOperation(Clock& clock, int chunks, Chunk&& chunk, Between&& between) {
  int64_t total = 0;
  for (int i = 0; i < chunks; ++i) {
    const int64_t start = clock.Read().monotonic_ns;
    chunk(i);
    total += clock.Read().monotonic_ns - start;
    between();
  }
  return static_cast<double>(total) / (static_cast<double>(chunks) * kChunk);
}

// The suffix hashes of a text that is known to be valid.
void BareHash(std::string_view text, uint64_t* hashes) {
  uint64_t hash = kSeed;
  size_t end = text.size();
  for (int level = 0; level < kLevels; ++level) {
    const void* colon = memrchr(text.data(), ':', end);
    const size_t begin =
        colon == nullptr ? 0
                         : static_cast<size_t>(static_cast<const char*>(colon) - text.data()) + 1;
    hash = CombineHash(hash, HashBytes(text.substr(begin, end - begin), kSeed));
    hashes[level] = hash;
    end = begin - 1;
  }
}

// The floor: tables of the same size and kind as the engine's.
struct Floor {
  explicit Floor(size_t leaf_buckets)
      : tables{BucketTable(64), BucketTable(64), BucketTable(64), BucketTable(leaf_buckets)} {}

  void Touch(std::string_view text) {
    uint64_t hashes[kLevels];
    BareHash(text, hashes);
    for (int level = kLevels - 1; level >= 0; --level) {
      const uint64_t tag = BucketTable::TagOf(hashes[level]);
      Bucket* bucket = tables[level].Find(tag);
      if (bucket == nullptr) bucket = tables[level].FindOrInsert(tag, 0);
      int64_t at = bucket->empties_at.load(std::memory_order_relaxed);
      bucket->empties_at.compare_exchange_strong(at, at + 1, std::memory_order_acq_rel);
    }
  }

  BucketTable tables[kLevels];
};

void CheckOne(Rig& rig, std::string_view identity, CheckAnswer& answer) {
  const absl::Status status =
      rig.engine.Check({.identity = identity, .estimated_cost = 1}, rig.clock.Read(), answer);
  if (!status.ok() || answer.verdict != Verdict::kAllowed) Fail("a Check was not allowed");
  rig.permits.push_back(answer.permit);
}

// Of `operate`, which is given another identity each time.
template <typename Operate, typename After>
double TimeEach(Clock& clock, uint32_t identities, int chunks, Operate operate, After after) {
  Identities drawn(identities);
  return NsPerOperation(
      clock, chunks,
      [&](int) {
        for (int i = 0; i < kChunk; ++i) operate(drawn.Next());
      },
      after);
}

double TimeFloor(Floor& floor, Clock& clock, uint32_t identities, int chunks) {
  return TimeEach(
      clock, identities, chunks, [&](std::string_view identity) { floor.Touch(identity); }, [] {});
}

double TimeChecks(Rig& rig, uint32_t identities, int chunks) {
  CheckAnswer answer;
  return TimeEach(
      rig.clock, identities, chunks,
      [&](std::string_view identity) { CheckOne(rig, identity, answer); },
      [&] { rig.ReportAll(); });
}

// Batches of 128 Checks of one identity, the clock read once for each; another identity each time.
double TimeBatches(Rig& rig, uint32_t identities, int chunks) {
  constexpr int kBatch = 128;
  std::vector<CheckRequest> requests(kBatch);
  std::vector<CheckAnswer> answers(kBatch);
  std::vector<absl::Status> statuses(kBatch);
  Identities drawn(identities);
  return NsPerOperation(
      rig.clock, chunks,
      [&](int) {
        for (int i = 0; i < kChunk; i += kBatch) {
          const std::string_view identity = drawn.Next();
          for (CheckRequest& request : requests) {
            request.identity = identity;
            request.estimated_cost = 1;
          }
          rig.engine.CheckBatch(requests, rig.clock.Read(), absl::MakeSpan(answers),
                                absl::MakeSpan(statuses));
          for (const CheckAnswer& answer : answers) rig.permits.push_back(answer.permit);
        }
      },
      [&] { rig.ReportAll(); });
}

double TimeRefusals(Rig& rig, uint32_t identities, int chunks) {
  CheckAnswer answer;
  return TimeEach(
      rig.clock, identities, chunks,
      [&](std::string_view identity) {
        const absl::Status status = rig.engine.Check({.identity = identity, .estimated_cost = 2e12},
                                                     rig.clock.Read(), answer);
        if (!status.ok() || answer.verdict != Verdict::kDenied) Fail("a Check was not refused");
      },
      [] {});
}

// Takes all permits that one holder gets.
void TakeAllPermits(Rig& rig) {
  CheckAnswer answer;
  Identities drawn(1000);
  while (answer.reason != Reason::kPermits) {
    rig.engine.Check({.identity = drawn.Next(), .estimated_cost = 1}, rig.clock.Read(), answer)
        .IgnoreError();
  }
}

// Of Checks for which there is no permit.
double TimeTurnedAway(Rig& rig, uint32_t identities, int chunks) {
  CheckAnswer answer;
  return TimeEach(
      rig.clock, identities, chunks,
      [&](std::string_view identity) {
        rig.engine.Check({.identity = identity, .estimated_cost = 1}, rig.clock.Read(), answer)
            .IgnoreError();
        if (answer.reason != Reason::kPermits) Fail("a Check was not turned away");
      },
      [] {});
}

// Two threads at once, over one alone: time for each Check.
double TimeTwoThreads(Rig& rig, uint32_t identities, int chunks) {
  std::atomic<int> ready{0};
  double ns[2];
  const auto run = [&](int me) {
    CheckAnswer answer;
    std::vector<PermitId> permits;
    permits.reserve(kChunk);
    Identities drawn(identities, static_cast<uint32_t>(me) * 7919);
    ready.fetch_add(1);
    while (ready.load() < 2) {
    }
    ns[me] = NsPerOperation(
        rig.clock, chunks,
        [&](int) {
          for (int i = 0; i < kChunk; ++i) {
            const absl::Status status = rig.engine.Check(
                {.identity = drawn.Next(), .estimated_cost = 1}, rig.clock.Read(), answer);
            if (!status.ok()) Fail("a Check failed");
            permits.push_back(answer.permit);
          }
        },
        [&] {
          for (const PermitId id : permits)
            rig.engine.Report(id, {.cost = 1}, rig.clock.Read()).IgnoreError();
          permits.clear();
        });
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  return (ns[0] + ns[1]) / 2;
}

// Of the Check alone: a clock that is read while being counted would be due for an adjustment.
double InstructionsPerCheck(Rig& rig) {
  constexpr uint32_t kChecks = 64;
  Identities drawn(kChecks);
  std::vector<std::string> identities;
  for (uint32_t i = 0; i < kChecks; ++i) identities.emplace_back(drawn.Next());
  const Now now = rig.clock.Read();
  CheckAnswer answer;
  const uint64_t counted = CountInstructions([&] {
    for (const std::string& identity : identities) {
      if (!rig.engine.Check({.identity = identity, .estimated_cost = 1}, now, answer).ok()) return;
      rig.permits.push_back(answer.permit);
    }
  });
  rig.ReportAll();
  return static_cast<double>(counted) / kChecks;
}

double AllocationsPerCheck(Rig& rig) {
  TimeChecks(rig, 1000, 1);  // everything is there
  const uint64_t before = allocations.load();
  TimeChecks(rig, 1000, 16);
  return static_cast<double>(allocations.load() - before) / (16.0 * kChunk);
}

double BytesPerBucket() {
  constexpr size_t kBuckets = size_t{1} << 20;
  const uint64_t before = allocated_bytes.load();
  const BucketTable table(kBuckets);
  return static_cast<double>(allocated_bytes.load() - before + sizeof(table)) /
         static_cast<double>(table.capacity());
}

double PrintRefundShares() {
  const std::pair<const char*, double> shares[] = {
      {"refunded of what is due, 10,001 jobs", RefundShare::OfOneAmong(10'000)},
      {"the same, noisy estimates", RefundShare::OfNoisyJobs(10'000)},
      {"two permits each, LIFO", RefundShare::LastInFirstOut(10'000, 2)},
      {"three permits each, LIFO", RefundShare::LastInFirstOut(10'000, 3)},
      {"three permits each, any order", RefundShare::InAnyOrder(10'000, 3)},
      {"2,000 jobs, 16 each, LIFO", RefundShare::LastInFirstOut(2'000, 16)},
      {"2,000 jobs, 16 each, any order", RefundShare::InAnyOrder(2'000, 16)},
      {"one bucket, 100 permits, any order", RefundShare::OnOneBucket(100)},
      {"one bucket, 1,000 permits, any order", RefundShare::OnOneBucket(1'000)},
      {"one bucket, 30,000 permits, any order", RefundShare::OnOneBucket(30'000)}};
  double least = 1;
  for (const auto& [name, share] : shares) {
    std::printf("%-38s %8.3f\n", name, share);
    least = std::min(least, share);
  }
  return least;
}

int Run(int rounds) {
  constexpr uint32_t kFew = 1000;
  constexpr uint32_t kMany = 10'000'000;
  constexpr size_t kManyBuckets = size_t{1} << 24;
  constexpr int kChunks = 24;
  Rig few_rules(10, size_t{1} << 16);
  Rig many_rules(1'000'000, size_t{1} << 16);
  Rig many_identities(10, kManyBuckets);
  Floor floor(size_t{1} << 16);
  Floor large_floor(kManyBuckets);
  std::printf("filling a table with 10 M identities ...\n");
  std::fflush(stdout);
  TimeChecks(many_identities, kMany, kMany / kChunk);
  TimeFloor(large_floor, few_rules.clock, kMany, kMany / kChunk);

  // Half of a table is one holder's, or all of it.
  Rig used_share(HoldingPolicy(), 0.5);
  Rig full_table(HoldingPolicy(), 1);
  TakeAllPermits(used_share);
  TakeAllPermits(full_table);

  enum Row {
    kFloor,
    kCheck,
    kBatch,
    kRefused,
    kShareUsed,
    kTableFull,
    kTwo,
    kRules,
    kLargeFloor,
    kLarge,
    kRows
  };
  std::vector<double> ns[kRows], ratio[kRows];
  for (int round = 0; round <= rounds; ++round) {
    double now[kRows];
    now[kFloor] = TimeFloor(floor, few_rules.clock, kFew, kChunks);
    now[kCheck] = TimeChecks(few_rules, kFew, kChunks);
    now[kBatch] = TimeBatches(few_rules, kFew, kChunks);
    now[kRefused] = TimeRefusals(few_rules, kFew, kChunks);
    now[kShareUsed] = TimeTurnedAway(used_share, kFew, kChunks);
    now[kTableFull] = TimeTurnedAway(full_table, kFew, kChunks);
    now[kRules] = TimeChecks(many_rules, kFew, kChunks);
    now[kLarge] = TimeChecks(many_identities, kMany, kChunks);
    now[kLargeFloor] = TimeFloor(large_floor, few_rules.clock, kMany, kChunks);
    now[kTwo] = TimeTwoThreads(few_rules, kFew, kChunks);
    if (round == 0) continue;  // warm-up
    for (int row = 0; row < kRows; ++row) {
      ns[row].push_back(now[row]);
      ratio[row].push_back(now[row] / now[kFloor]);
    }
  }
  const auto over = [&](Row a, Row b) {
    std::vector<double> ratios;
    for (size_t i = 0; i < ns[a].size(); ++i) ratios.push_back(ns[a][i] / ns[b][i]);
    return Median(ratios);
  };
  const char* const names[kRows] = {"floor: hash, find, CAS at 4 levels",
                                    "Check, 4 levels, own clock read",
                                    "Check in a batch of 128",
                                    "Check, refused",
                                    "Check, its share of permits used up",
                                    "Check, table of permits full",
                                    "Check, two threads at once",
                                    "Check, 1 M rules",
                                    "floor, 10 M identities",
                                    "Check, 10 M identities"};
  std::printf("\n%-38s %8s %8s\n", "median of rounds", "ns", "/ floor");
  for (int row = 0; row < kRows; ++row) {
    std::printf("%-38s %8.1f %8.2f\n", names[row], Median(ns[row]), Median(ratio[row]));
  }
  double few = InstructionsPerCheck(few_rules);
  double many = InstructionsPerCheck(many_rules);
  const bool counted = few > 0;
  if (counted) {
    std::printf("%-38s %8.0f\n%-38s %8.0f\n", "instructions of a Check, 10 rules", few,
                "instructions of a Check, 1 M rules", many);
  }
  const double refund_share = PrintRefundShares();
  std::printf("%-38s %8s\n\n", "clock", std::string(few_rules.clock.source()).c_str());
  std::printf(
      "engine: four_level_ratio=%.2f batch_ratio=%.2f rules_flat=%.3f identities_flat=%.2f "
      "bytes_per_bucket=%.2f allocations_per_check=%.3f two_thread_ratio=%.2f "
      "refund_share=%.3f share_refusal_ratio=%.2f full_refusal_ratio=%.2f\n",
      over(kCheck, kFloor), over(kBatch, kFloor), counted ? many / few : over(kRules, kCheck),
      over(kLarge, kCheck), BytesPerBucket(), AllocationsPerCheck(few_rules), over(kTwo, kCheck),
      refund_share, over(kShareUsed, kRefused), over(kTableFull, kRefused));
  return 0;
}

}  // namespace
}  // namespace headgate::engine

int main(int argc, char** argv) {
  int rounds = 15;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--rounds=", 9) != 0 || !absl::SimpleAtoi(argv[i] + 9, &rounds) ||
        rounds < 1) {
      std::fprintf(stderr, "usage: headgate-bench-engine [--rounds=N]\n");
      return 2;
    }
  }
  return headgate::engine::Run(rounds);
}
