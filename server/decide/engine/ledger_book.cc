#include "server/decide/engine/ledger_book.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "common/strings.h"

namespace headgate::engine {
namespace {

// Names may hold anything: the length keeps "a" + "bc" and "ab" + "c" apart.
std::string JoinNames(std::string_view target, std::string_view name) {
  return absl::StrCat(target.size(), ":", Sv(target), Sv(name));
}

std::string SplitLabel(const SplitSpec& split) {
  if (const auto* by_depth = std::get_if<SplitByDepth>(&split)) {
    return absl::StrCat("depth ", by_depth->depth);
  }
  if (const auto* by_tag = std::get_if<SplitByTag>(&split))
    return absl::StrCat("tag ", by_tag->key);
  return "";
}

size_t BucketsFor(const BudgetSpec& spec) {
  if (std::holds_alternative<SplitNone>(spec.split)) return 0;
  return BucketTable::CapacityFor(spec.max_buckets);
}

bool HasLedger(const BudgetSpec& spec) {
  return spec.rate.has_value() && spec.mode != Mode::kDisabled;
}

void BindSplit(const BudgetSpec& spec, Budget& budget) {
  if (const auto* by_depth = std::get_if<SplitByDepth>(&spec.split)) {
    budget.split = SplitKind::kDepth;
    budget.split_depth = static_cast<uint8_t>(by_depth->depth);
  } else if (const auto* by_tag = std::get_if<SplitByTag>(&spec.split)) {
    budget.split = SplitKind::kTag;
    budget.split_tag = by_tag->key;
  }
}

}  // namespace

LedgerBook::LedgerBook(size_t bucket_bytes, size_t permits, uint64_t seed)
    : bucket_bytes_(bucket_bytes),
      refund_orders_(std::make_unique<RefundOrders>(permits)),
      seed_(seed),
      frozen_(std::make_shared<VirtualClock>(0)) {
  frozen_->Set({.speed = 0}, 0);
}

std::shared_ptr<VirtualClock> LedgerBook::ClockFor(std::string_view target,
                                                   std::string_view profile, Now now,
                                                   Change& change) const {
  const std::string name = JoinNames(target, profile);
  std::shared_ptr<VirtualClock>& clock = change.clocks[name];
  if (clock != nullptr) return clock;
  const auto known = clocks_.find(name);
  clock = known != clocks_.end() ? known->second : std::make_shared<VirtualClock>(now.monotonic_ns);
  return clock;
}

void LedgerBook::BindTargets(Policy& policy, Now now, Change& change) const {
  absl::flat_hash_map<std::string, uint32_t> profiles;
  for (uint32_t i = 0; i < policy.profiles.size(); ++i) profiles[policy.profiles[i].name] = i;
  for (const TargetSpec& spec : policy.target_specs) {
    Target target;
    target.name = spec.name;
    target.key = HashBytes(spec.name, seed_) | 1;
    if (!spec.default_health.empty()) target.default_profile = profiles.at(spec.default_health);
    for (const HealthProfileSpec& profile : policy.profiles) {
      target.gates.push_back(
          ClockFor(spec.name, absl::StrCat("profile ", profile.name), now, change));
    }
    policy.target_by_name[spec.name] = static_cast<uint32_t>(policy.targets.size());
    policy.targets.push_back(std::move(target));
  }
}

void LedgerBook::BindLimits(const BudgetSpec& spec, const TargetSpec& target,
                            Budget& budget) const {
  budget.warn = spec.mode == Mode::kWarn;
  budget.default_cost = spec.default_cost;
  budget.max_cost = spec.max_cost.value_or(Budget::kNoLimit);
  budget.concurrency_key = CombineHash(HashBytes(target.name, seed_), HashBytes(spec.name, seed_));
  if (spec.max_concurrency.has_value()) {
    budget.max_concurrency = *spec.max_concurrency;
    budget.limits_concurrency = true;
  }
  if (spec.rate.has_value()) {
    const std::optional<double> rate = RateOf(spec, target);
    if (BurstOf(spec, rate) == 0) budget.blocked = Limit::kBurst;
    if (rate.has_value() && *rate == 0) budget.blocked = Limit::kRate;
  }
  budget.is_auto = IsAuto(spec);
  if (budget.is_auto) budget.max_charged = BurstOf(spec, std::nullopt);
  budget.unit = UnitOf(spec);
  budget.max_overrun = spec.max_overrun;
  budget.limits_more = budget.blocked.has_value() || budget.limits_concurrency ||
                       spec.max_cost.has_value() || budget.is_auto;
}

Ledger::Axis LedgerBook::AxisFor(const Policy& policy, uint32_t target, const Budget& budget,
                                 const Ledger* before, Now now, Change& change) const {
  constexpr double kNsPerSecond = 1e9;
  const BudgetSpec& spec = policy.budget_specs[budget.spec];
  const TargetSpec& on = policy.target_specs[target];
  const std::optional<double> rate = RateOf(spec, on);
  if (!rate.has_value()) {
    const bool known = before != nullptr && before->axis().is_auto;
    auto clock = known ? before->axis().clock : std::make_shared<VirtualClock>(now.monotonic_ns);
    if (!known) clock->Set({.speed = 0, .status = HealthStatus::kWarming}, now.monotonic_ns);
    return {.clock = std::move(clock),
            .ns_per_unit = Ledger::kAutoNsPerUnit,
            .is_auto = true,
            .unit = budget.unit};
  }
  // Nothing drains at rate 0. What is owed stays owed, in the units of the rate before.
  if (*rate == 0) {
    return {.clock = frozen_,
            .ns_per_unit = before == nullptr ? kNsPerSecond : before->axis().ns_per_unit,
            .unit = budget.unit};
  }
  const bool real = budget.profile == kNoRule;
  return {.clock = real ? ClockFor(on.name, "real time", now, change)
                        : policy.targets[target].gates[budget.profile],
          .ns_per_unit = kNsPerSecond / *rate,
          .unit = budget.unit};
}

uint32_t LedgerBook::SlotFor(const std::string& name, Change& change) const {
  const auto known = slots_.find(name);
  if (known != slots_.end()) return known->second;
  const auto free =
      std::find(change.ledgers.begin() + change.first_free, change.ledgers.end(), nullptr);
  const auto slot = static_cast<uint32_t>(free - change.ledgers.begin());
  if (free == change.ledgers.end()) change.ledgers.emplace_back();
  change.first_free = slot + 1;
  return slot;
}

void LedgerBook::BindBudget(Policy& policy, uint32_t target, uint32_t spec_place, Now now,
                            Change& change) const {
  const BudgetSpec& spec = policy.budget_specs[spec_place];
  Budget& budget = policy.budgets.emplace_back();
  budget.spec = spec_place;
  BindLimits(spec, policy.target_specs[target], budget);
  BindSplit(spec, budget);
  budget.profile = policy.targets[target].default_profile;
  for (uint32_t i = 0; i < policy.profiles.size() && !spec.health.empty(); ++i) {
    if (policy.profiles[i].name == spec.health) budget.profile = i;
  }
  if (!HasLedger(spec)) return;

  const std::string name = JoinNames(policy.targets[target].name, spec.name);
  budget.slot = SlotFor(name, change);
  change.slots[name] = budget.slot;
  std::shared_ptr<Ledger>& ledger = change.ledgers[budget.slot];
  const std::shared_ptr<Ledger> before = ledger;
  Ledger::Axis axis = AxisFor(policy, target, budget, before.get(), now, change);
  const std::string split = SplitLabel(spec.split);
  const size_t buckets = BucketsFor(spec);
  if (before == nullptr || before->axis().clock != axis.clock ||
      before->axis().ns_per_unit != axis.ns_per_unit || before->axis().unit != axis.unit ||
      before->split() != split || before->capacity() != buckets) {
    ledger = std::make_shared<Ledger>(std::move(axis),
                                      Ledger::Layout{.buckets = buckets,
                                                     .split = split,
                                                     .version = policy.version,
                                                     .real_now_ns = now.monotonic_ns},
                                      *refund_orders_);
  }
  budget.ledger = ledger.get();
  budget.prefetches = ledger->capacity() >= BucketTable::kMoreThanCachesHold;
  budget.clock = ledger->axis().clock.get();
  budget.ns_per_unit = ledger->axis().ns_per_unit;
  const double burst = BurstOf(spec, RateOf(spec, policy.target_specs[target]));
  budget.burst_ns = std::min(Ledger::ToNs(burst, budget.ns_per_unit), Ledger::kMaxSpanNs);
  const double max_debt_ns = absl::ToDoubleNanoseconds(spec.max_debt);
  budget.most_debt_ns =
      budget.burst_ns + static_cast<int64_t>(max_debt_ns * ledger->axis().UsualSpeed());
  if (before != nullptr && before != ledger) {
    change.moves.push_back({.before = before, .after = ledger, .burst_ns = budget.burst_ns});
  }
}

absl::Status LedgerBook::CheckMemory(const Policy& policy, Now now) const {
  constexpr size_t kMiB = size_t{1} << 20;
  absl::flat_hash_set<std::string> named;
  size_t buckets = 0;
  for (const BudgetSpec& spec : policy.budget_specs) {
    if (!HasLedger(spec)) continue;
    buckets += policy.target_specs.size() * BucketsFor(spec);
    for (const TargetSpec& target : policy.target_specs) {
      named.insert(JoinNames(target.name, spec.name));
    }
  }
  size_t kept = 0;
  for (const auto& [name, slot] : slots_) {
    const Ledger& ledger = *ledgers_[slot];
    // After a restart this is the first policy, and there is no other to stay with: it is not
    // refused for what others still owe.
    if (!restored_ && !named.contains(name) && ledger.Owes(now.monotonic_ns))
      kept += ledger.capacity();
  }
  const size_t bytes = (buckets + kept) * sizeof(Bucket);
  if (bytes <= bucket_bytes_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the buckets of split budgets would take ", (bytes + kMiB - 1) / kMiB, " MiB, more than the ",
      bucket_bytes_ / kMiB, " MiB they may (", kept * sizeof(Bucket) / kMiB,
      " MiB are budgets that are gone but still owe): lower max_buckets, or raise the memory for ",
      "buckets"));
}

