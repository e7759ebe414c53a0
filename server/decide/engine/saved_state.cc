#include "server/decide/engine/saved_state.h"

#include <bit>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/identity.h"
#include "server/decide/engine/bucket_table.h"
#include "server/decide/engine/cost_model.h"
#include "server/decide/engine/ledger.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {
namespace {

constexpr int64_t kMaxNs = VirtualClock::kHorizonNs;
constexpr uint32_t kMaxSlots = uint32_t{1} << 20;
constexpr uint64_t kMaxGeneration = uint64_t{1} << 40;
// Beyond those of any rate that a policy may have.
constexpr double kLeastNsPerUnit = 1e-9, kMaxNsPerUnit = 1e21;
constexpr int kWays = BucketTable::kWays;

absl::Status Wrong(const char* what, size_t place) {
  return absl::InvalidArgumentError(absl::StrCat(what, " ", place, ": no engine has saved this"));
}

bool IsTime(int64_t at_ns, int64_t max_ns = kMaxNs) { return at_ns >= 0 && at_ns <= max_ns; }
bool IsDebt(int64_t at_ns) { return IsTime(at_ns, Bucket::kHorizonNs); }
bool IsCost(double cost) { return cost >= 0 && cost <= kMaxAmount; }
bool IsPositive(double number) { return std::isfinite(number) && number > 0; }

bool IsHealth(const Health& health) {
  return health.status <= HealthStatus::kStale && IsTime(health.sampled_at_ns, 2 * kMaxNs) &&
         IsTime(health.next_sample_at_ns, 2 * kMaxNs);
}

bool IsClock(const SavedClock& clock) {
  constexpr auto kMaxSpeed = static_cast<uint64_t>(VirtualClock::kMaxSpeed * 0x1p32);
  return IsTime(clock.real_base_ns, 2 * kMaxNs) && IsTime(clock.virtual_base_ns) &&
         clock.speed_fixed <= kMaxSpeed && IsHealth(clock.health);
}

bool IsTable(const SavedTable& table) {
  const size_t lines = table.lines.size();
  if (lines == 0) return table.buckets.empty();
  if (lines < 2 || !std::has_single_bit(lines) || !IsDebt(table.filled_until_ns)) return false;
  auto bucket = table.buckets.begin();
  for (size_t line = 0; line < lines; ++line) {
    if (table.lines[line] >> kWays != 0) return false;
    const int owing = std::popcount(table.lines[line]);
    if (table.buckets.end() - bucket < owing) return false;
    for (int i = 0; i < owing; ++i, ++bucket) {
      if (!IsDebt(bucket->empties_at_ns)) return false;
      if (!BucketTable::MayStandIn(bucket->tag, line, lines)) return false;
    }
  }
  return bucket == table.buckets.end();
}

bool IsOrigin(const SavedOrigin& origin) {
  return IsTime(origin.then_ns) && IsTime(origin.now_ns) && IsPositive(origin.scale) &&
         origin.drained_at_ns >= 0;
}

bool HasOrigins(const SavedLedger& ledger) {
  uint64_t before = 0;
  for (const SavedOrigin& origin : ledger.origins) {
    if (!IsOrigin(origin) || origin.version < before) return false;
    before = origin.version;
  }
  return ledger.origins.size() <= Ledger::kMostMoves && before <= ledger.version &&
         ledger.unknown_before <= ledger.version;
}

bool IsLedger(const SavedState& state, const SavedLedger& ledger) {
  const bool has_clock =
      ledger.clock == SavedLedger::kFrozenClock || ledger.clock < state.clocks.size();
  return has_clock && !ledger.name.empty() && ledger.slot < kMaxSlots &&
         ledger.ns_per_unit >= kLeastNsPerUnit && ledger.ns_per_unit <= kMaxNsPerUnit &&
         IsTime(ledger.opened_at_ns) && HasOrigins(ledger) &&
         ledger.version <= state.policy_version && ledger.lineage <= ledger.version &&
         ledger.unit <= BudgetUnit::kBusyTime && std::isfinite(ledger.overrun_sum) &&
         IsDebt(ledger.empties_at_ns) && IsTable(ledger.table);
}

bool IsCharge(const SavedCharge& charge) {
  return IsDebt(charge.ended_at_ns) && IsDebt(charge.refunded_since_ns) && IsCost(charge.cost);
}

bool IsPermit(const SavedState& state, const SavedPermit& permit) {
  // A day is the longest that one may live; the Check's clock may have been ahead of the saver's.
  constexpr int64_t kMaxLeftNs = 2 * int64_t{86'400'000'000'000};
  return permit.expires_at_ns - kMaxLeftNs <= state.saved_at.monotonic_ns &&
         permit.slot < state.generations.size() && permit.charges <= kMaxBudgetsPerCheck &&
         IsTime(permit.expires_at_ns, 2 * kMaxNs) &&
         permit.policy_version <= state.policy_version && permit.teaches <= kTeachesAll &&
         IsTime(permit.issued_at_ns, 2 * kMaxNs) &&
         (permit.estimate == CostModel::kNone || IsCost(permit.estimate));
}

bool IsRequest(const SavedRequest& request) {
  for (const Violation& warning : request.warnings) {
    if (warning.limit > Limit::kPermits || warning.health_status > HealthStatus::kStale)
      return false;
    if (warning.unit > BudgetUnit::kBusyTime) return false;
    if (warning.level < 0 || warning.level > Identity::kMaxSegments) return false;
  }
  return IsCost(request.predicted_cost) && std::isfinite(request.chunk_scale) &&
         std::isfinite(request.probe.predicted) && std::isfinite(request.probe.most) &&
         request.reason <= Reason::kPermits && IsHealth(request.health.health) &&
         IsTime(request.health.now_ns, 2 * kMaxNs) &&
         IsTime(request.health.real_base_ns, 2 * kMaxNs) &&
         !std::isnan(request.health.health.speed);
}

bool IsAverage(const SavedAverage& average) {
  return std::isfinite(average.value) && average.count <= 8;
}

// `count` is of the average that it belongs to.
bool IsSurge(const SavedSurge& surge, uint32_t count) {
  return std::isfinite(surge.before) && surge.before >= 0 && surge.run < 8 && surge.taught <= 8 &&
         surge.spread <= 20 && (surge.run == 0 || count > 0);
}

bool IsMeasure(const SavedMeasure& measure) {
  return IsAverage(measure.estimate) && IsAverage(measure.actual) && IsAverage(measure.mean) &&
         IsSurge(measure.ratio_surge, measure.estimate.count) &&
         IsSurge(measure.mean_surge, measure.mean.count);
}

bool IsPattern(const SavedPattern& pattern) {
  return pattern.learnt_at != 0 && IsMeasure(pattern.cost) && IsMeasure(pattern.busy);
}

bool IsReportedDebt(const SavedReportedDebt& debt) {
  return debt.key != 0 && IsCost(debt.reported);
}

absl::Status ValidateLedgers(const SavedState& state) {
  absl::flat_hash_set<uint32_t> slots;
  absl::flat_hash_set<std::string> names;
  for (size_t i = 0; i < state.ledgers.size(); ++i) {
    const SavedLedger& ledger = state.ledgers[i];
    const bool is_new = slots.insert(ledger.slot).second && names.insert(ledger.name).second;
    if (!is_new || !IsLedger(state, ledger)) return Wrong("ledger", i);
  }
  return absl::OkStatus();
}

absl::Status ValidatePermits(const SavedState& state) {
  if (state.generations.size() > size_t{1} << 24) return Wrong("permit generations", 0);
  for (size_t i = 0; i < state.generations.size(); ++i) {
    if (state.generations[i] >= kMaxGeneration) return Wrong("permit generation", i);
  }
  size_t charges = 0;
  for (size_t i = 0; i < state.permits.size(); ++i) {
    const bool in_order = i == 0 || state.permits[i].slot > state.permits[i - 1].slot;
    if (!in_order || !IsPermit(state, state.permits[i])) return Wrong("permit", i);
    charges += state.permits[i].charges;
  }
  if (charges != state.charges.size()) return Wrong("number of charges", state.charges.size());
  for (size_t i = 0; i < charges; ++i) {
    if (!IsCharge(state.charges[i])) return Wrong("charge", i);
  }
  return absl::OkStatus();
}

absl::Status ValidateControls(const SavedState& state) {
  for (size_t i = 0; i < state.controls.size(); ++i) {
    const bool in_order = i == 0 || state.controls[i].target > state.controls[i - 1].target;
    if (!in_order || !IsControl(state.controls[i].bytes)) return Wrong("controller", i);
  }
  return absl::OkStatus();
}

}  // namespace

