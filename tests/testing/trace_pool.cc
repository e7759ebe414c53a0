#include "tests/testing/trace_pool.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "server/decide/engine/bucket_table.h"
#include "server/decide/engine/resolve.h"

namespace headgate::model {

using engine::CheckRequest;

const std::vector<std::string>& Identities() {
  static const auto* const kIdentities = new std::vector<std::string>{
      "j1:copier:vrep:ddl",
      "j2:copier:vrep:ddl",
      "copier:vrep:ddl",
      "vrep:ddl",
      "ddl",
      "vip:ddl",
      "etl",
      "nightly:etl",
      "j1:nightly:etl",
      "banned:etl",
      "greedy:etl",
      "zero:rate",
      "zero:burst",
      "zero:cost",
      "zero:slots",
      "solo",
      // kMalformedIdentities
      "",
      "a::b",
      "a:b c",
      "1:2:3:4:5:6:7:8:9",
      std::string(129, 'x') + ":etl",
  };
  return *kIdentities;
}
const size_t kMalformedIdentities = 16;

absl::Span<const std::string_view> TargetNames(int family) {
  static constexpr std::string_view kOne[] = {"", "", "", "nowhere"};
  static constexpr std::string_view kTwo[] = {"alpha", "beta", "", "nowhere"};
  return family == 0 ? absl::MakeConstSpan(kOne) : absl::MakeConstSpan(kTwo);
}

const std::vector<std::vector<engine::Tag>>& TagSets() {
  static const auto* const kSets = [] {
    static const std::string long_value(300, 'v');
    auto* sets = new std::vector<std::vector<engine::Tag>>{
        {},
        {},
        {},
        {{"tenant", "t1"}},
        {{"tenant", "t1"}},
        {{"tenant", "t2"}},
        {{"tenant", "t2"}, {"class", "batch"}},
        {{"tenant", "t1"}, {"class", "batch"}},
        {{"class", "gated"}},
        {{"tenant", ""}},
        {{"class", "rejected"}},
        // kMalformedTagSets
        {{"", "x"}},
        {{"tenant", "t1"}, {"tenant", "t2"}},
        {{"tenant", long_value}},
    };
    static const auto* const names = new std::vector<std::string>([] {
      std::vector<std::string> keys;
      for (int i = 0; i < 33; ++i) keys.push_back("k" + std::to_string(i));
      return keys;
    }());
    std::vector<engine::Tag>& many = sets->emplace_back();
    for (const std::string& name : *names) many.push_back({name, ""});
    return sets;
  }();
  return *kSets;
}
const size_t kMalformedTagSets = 11;

const std::vector<std::optional<engine::IpAddress>>& Addresses() {
  static const auto* const kAddresses = [] {
    auto* addresses = new std::vector<std::optional<engine::IpAddress>>{std::nullopt};
    for (const char* text :
         {"10.0.0.1", "10.1.2.3", "::ffff:10.1.9.9", "2001:db8::1", "192.168.1.1"}) {
      addresses->push_back(*engine::IpAddress::Parse(text));
    }
    return addresses;
  }();
  return *kAddresses;
}

absl::Span<const std::optional<double>> Costs() {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  // What is odd is rare, or nothing else would ever be learnt.
  static constexpr std::optional<double> kCosts[] = {
      std::nullopt, std::nullopt, std::nullopt, 1.0, 1.0,   2.0, 3.0, 5.0,  0.5,  7.25, 9.0,
      10.0,         12.5,         20.0,         0.0, 1e-12, 0.1, 4.0, 6.0,  8.0,  15.0, 25.0,
      1.0,          60.0,         1.5,          2.5, 2.0,   1.0, 0.7, 1e15, kNaN, -1.0,
  };
  return kCosts;
}

const std::vector<std::string>& Patterns() {
  static const auto* const kPatterns = new std::vector<std::string>{
      "", "", "", "select", "insert", "vacuum", std::string(1024, 'p'), std::string(1025, 'p')};
  return *kPatterns;
}

const std::vector<std::string>& RequestIds() {
  static const auto* const kIds =
      new std::vector<std::string>{"", "", "", "", "", "r1", "r2", std::string(129, 'r')};
  return *kIds;
}

absl::Span<const std::string_view> Callers() {
  static constexpr std::array<std::string_view, 4> kCallers = {"", "", "airflow", "dbt"};
  return kCallers;
}

absl::Span<const std::optional<absl::Duration>> BusyTimes() {
  // Mostly what a Report may have: one that is refused settles nothing.
  static const auto* const times = [] {
    auto* const all = new std::vector<std::optional<absl::Duration>>(20);  // none
    for (const double seconds : {0.0, 7e-9, 0.004, 0.02, 0.3, 1.0, 2.0, 3.0, 40.0, 640.0}) {
      all->push_back(absl::Seconds(seconds));
    }
    all->insert(all->end(), {absl::Seconds(641), -absl::Seconds(1), absl::InfiniteDuration()});
    return all;
  }();
  return *times;
}

namespace {

engine::EngineOptions OptionsWith(uint64_t seed) {
  return {.seed = seed,
          .permit_ttl = absl::Seconds(10),
          .max_permits = kPermitsPerTrace,
          .max_permit_share = 1,
          .max_patterns = 1024,
          .bucket_bytes = size_t{1} << 20};
}

// Whether each key has a line to itself, in a table of this size. Where buckets owe nothing, a
// newcomer takes the first cell of its first line.
bool AreApart(const std::set<uint64_t>& tags, size_t max_buckets) {
  engine::BucketTable table(max_buckets);
  for (const uint64_t tag : tags) table.FindOrInsert(tag, 0);
  for (const uint64_t tag : tags) {
    if (table.Find(tag) == nullptr) return false;
  }
  return true;
}

// The keys under which a policy's split budgets keep the buckets of all names in the pool.
std::map<uint32_t, std::set<uint64_t>> TagsOf(const engine::Policy& policy, int family,
                                              uint64_t seed) {
  // Saturday, 2026-01-10T12:00:00Z: all rules that charge apply, and the exemption has expired.
  const Now now{.wall_ns = 1'768'046'400'000'000'000};
  std::map<uint32_t, std::set<uint64_t>> tags;
  for (size_t i = 0; i < kMalformedIdentities; ++i) {
    for (size_t set = 0; set < kMalformedTagSets; ++set) {
      for (const auto& address : Addresses()) {
        const CheckRequest request{.identity = Identities()[i],
                                   .target = TargetNames(family)[0],
                                   .tags = TagSets()[set],
                                   .remote_address = address.has_value() ? &*address : nullptr};
        engine::Resolved resolved;
        if (!engine::Resolve(policy, seed, request, now, resolved).ok()) continue;
        for (int charge = 0; charge < resolved.candidates_used; ++charge) {
          const engine::Candidate& candidate = resolved.candidates[charge];
          tags[candidate.budget->spec].insert(candidate.tag);
        }
      }
    }
  }
  return tags;
}

bool IsApart(int family, uint64_t seed) {
  for (const PooledPolicy& pooled : Policies(family)) {
    if (pooled.expected != absl::StatusCode::kOk) continue;
    engine::Engine engine(OptionsWith(seed));
    if (!engine.Install(pooled.spec, {}).ok()) std::abort();
    for (const auto& [budget, tags] : TagsOf(*engine.policy(), family, seed)) {
      const engine::BudgetSpec& spec = pooled.spec.budgets[budget];
      if (std::holds_alternative<engine::SplitNone>(spec.split)) continue;
      if (!AreApart(tags, spec.max_buckets)) return false;
    }
  }
  return true;
}

}  // namespace

engine::EngineOptions OptionsFor(int family) {
  static const auto* const kSeeds = [] {
    auto* seeds = new std::vector<uint64_t>;
    for (int i = 0; i < kFamilies; ++i) {
      uint64_t seed = 0x5eed;
      while (!IsApart(i, seed)) ++seed;
      seeds->push_back(seed);
    }
    return seeds;
  }();
  return OptionsWith((*kSeeds)[static_cast<size_t>(family)]);
}

}  // namespace headgate::model
