#include "server/decide/engine/engine_core.h"

#include <algorithm>
#include <thread>

#include "common/hash.h"

namespace headgate::engine {
namespace {

// Independent streams from one seed.
constexpr uint64_t kPermitStream = 0x7065726d69747321;
constexpr uint64_t kDiceStream = 0x6469636573747265;

// One step of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
// 2014).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

EngineOptions BoundedOptions(EngineOptions options) {
  options.permit_ttl = std::clamp(options.permit_ttl, absl::Milliseconds(1), absl::Hours(24));
  constexpr size_t kMax = size_t{1} << 24;
  options.max_permits = std::clamp<size_t>(options.max_permits, 64, kMax);
  options.max_patterns = std::clamp<size_t>(options.max_patterns, 64, kMax);
  constexpr double kLeastShare = 1e-6;
  options.max_permit_share = std::clamp(options.max_permit_share, kLeastShare, 1.0);
  return options;
}

PermitTableOptions TableOptions(const EngineOptions& options) {
  // Looking takes microseconds, and what has expired should soon be found.
  const absl::Duration least =
      std::clamp(options.permit_ttl / 64, absl::Microseconds(100), absl::Milliseconds(250));
  return {.max_share = options.max_permit_share,
          .least_between_looks_ns = absl::ToInt64Nanoseconds(least)};
}

}  // namespace

EngineCore::EngineCore(const EngineOptions& its_options)
    : options(BoundedOptions(its_options)),
      costs(options.max_patterns),
      concurrency(4 * options.max_permits),
      permits(options.max_permits, Mix(options.permit_seed.value_or(options.seed) ^ kPermitStream),
              concurrency, TableOptions(options)),
      adopted(concurrency, absl::ToInt64Nanoseconds(options.permit_ttl)),
      requests(permits),
      tables{costs,   concurrency,    permits,
             adopted, reported_debts, absl::ToInt64Nanoseconds(options.permit_ttl)},
      dice(Mix(options.seed ^ kDiceStream)),
      book(options.bucket_bytes, options.max_permits, options.seed) {}

Now EngineCore::Bounded(Now now) {
  now.monotonic_ns = std::clamp<int64_t>(now.monotonic_ns, 0, VirtualClock::kHorizonNs);
  return now;
}

absl::Status EngineCore::NotInstalled() {
  return absl::FailedPreconditionError("no policy is installed yet");
}

double EngineCore::Roll(const Match& match) {
  if (match.reject_ratio >= 1) return 0;
  // relaxed: every caller gets a number of its own, in whatever order.
  const uint64_t state = dice.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed);
  return static_cast<double>(Mix(state) >> 11) * 0x1p-53;
}

void EngineCore::AwaitNewer(uint64_t than) const {
  while (policies.Get()->version == than) std::this_thread::yield();
}

uint64_t EngineCore::RequestKeyOf(uint64_t subject_key, const CheckRequest& request) const {
  return CombineHash(subject_key, HashBytes(request.request_id, options.seed));
}

}  // namespace headgate::engine