bool IsSound(const SavedSafeRate& saved, size_t ledgers) {
  const SafeReservation& of = saved.reservation;
  const auto is_span = [](int64_t ns) { return ns >= -2 * kMaxNs && ns <= 2 * kMaxNs; };
  return saved.permit != 0 && of.rate > 0 && of.rate <= kMaxAmount && of.charged >= 0 &&
         std::isfinite(of.charged) && is_span(of.charged_until_ns) && is_span(of.until_ns) &&
         of.charges.size() <= kMaxBudgetsPerCheck &&
         std::all_of(of.charges.begin(), of.charges.end(), [&](const SafeCharge& charge) {
           return charge.ledger < ledgers && charge.tag != 0 && charge.per_unit > 0 &&
                  charge.per_unit <= kMaxAmount && charge.unit <= BudgetUnit::kBusyTime;
         });
}

bool IsControl(std::string_view bytes) { return bytes.size() <= kMaxControlBytes; }

bool IsSound(const SavedTable& table) { return IsTable(table); }

Health Storable(Health health) {
  health.sampled_at_ns = std::clamp<int64_t>(health.sampled_at_ns, 0, 2 * kMaxNs);
  health.next_sample_at_ns = std::clamp<int64_t>(health.next_sample_at_ns, 0, 2 * kMaxNs);
  return health;
}