// A ledger that the policy does not name is dropped once it owes nothing and was idle before: until
// the policy is published, Checks under the old one may still charge it.
void LedgerBook::KeepOthers(Now now, Change& change) const {
  for (const auto& [name, slot] : slots_) {
    if (change.slots.contains(name)) continue;
    if (!idle_.contains(name) || change.ledgers[slot]->Owes(now.monotonic_ns)) {
      change.slots[name] = slot;
      change.idle.insert(name);
    } else {
      change.ledgers[slot] = nullptr;
    }
  }
}

absl::StatusOr<LedgerBook::Change> LedgerBook::Prepare(Policy& policy, Now now) {
  if (absl::Status status = CheckMemory(policy, now); !status.ok()) return status;
  Change change;
  change.ledgers = ledgers_;
  BindTargets(policy, now, change);
  policy.budgets.reserve(policy.targets.size() * policy.budget_specs.size());
  for (uint32_t target = 0; target < policy.targets.size(); ++target) {
    for (uint32_t spec = 0; spec < policy.budget_specs.size(); ++spec) {
      BindBudget(policy, target, spec, now, change);
    }
  }
  KeepOthers(now, change);
  policy.ledgers = change.ledgers;
  for (uint32_t i = 0; i < policy.budget_specs.size(); ++i) {
    const bool is_busy = UnitOf(policy.budget_specs[i]) == BudgetUnit::kBusyTime;
    policy.busy_budgets |= uint64_t{is_busy} << (i % 64);
  }
  policy.budget_by_slot.assign(policy.ledgers.size(), kNoRule);
  for (uint32_t i = 0; i < policy.budgets.size(); ++i) {
    const Budget& budget = policy.budgets[i];
    if (budget.ledger != nullptr) policy.budget_by_slot[budget.slot] = i;
  }
  return change;
}

void LedgerBook::Commit(Change change, Now now) noexcept {
  for (const Change::Move& move : change.moves) {
    move.before->MoveTo(*move.after, now.monotonic_ns, move.burst_ns);
  }
  slots_ = std::move(change.slots);
  idle_ = std::move(change.idle);
  ledgers_ = std::move(change.ledgers);
  clocks_ = std::move(change.clocks);
  restored_ = false;
}

}  // namespace headgate::engine
