#include "tests/testing/reference_model.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <variant>

#include "server/decide/engine/bucket_table.h"
#include "server/decide/engine/ledger.h"
#include "server/decide/engine/policy.h"

namespace headgate::model {

using absl::StatusCode;
using engine::CheckRequest;
using engine::PermitId;

namespace {

constexpr double kNsPerSecond = 1e9;

Now Bounded(Now now) {
  now.monotonic_ns = std::clamp<int64_t>(now.monotonic_ns, 0, ModelClock::kEndNs);
  return now;
}

bool IsAmount(double cost) { return cost >= 0 && cost <= engine::kMaxAmount; }  // NaN is none

bool AreTagsValid(absl::Span<const engine::Tag> tags) {
  std::set<std::string_view> keys;
  for (const engine::Tag& tag : tags) {
    if (tag.key.empty() || tag.key.size() + tag.value.size() > engine::kMaxTagBytes) return false;
    if (!keys.insert(tag.key).second) return false;
  }
  return tags.size() <= engine::kMaxTags;
}

bool IsLeaseValid(const CheckRequest& request) {
  if (request.lease == nullptr) return true;
  const engine::LeaseTerms& lease = *request.lease;
  return request.estimated_cost.has_value() && IsAmount(lease.least) && lease.least > 0 &&
         lease.least <= *request.estimated_cost && lease.life >= absl::Milliseconds(100) &&
         lease.life <= absl::Seconds(10) && IsAmount(lease.safe_rate) &&
         lease.safe_life >= absl::ZeroDuration() && lease.safe_life <= absl::Minutes(1);
}

bool IsSpentValid(const engine::ActualCost& actual) {
  if (!actual.spent.has_value()) return true;
  const double estimate = actual.spent->estimate;
  const int64_t pieces = actual.spent->pieces;
  return IsAmount(estimate) && pieces >= 0 && pieces <= 10'000'000'000 &&
         (pieces > 0 || estimate == 0);
}

std::string SplitLabel(const engine::SplitSpec& split) {
  if (const auto* by_depth = std::get_if<engine::SplitByDepth>(&split)) {
    return "depth " + std::to_string(by_depth->depth);
  }
  if (const auto* by_tag = std::get_if<engine::SplitByTag>(&split)) return "tag " + by_tag->key;
  return "";
}

}  // namespace

ReferenceModel::ReferenceModel(absl::Duration permit_ttl)
    : permit_ttl_ns_(absl::ToInt64Nanoseconds(permit_ttl)),
      frozen_(std::make_shared<ModelClock>(0)) {
  frozen_->Set({.speed = 0}, 0);
}

std::shared_ptr<ModelClock> ReferenceModel::ClockFor(const std::string& target,
                                                     const std::string& name, Now now) {
  std::shared_ptr<ModelClock>& clock = clocks_[{target, name}];
  if (clock == nullptr) clock = std::make_shared<ModelClock>(now.monotonic_ns);
  return clock;
}

const ModelLedger* ReferenceModel::FindLedger(const std::string& target,
                                              const std::string& budget) const {
  const auto it = ledgers_.find({target, budget});
  return it == ledgers_.end() ? nullptr : &it->second;
}

ModelLedger::Shape ReferenceModel::ShapeOf(uint32_t target, uint32_t budget,
                                           const ModelLedger* before, Now now) {
  const engine::BudgetSpec& spec = policy_->spec().budgets[budget];
  const std::string& on = policy_->spec().targets[target].name;
  ModelLedger::Shape shape{
      .clock = nullptr, .unit = engine::UnitOf(spec), .split = SplitLabel(spec.split)};
  if (!shape.split.empty()) shape.capacity = engine::BucketTable::CapacityFor(spec.max_buckets);

  const std::optional<double> rate = policy_->RateOf(target, budget);
  if (!rate.has_value()) {
    shape.is_auto = true;
    shape.ns_per_unit = engine::Ledger::kAutoNsPerUnit;
    if (before != nullptr && before->shape().is_auto) {
      shape.clock = before->shape().clock;
    } else {
      shape.clock = std::make_shared<ModelClock>(now.monotonic_ns);
      shape.clock->Set({.speed = 0}, now.monotonic_ns);  // until a rate is found
    }
  } else if (*rate == 0) {
    shape.clock = frozen_;
    shape.ns_per_unit = before == nullptr ? kNsPerSecond : before->shape().ns_per_unit;
  } else {
    const uint32_t profile = policy_->ProfileOf(target, budget);
    const bool real = profile == engine::kNoRule;
    shape.clock =
        ClockFor(on, real ? "" : "profile " + policy_->spec().profiles[profile].name, now);
    shape.ns_per_unit = kNsPerSecond / *rate;
  }
  return shape;
}

ReferenceModel::Moves ReferenceModel::Install(const engine::PolicySpec& spec, Now now) {
  now = Bounded(now);
  policy_ = std::make_unique<ModelPolicy>(spec, ++installs_);
  shape_.clear();
  for (const auto& one : spec.targets) shape_ += one.name + "|";
  for (const auto& one : spec.budgets) shape_ += one.name + "|";
  for (const auto& one : spec.profiles) shape_ += one.name + "|";
  for (const auto& one : spec.rules) shape_ += one.name + "|";
  Moves moves;
  std::map<Key, ModelLedger> after;
  std::set<Key> idle;
  for (uint32_t target = 0; target < policy_->spec().targets.size(); ++target) {
    const std::string& on = policy_->spec().targets[target].name;
    for (const auto& profile : spec.profiles) ClockFor(on, "profile " + profile.name, now);
    for (uint32_t i = 0; i < spec.budgets.size(); ++i) {
      const engine::BudgetSpec& budget = spec.budgets[i];
      if (!budget.rate.has_value() || budget.mode == engine::Mode::kDisabled) continue;
      const ModelLedger* before = FindLedger(on, budget.name);
      const ModelLedger::Shape shape = ShapeOf(target, i, before, now);
      const Key key(on, budget.name);
      if (before == nullptr) {
        after.emplace(key, ModelLedger(shape, installs_, now.monotonic_ns));
      } else if (before->shape() == shape) {
        after.emplace(key, *before);
      } else {
        ++(before->shape().split == shape.split ? moves.same_split : moves.new_split);
        after.emplace(key, ModelLedger::Successor(*before, shape, installs_, now.monotonic_ns,
                                                  policy_->BurstOf(target, i)));
      }
    }
  }
  for (const auto& [key, ledger] : ledgers_) {
    if (after.contains(key)) continue;
    // For one more policy in any case: a Check under the old one might still charge it.
    const bool keep = ledger.Owes(now.monotonic_ns) || !idle_.contains(key);
    ++(keep ? moves.kept : moves.forgotten);
    if (!keep) continue;
    after.emplace(key, ledger);
    idle.insert(key);
  }
  idle_ = std::move(idle);
  ledgers_ = std::move(after);
  return moves;
}

void ReferenceModel::Restart(Now now) {
  now = Bounded(now);
  std::set<std::shared_ptr<ModelClock>> clocks;
  for (const auto& [key, clock] : clocks_) clocks.insert(clock);
  for (const auto& [key, ledger] : ledgers_) clocks.insert(ledger.shape().clock);
  for (const auto& clock : clocks) {
    if (clock != frozen_) clock->Restart(now.monotonic_ns);
  }
  for (auto& [id, permit] : permits_) {
    for (Charge& charge : permit.charges) {
      const auto ledger = ledgers_.find(charge.budget);
      if (permit.reported || ledger == ledgers_.end() || !charge.place.has_value()) continue;
      charge.place = ledger->second.AfterRestart(charge.bucket, *charge.place, permit.version);
    }
  }
  next_probe_ns_.clear();
  for (auto& [key, request] : requests_) {
    if (request.shape == shape_) continue;
    request.answer.violations.clear();
    request.answer.probe = false;
  }
}

bool ReferenceModel::IsLive(PermitId permit, Now now) const {
  const auto it = permits_.find(permit);
  return it != permits_.end() && !it->second.reported &&
         it->second.expires_at_ns > now.monotonic_ns;
}

size_t ReferenceModel::LivePermits(Now now) const {
  now = Bounded(now);
  size_t live = 0;
  for (const auto& [id, permit] : permits_) live += IsLive(id, now) ? 1 : 0;
  return live;
}

std::vector<PermitId> ReferenceModel::OverduePermits(Now now) const {
  now = Bounded(now);
  std::vector<PermitId> overdue;
  for (const auto& [id, permit] : permits_) {
    if (!permit.reported && !IsLive(id, now)) overdue.push_back(id);
  }
  return overdue;
}

std::pair<int64_t, int64_t> ReferenceModel::CountHolders(const ConcurrencyKey& key, Now now) const {
  std::pair<int64_t, int64_t> count(0, 0);
  const auto holders = holders_.find(key);
  if (holders == holders_.end()) return count;
  for (const PermitId permit : holders->second)
    ++(IsLive(permit, now) ? count.first : count.second);
  return count;
}

std::set<StatusCode> ReferenceModel::Faults(const CheckRequest& request, Purpose purpose) const {
  std::set<StatusCode> faults;
  const bool bad = ParseIdentity(request.identity).empty() || !AreTagsValid(request.tags) ||
                   request.pattern.size() > 1024 ||
                   (purpose == Purpose::kCheck && request.request_id.size() > 128) ||
                   (request.estimated_cost.has_value() && !IsAmount(*request.estimated_cost));
  if (bad || !IsLeaseValid(request)) faults.insert(StatusCode::kInvalidArgument);
  uint32_t target = 0;
  const StatusCode found = policy_->FindTarget(request.target, target);
  if (found != StatusCode::kOk) faults.insert(found);
  return faults;
}

void ReferenceModel::Admit(const Decision& decision, PermitId id, double safe_rate, Now now) {
  now = Bounded(now);
  for (const CostKey& cell : decision.probed) {
    next_probe_ns_[cell] = now.monotonic_ns + 10'000'000'000;
  }
  Permit permit{.pattern = decision.pattern,
                .estimate = decision.estimate,
                .version = policy_->version(),
                .issued_at_ns = now.monotonic_ns,
                .expires_at_ns = now.monotonic_ns + permit_ttl_ns_};
  if (decision.is_lease) {
    permit.estimate = decision.answer.granted;
    permit.expires_at_ns = now.monotonic_ns + absl::ToInt64Nanoseconds(decision.answer.lasts);
  }
  for (const ExpectedBucket& bucket : decision.buckets) {
    permit.teaches.insert(bucket.unit);
    if (bucket.skip) continue;
    const engine::BudgetSpec& budget = policy_->spec().budgets[bucket.budget];
    if (budget.max_concurrency.has_value()) {
      permit.holds.emplace_back(decision.target, budget.name, bucket.key);
      holders_[permit.holds.back()].insert(id);
    }
    const auto ledger = ledgers_.find({decision.target, budget.name});
    if (ledger == ledgers_.end() || !budget.rate.has_value()) continue;
    permit.charges.push_back(
        {.budget = ledger->first,
         .bucket = bucket.key,
         .cost = bucket.cost,
         .unit = bucket.unit,
         .place = ledger->second.Charge(bucket.key, bucket.cost_ns, now.monotonic_ns)});
  }
  if (safe_rate > 0) {
    const int64_t begins_ns = absl::ToInt64Nanoseconds(decision.answer.lasts / 4);
    safe_[id] = {.rate = safe_rate,
                 .version = policy_->version(),
                 .charged_until_ns = permit.expires_at_ns + begins_ns,
                 .until_ns = permit.expires_at_ns + absl::ToInt64Nanoseconds(decision.safe_time),
                 .buckets = *SafeBuckets(decision)};
  }
  permits_[id] = std::move(permit);
  if (!decision.request_key.empty())
    requests_[decision.request_key] = {id, decision.answer, shape_};
}

std::optional<std::vector<ReferenceModel::Safe::Bucket>> ReferenceModel::SafeBuckets(
    const Decision& decision) const {
  std::vector<Safe::Bucket> buckets;
  for (const ExpectedBucket& bucket : decision.buckets) {
    const engine::BudgetSpec& budget = policy_->spec().budgets[bucket.budget];
    if (bucket.skip || budget.mode == engine::Mode::kWarn) continue;
    if (budget.max_concurrency.has_value()) return std::nullopt;
    const ModelLedger* const ledger = FindLedger(decision.target, budget.name);
    if (ledger == nullptr || !budget.rate.has_value() || bucket.cost <= 0) continue;
    if (ledger->is_auto() || bucket.probes) return std::nullopt;
    const double per_unit = bucket.cost / decision.answer.granted;
    if (!IsAmount(per_unit) || per_unit == 0) return std::nullopt;
    buckets.push_back({.budget = {decision.target, budget.name},
                       .bucket = bucket.key,
                       .per_unit = per_unit,
                       .unit = bucket.unit});
  }
  return buckets;
}

double ReferenceModel::MostOfSafeRate(const Decision& decision, double wanted) const {
  if (decision.answer.verdict == engine::Verdict::kDenied || wanted <= 0) return 0;
  if (decision.safe_time <= decision.answer.lasts / 4) return 0;
  if (decision.answer.reason == engine::Reason::kExempt) return wanted;
  const std::optional<std::vector<Safe::Bucket>> buckets = SafeBuckets(decision);
  if (!buckets.has_value()) return 0;
  double most = wanted;
  for (const Safe::Bucket& bucket : *buckets) {
    double left = 1e9 / ledgers_.at(bucket.budget).shape().ns_per_unit;
    for (const auto& [id, safe] : safe_) {
      for (const Safe::Bucket& other : safe.buckets) {
        const bool is_same = other.budget == bucket.budget && other.bucket == bucket.bucket;
        if (is_same) left -= safe.rate * other.per_unit;
      }
    }
    most = std::min(most, std::max(left, 0.0) / 2 / bucket.per_unit);
  }
  return most;
}

void ReferenceModel::ChargeSafeRates(Now now) {
  now = Bounded(now);
  if (policy_ == nullptr) return;
  for (;;) {
    const auto due = std::min_element(safe_.begin(), safe_.end(), [](const auto& a, const auto& b) {
      return a.second.charged_until_ns < b.second.charged_until_ns;
    });
    if (due == safe_.end() || due->second.charged_until_ns > now.monotonic_ns) return;
    Safe& safe = due->second;
    const int64_t to_ns = std::min(now.monotonic_ns + 50'000'000, safe.until_ns);
    if (to_ns > safe.charged_until_ns) {
      const double seconds = static_cast<double>(to_ns - safe.charged_until_ns) / 1e9;
      const bool is_charged =
          ChargeSafe(safe, seconds, now.monotonic_ns - safe.charged_until_ns, now);
      if (is_charged) safe.charged += safe.rate * seconds;
      safe.charged_until_ns = to_ns;
    } else if (safe.buckets.empty()) {
      safe_.erase(due);
    } else {
      // For ten minutes it is known what was charged.
      safe.buckets.clear();
      safe.charged_until_ns = safe.until_ns += 600'000'000'000;
    }
  }
}

bool ReferenceModel::ChargeSafe(const Safe& safe, double seconds, int64_t late_ns, Now now) {
  bool is_charged = false;
  for (const Safe::Bucket& bucket : safe.buckets) {
    const auto ledger = ledgers_.find(bucket.budget);
    if (ledger == ledgers_.end() || ledger->second.shape().unit != bucket.unit) continue;
    const std::optional<BudgetThere> there = Find(bucket.budget);
    if (!there.has_value() || there->spec->mode == engine::Mode::kWarn) continue;
    is_charged |= ledger->second.ChargeLate(
        bucket.bucket, safe.version, ledger->second.ToNs(safe.rate * bucket.per_unit * seconds),
        MostDebt(*there, ledger->second), late_ns, now.monotonic_ns);
  }
  return is_charged;
}

std::optional<ReferenceModel::BudgetThere> ReferenceModel::Find(const Key& key) const {
  const auto& [target, name] = key;
  for (uint32_t at = 0; at < policy_->spec().targets.size(); ++at) {
    if (policy_->spec().targets[at].name != target) continue;
    for (uint32_t i = 0; i < policy_->spec().budgets.size(); ++i) {
      const engine::BudgetSpec& budget = policy_->spec().budgets[i];
      if (budget.name != name || !budget.rate.has_value()) continue;
      if (budget.mode == engine::Mode::kDisabled) continue;
      return BudgetThere{&budget, policy_->BurstOf(at, i)};
    }
  }
  return std::nullopt;
}

int64_t ReferenceModel::MostDebt(const BudgetThere& there, const ModelLedger& ledger) {
  // Of an auto budget, a second of the clock at one busy second a second.
  const double max_debt_ns = absl::ToDoubleSeconds(there.spec->max_debt) *
                             (ledger.is_auto() ? engine::Ledger::kAutoNsPerUnit : kNsPerSecond);
  return ledger.BurstToNs(there.burst) + static_cast<int64_t>(max_debt_ns);
}

ReferenceModel::Most ReferenceModel::MostCharged(const Charge& charge, const ModelLedger& ledger,
                                                 double since) const {
  double expected = charge.cost;
  if (charge.unit == engine::BudgetUnit::kBusyTime) {
    expected = ledger.is_auto() ? since : std::max(expected, since);
  }
  const std::optional<BudgetThere> there = Find(charge.budget);
  if (there.has_value()) {
    const int64_t burst_ns = ledger.BurstToNs(there->burst);
    return {.cost = std::max(there->spec->max_overrun * expected, ledger.ToUnits(burst_ns)),
            .debt_ns = MostDebt(*there, ledger)};
  }
  return {.cost = engine::kDefaultMaxOverrun * expected, .debt_ns = {}};
}

Reported ReferenceModel::Report(PermitId id, const engine::ActualCost& actual, Now now) {
  now = Bounded(now);
  Reported reported;
  const auto found = permits_.find(id);
  const absl::Duration longest = 64 * absl::Nanoseconds(permit_ttl_ns_);
  const bool is_time = !actual.busy_time.has_value() ||
                       (*actual.busy_time >= absl::ZeroDuration() && *actual.busy_time <= longest);
  if (!is_time || (actual.cost.has_value() && !IsAmount(*actual.cost)) || !IsSpentValid(actual)) {
    reported.code = StatusCode::kInvalidArgument;
  } else if (found == permits_.end()) {
    reported.code = StatusCode::kNotFound;
  } else if (found->second.reported) {
    reported.outcome = engine::ReportOutcome::kAlreadySettled;
  } else {
    Permit& permit = found->second;
    reported.late = !IsLive(id, now);
    permit.reported = true;
    const auto safe = safe_.find(id);
    const double paid = safe == safe_.end() ? 0 : safe->second.charged;
    if (safe != safe_.end()) safe_.erase(safe);
    for (const ConcurrencyKey& key : permit.holds) holders_[key].erase(id);
    const absl::Duration since = absl::Nanoseconds(now.monotonic_ns - permit.issued_at_ns);
    const auto seconds = [&](absl::Duration time) {
      return absl::ToDoubleSeconds(std::clamp(time, absl::ZeroDuration(), longest));
    };
    const double waited = seconds(since);
    const bool is_sum = actual.spent.has_value() && permit.estimate.value_or(0) > 0;
    // What its safe rate did not pay for is the lease's own, and its part of what is told.
    const double safely = is_sum ? actual.spent->safe_estimate : 0;
    const double spent = is_sum ? actual.spent->estimate + std::max(safely - paid, 0.0) : 0;
    const double all_spent = is_sum ? actual.spent->estimate + safely : 0;
    const double part = all_spent > 0 ? spent / all_spent : 1;
    const double share = is_sum ? spent / *permit.estimate : 1;
    const double pieces = is_sum ? static_cast<double>(actual.spent->pieces) * part : 1;
    std::optional<double> busy = seconds(actual.busy_time.value_or(since)) * part;
    if (is_sum && !actual.busy_time.has_value()) busy.reset();
    std::optional<double> cost = actual.cost;
    if (is_sum && cost.has_value()) *cost *= part;
    ModelCosts::Lesson lesson{.estimate = permit.estimate};
    if (is_sum) lesson.estimate = spent / pieces;
    for (const Charge& charge : permit.charges) {
      const bool is_busy = charge.unit == engine::BudgetUnit::kBusyTime;
      std::optional<double>& charged = is_busy ? lesson.charged_busy : lesson.charged_cost;
      charged = std::max(charged.value_or(0), charge.cost * share / pieces);
      const auto ledger = ledgers_.find(charge.budget);
      if (ledger == ledgers_.end()) continue;  // gone, and owed nothing any more
      const std::optional<double>& told = is_busy ? busy : cost;
      if (!told.has_value() && share == 1) continue;
      const double all = told.value_or(charge.cost * share);
      const Most most = MostCharged(charge, ledger->second, waited);
      reported.charges.push_back(ledger->second.Settle(charge.bucket, *charge.place, permit.version,
                                                       charge.cost, std::min(all, most.cost),
                                                       most.debt_ns, now.monotonic_ns));
      reported.charges.back().overrun = all > most.cost;
    }
    const auto of_one = [&](std::optional<double> sum) {
      return sum.has_value() ? std::optional(*sum / pieces) : std::nullopt;
    };
    if (permit.teaches.contains(engine::BudgetUnit::kCost)) lesson.cost = of_one(cost);
    if (permit.teaches.contains(engine::BudgetUnit::kBusyTime)) lesson.busy = of_one(busy);
    if (pieces > 0) costs_.Learn(permit.pattern, lesson);
  }
  return reported;
}

StatusCode ReferenceModel::SetHealth(std::string_view target, std::string_view profile,
                                     const engine::Health& health, Now now) {
  now = Bounded(now);
  if (policy_ == nullptr) return StatusCode::kFailedPrecondition;
  uint32_t place = 0;
  const StatusCode found = policy_->FindTarget(target, place);
  if (found != StatusCode::kOk) return found;
  if (policy_->FindProfile(profile) == engine::kNoRule) return StatusCode::kNotFound;
  ClockFor(policy_->spec().targets[place].name, "profile " + std::string(profile), now)
      ->Set(health, now.monotonic_ns);
  return StatusCode::kOk;
}

StatusCode ReferenceModel::SetAutoRate(std::string_view target, std::string_view budget,
                                       const engine::Engine::AutoRateSetting& setting, Now now) {
  now = Bounded(now);
  if (policy_ == nullptr) return StatusCode::kFailedPrecondition;
  if (!(setting.rate >= 0 && setting.rate <= engine::VirtualClock::kMaxSpeed))
    return StatusCode::kInvalidArgument;
  uint32_t place = 0;
  const StatusCode found = policy_->FindTarget(target, place);
  if (found != StatusCode::kOk) return found;
  for (const engine::BudgetSpec& spec : policy_->spec().budgets) {
    if (spec.name != budget || spec.mode == engine::Mode::kDisabled || !spec.rate.has_value() ||
        !std::holds_alternative<engine::AutoRate>(*spec.rate)) {
      continue;
    }
    FindLedger(policy_->spec().targets[place].name, spec.name)
        ->shape()
        .clock->Set({.speed = setting.rate * engine::Ledger::kAutoSpeed,
                     .gate_shut = setting.shut,
                     .next_sample_at_ns = setting.next_change_at_ns},
                    now.monotonic_ns);
    return StatusCode::kOk;
  }
  return StatusCode::kNotFound;
}

}  // namespace headgate::model