absl::Status Validate(const SavedState& state) {
  constexpr uint64_t kMaxPolicies = uint64_t{1} << 63;
  if (!IsTime(state.saved_at.monotonic_ns)) return Wrong("time", 0);
  if (state.policy_version >= kMaxPolicies) return Wrong("policy", 0);
  if (state.first_generation >= kMaxGeneration || state.generation_floor >= kMaxGeneration) {
    return Wrong("first permit generation", 0);
  }
  for (size_t i = 0; i < state.clocks.size(); ++i) {
    if (!IsClock(state.clocks[i])) return Wrong("clock", i);
  }
  if (absl::Status ledgers = ValidateLedgers(state); !ledgers.ok()) return ledgers;
  if (absl::Status permits = ValidatePermits(state); !permits.ok()) return permits;
  for (size_t i = 0; i < state.requests.size(); ++i) {
    if (!IsRequest(state.requests[i])) return Wrong("request", i);
  }
  for (size_t i = 0; i < state.patterns.size(); ++i) {
    if (!IsPattern(state.patterns[i])) return Wrong("pattern", i);
  }
  for (size_t i = 0; i < state.reported_debts.size(); ++i) {
    if (!IsReportedDebt(state.reported_debts[i])) return Wrong("reported debt", i);
  }
  for (size_t i = 0; i < state.safe_rates.size(); ++i) {
    // A slot that has no ledger any more is left out when it is charged.
    constexpr size_t kAnySlot = std::numeric_limits<uint32_t>::max();
    if (!IsSound(state.safe_rates[i], kAnySlot)) return Wrong("safe rate", i);
  }
  return ValidateControls(state);
}

}  // namespace headgate::engine
