// The model's decision: the stages of concepts.md in their order, each as it is written there.

#include <algorithm>
#include <variant>

#include "server/decide/engine/ledger.h"
#include "server/decide/engine/policy.h"
#include "tests/testing/reference_model.h"

namespace headgate::model {

using engine::BudgetSpec;
using engine::CheckRequest;
using engine::Limit;
using engine::Reason;
using engine::Verdict;

class ReferenceModel::Examination {
 public:
  Examination(const ReferenceModel& model, const CheckRequest& request, uint32_t target, Now now,
              Decision& decision)
      : model_(model),
        policy_(*model.policy_),
        target_(target),
        on_(policy_.spec().targets[target].name),
        request_(request),
        estimate_(request.lease == nullptr ? request.estimated_cost : request.lease->least),
        segments_(ParseIdentity(request.identity)),
        now_(now),
        match_(policy_.Find(request, target, now)),
        decision_(decision),
        answer_(decision.answer) {}

  // Which is a fault unless a rule decides without them.
  bool TooManyBudgets() const {
    return match_.charges.size() > engine::kMaxBudgetsPerCheck && match_.exempt.empty();
  }
  bool IsDenied() const { return !match_.deny.empty(); }

  void Run() {
    decision_.rules = match_.all;
    if (!match_.resume.empty() && match_.exempt.empty()) {
      decision_.resumed_by = match_.resume;
      decision_.lifted = match_.lifted;
    }
    const bool rolls = match_.exempt.empty() && match_.deny.empty();
    decision_.reject_ratio = rolls ? match_.reject_ratio : 0;
    answer_.priority = match_.priority;
    answer_.any_budgets = TooManyBudgets();
    Price();
    if (RulesDecide()) {
      Enlarge();
      for (ExpectedBucket& bucket : decision_.buckets) ViewRoom(bucket);
      return;
    }
    ExamineGates();
    for (ExpectedBucket& bucket : decision_.buckets) ExamineBudget(bucket);
    BoundAdvice();
    Conclude();
    Enlarge();
    for (ExpectedBucket& bucket : decision_.buckets) ViewRoom(bucket);
  }

 private:
  struct Wait {
    absl::Duration time = absl::InfiniteDuration();
    bool guessed = false;  // when to ask again, not when there is room
  };

  const BudgetSpec& Spec(const ExpectedBucket& bucket) const {
    return policy_.spec().budgets[bucket.budget];
  }

  // Null: the rate is unlimited.
  const ModelLedger* Ledger(const ExpectedBucket& bucket) const {
    if (!Spec(bucket).rate.has_value()) return nullptr;
    return model_.FindLedger(on_, Spec(bucket).name);
  }

  void Price() {
    decision_.pattern = {on_, segments_.back(), CallerOf(), std::string(request_.pattern)};
    cost_ = model_.costs_.PredictCost(decision_.pattern, estimate_);
    busy_ = model_.costs_.PredictBusyTime(decision_.pattern, estimate_);
    std::optional<double> cost;
    std::optional<double> busy;
    for (const auto& [budget, rules] : match_.charges) {
      if (!match_.exempt.empty()) break;  // charged to none
      ExpectedBucket& bucket = decision_.buckets.emplace_back();
      bucket.budget = budget;
      bucket.rules = rules;
      bucket.unit = engine::UnitOf(Spec(bucket));
      const bool is_busy = bucket.unit == engine::BudgetUnit::kBusyTime;
      bucket.asked = Predicted(bucket).value.value_or(Spec(bucket).default_cost);
      bucket.cost = bucket.asked;
      std::optional<double>& largest = is_busy ? busy : cost;
      largest = std::max(largest.value_or(0), bucket.asked);
      if (IsAuto(bucket) && busy_.by_ratio) advised_ = bucket.asked;
      if (IsAuto(bucket)) {
        bucket.cost = std::min(bucket.cost, policy_.BurstOf(target_, bucket.budget));
      }
      Place(bucket);
      View(bucket);
    }
    answer_.predicted_cost = cost_.value.value_or(cost.value_or(1));
    if (busy.has_value()) answer_.predicted_busy_time = absl::Seconds(*busy);
  }

  // Nobody shares what others learn, unless the policy says so.
  std::string CallerOf() const {
    return policy_.spec().share_patterns ? "" : std::string(request_.caller);
  }

  const ModelCosts::Prediction& Predicted(const ExpectedBucket& bucket) const {
    return bucket.unit == engine::BudgetUnit::kBusyTime ? busy_ : cost_;
  }

  // Above what is admitted at most, by what was learnt and not by the job's own word.
  bool MayProbe(const ExpectedBucket& bucket, Limit limit) const {
    const BudgetSpec& spec = Spec(bucket);
    if (!Predicted(bucket).by.has_value() || ZeroOfDebt(bucket).has_value()) return false;
    const bool in_its_unit = bucket.unit == engine::BudgetUnit::kCost;
    const double asked = in_its_unit ? estimate_.value_or(-1) : -1;
    if (limit == Limit::kBurst) {
      const ModelLedger& ledger = *Ledger(bucket);
      const int64_t burst_ns = ledger.BurstToNs(policy_.BurstOf(target_, bucket.budget));
      return asked <= 0 || ledger.FittedToNs(asked, burst_ns) <= burst_ns;
    }
    return *spec.max_cost != 0 && asked <= *spec.max_cost;
  }

  absl::Duration UntilProbe(const ExpectedBucket& bucket) const {
    const auto next = model_.next_probe_ns_.find(*Predicted(bucket).by);
    if (next == model_.next_probe_ns_.end()) return absl::ZeroDuration();
    const absl::Duration wait = absl::Nanoseconds(next->second - now_.monotonic_ns);
    // What is further ahead was taken before time ran back.
    return wait <= absl::Seconds(10) ? std::max(wait, absl::ZeroDuration()) : absl::ZeroDuration();
  }

  // By more than the rounding of a ratio in single precision; everything is, where the limit is 0.
  bool IsTooCostly(const ExpectedBucket& bucket) const {
    const std::optional<double>& most = Spec(bucket).max_cost;
    return most.has_value() && (*most == 0 || bucket.asked > *most * 1.000001);
  }

  // What it is charged, in virtual time of its ledger.
  int64_t CostNs(const ExpectedBucket& bucket) const {
    const ModelLedger& ledger = *Ledger(bucket);
    const int64_t burst_ns = ledger.BurstToNs(policy_.BurstOf(target_, bucket.budget));
    const int64_t cost_ns = ledger.FittedToNs(bucket.cost, burst_ns);
    return bucket.probes ? std::min(cost_ns, burst_ns) : cost_ns;
  }

  double Capped(const ExpectedBucket& bucket, double cost) const {
    return bucket.burst.has_value() ? std::min(cost, *bucket.burst) : cost;
  }

  // When it may be let through to be measured, with room for what is then charged.
  Wait WaitToProbe(const ExpectedBucket& bucket) const {
    Wait wait{absl::ZeroDuration(), false};
    if (const ModelLedger* ledger = Ledger(bucket); ledger != nullptr) {
      const int64_t burst_ns = ledger->BurstToNs(policy_.BurstOf(target_, bucket.budget));
      const double cost = Capped(bucket, bucket.cost);
      wait = TimeToRoom(bucket, std::min(ledger->ToNs(cost), burst_ns), burst_ns);
    }
    wait.time = std::max(wait.time, UntilProbe(bucket));
    return wait;
  }

  // True: it has its turn. Else it is refused until then.
  bool Probe(ExpectedBucket& bucket, Limit limit, double observed, double limit_value) {
    if (UntilProbe(bucket) == absl::ZeroDuration()) {
      decision_.probed.insert(*Predicted(bucket).by);
      bucket.probes = true;
      bucket.cost = Capped(bucket, bucket.cost);
      return true;
    }
    Violate(bucket, limit, observed, limit_value, WaitToProbe(bucket).time);
    return false;
  }

  bool IsAuto(const ExpectedBucket& bucket) const {
    const std::optional<engine::RateSpec>& rate = Spec(bucket).rate;
    return rate.has_value() && std::holds_alternative<engine::AutoRate>(*rate);
  }

  // Which bucket of its budget it is.
  void Place(ExpectedBucket& bucket) const {
    const engine::SplitSpec& split = Spec(bucket).split;
    if (const auto* by_depth = std::get_if<engine::SplitByDepth>(&split)) {
      bucket.level = std::min(by_depth->depth, static_cast<int>(segments_.size()));
      bucket.shown = LevelOf(segments_, bucket.level);
      bucket.key = "level " + bucket.shown;
    } else if (const auto* by_tag = std::get_if<engine::SplitByTag>(&split)) {
      bucket.key = "no tag";
      for (const engine::Tag& tag : request_.tags) {
        if (tag.key != std::string_view(by_tag->key)) continue;
        bucket.shown = tag.value;
        bucket.key = "tag " + bucket.shown;
      }
    }
  }

  // What an explanation shows of it.
  void View(ExpectedBucket& bucket) const {
    const BudgetSpec& spec = Spec(bucket);
    if (spec.max_concurrency.has_value()) {
      std::tie(bucket.outstanding, bucket.overdue) =
          model_.CountHolders({on_, spec.name, bucket.key}, now_);
    }
    if (const ModelLedger* ledger = Ledger(bucket); ledger != nullptr) {
      const int64_t burst_ns = ledger->BurstToNs(policy_.BurstOf(target_, bucket.budget));
      bucket.debt = ledger->ToUnits(ledger->Debt(bucket.key, now_.monotonic_ns));
      bucket.burst = ledger->ToUnits(burst_ns);
      const double speed = ledger->shape().clock->health().speed;
      bucket.rate = policy_.RateOf(target_, bucket.budget);
      bucket.speed = bucket.rate.has_value() ? speed : 1;
      if (!bucket.rate.has_value()) bucket.rate = speed / engine::Ledger::kAutoSpeed;
    }
  }

  void ViewRoom(ExpectedBucket& bucket) const {
    const BudgetSpec& spec = Spec(bucket);
    if (const ModelLedger* ledger = Ledger(bucket); ledger != nullptr) {
      const int64_t burst_ns = ledger->BurstToNs(policy_.BurstOf(target_, bucket.budget));
      const Wait wait = TimeToRoom(bucket, CostNs(bucket), burst_ns);
      bucket.room_in = wait.time;
      bucket.ask_again = wait.guessed;
    }
    const bool too_costly = IsTooCostly(bucket);
    const bool too_large = bucket.room_in == absl::InfiniteDuration();
    bool never = too_costly || too_large;
    if (never && (!too_costly || MayProbe(bucket, Limit::kMaxCost)) &&
        (!too_large || MayProbe(bucket, Limit::kBurst))) {
      never = false;
      const Wait wait = WaitToProbe(bucket);
      bucket.room_in = wait.time;
      bucket.ask_again |= wait.guessed;
    }
    if (spec.max_concurrency.has_value() && bucket.outstanding >= *spec.max_concurrency) {
      bucket.room_in = std::max(bucket.room_in, absl::Milliseconds(100));
      bucket.ask_again = true;
    }
    const bool zero = spec.max_cost == 0.0 || spec.max_concurrency == 0;
    if (never || zero || ZeroOfDebt(bucket).has_value()) bucket.room_in = absl::InfiniteDuration();
    if (bucket.room_in == absl::InfiniteDuration()) bucket.ask_again = false;
  }

  std::optional<Limit> ZeroOfDebt(const ExpectedBucket& bucket) const {
    if (!Spec(bucket).rate.has_value()) return std::nullopt;
    if (policy_.RateOf(target_, bucket.budget) == 0.0) return Limit::kRate;
    if (policy_.BurstOf(target_, bucket.budget) == 0) return Limit::kBurst;
    return std::nullopt;
  }

  bool RulesDecide() {
    if (!match_.exempt.empty()) {
      answer_.reason = Reason::kExempt;
      return true;
    }
    ExpectedViolation violation;
    if (!match_.deny.empty()) {
      answer_.reason = Reason::kDenyRule;
      violation.rules.clear();
      violation.retry_after = absl::ZeroDuration();
      for (const uint32_t rule : match_.deny) {  // the one that applies longest
        const absl::Duration wait = policy_.AppliesFor(rule, now_);
        if (wait > *violation.retry_after) violation.rules.clear();
        if (wait >= *violation.retry_after) violation.rules.insert(rule);
        violation.retry_after = std::max(wait, *violation.retry_after);
      }
    } else if (match_.reject_ratio >= 1 && request_.lease == nullptr) {
      answer_.reason = Reason::kRejectRatio;
      violation.rules = match_.reject;
      violation.limit_value = match_.reject_ratio;
      violation.retry_after = absl::ZeroDuration();
      for (const uint32_t rule : match_.reject) {
        violation.retry_after = std::max(*violation.retry_after, policy_.AppliesFor(rule, now_));
      }
    } else {
      return false;
    }
    answer_.verdict = Verdict::kDenied;
    answer_.violations.push_back(violation);
    return true;
  }

  // Looks at one gate, for the budgets it is the gate of. Returns whether it is shut.
  bool ExamineGate(uint32_t profile, ExpectedViolation violation) {
    const auto clock =
        model_.clocks_.find({on_, "profile " + policy_.spec().profiles[profile].name});
    const engine::Health& health = clock->second->health();
    const bool first = answer_.slowest_profiles.contains(engine::kNoRule);
    if (first || health.speed < answer_.speed) answer_.slowest_profiles.clear();
    answer_.speed = first ? health.speed : std::min(answer_.speed, health.speed);
    if (health.speed == answer_.speed) answer_.slowest_profiles.insert(profile);
    if (!health.gate_shut) return false;
    violation.limit = Limit::kHealth;
    violation.profile = profile;
    violation.signal = health.signal;
    violation.observed = static_cast<double>(health.pressure);
    violation.limit_value = 1;
    if (health.next_sample_at_ns > now_.monotonic_ns) {
      violation.retry_after = absl::Nanoseconds(health.next_sample_at_ns - now_.monotonic_ns);
    }
    answer_.violations.push_back(violation);
    return true;
  }

  void ExamineGates() {
    for (const auto& [profile, rules] : match_.gates) ExamineGate(profile, {.rules = rules});
    if (!match_.gates.empty()) return;
    const uint32_t by_default = policy_.DefaultProfile(target_);
    if (decision_.buckets.empty() && by_default != engine::kNoRule) ExamineGate(by_default, {});

    std::map<uint32_t, std::set<uint32_t>> enforced;
    std::map<uint32_t, std::set<uint32_t>> warned;
    for (const ExpectedBucket& bucket : decision_.buckets) {
      const uint32_t profile = policy_.ProfileOf(target_, bucket.budget);
      if (profile == engine::kNoRule) continue;
      const bool warns = Spec(bucket).mode == engine::Mode::kWarn;
      (warns ? warned : enforced)[profile].insert(bucket.budget);
    }
    for (const auto& [profile, budgets] : enforced) ExamineGate(profile, {.budgets = budgets});
    for (const auto& [profile, budgets] : warned) {
      const bool shut = ExamineGate(
          profile,
          {.warn = true, .budgets = budgets, .may_be_missing = enforced.contains(profile)});
      for (ExpectedBucket& bucket : decision_.buckets) {
        bucket.skip |= shut && budgets.contains(bucket.budget);
      }
    }
  }

  void Violate(ExpectedBucket& bucket, Limit limit, double observed, double limit_value,
               std::optional<absl::Duration> retry_after) {
    bucket.skip = true;
    const uint32_t profile = policy_.ProfileOf(target_, bucket.budget);
    ExpectedViolation violation{.limit = limit,
                                .warn = Spec(bucket).mode == engine::Mode::kWarn,
                                .budgets = {bucket.budget},
                                .rules = bucket.rules,
                                .profile = profile,
                                .level = bucket.level,
                                .observed = observed,
                                .limit_value = limit_value,
                                .retry_after = retry_after};
    if (const ModelLedger* ledger = Ledger(bucket); ledger != nullptr) {
      const engine::Health& health = ledger->shape().clock->health();
      if (health.speed < 1) violation.signal = health.signal;
    }
    answer_.violations.push_back(violation);
  }

  void ExamineBudget(ExpectedBucket& bucket) {
    const BudgetSpec& spec = Spec(bucket);
    const std::optional<Limit> zero = ZeroOfDebt(bucket);
    if (zero.has_value()) Violate(bucket, *zero, bucket.asked, 0, absl::InfiniteDuration());
    if (IsTooCostly(bucket) && MayProbe(bucket, Limit::kMaxCost)) {
      Probe(bucket, Limit::kMaxCost, bucket.asked, *spec.max_cost);
    } else if (IsTooCostly(bucket)) {
      Violate(bucket, Limit::kMaxCost, bucket.asked, *spec.max_cost, absl::InfiniteDuration());
    }
    if (spec.max_concurrency.has_value() && bucket.outstanding >= *spec.max_concurrency) {
      std::optional<absl::Duration> wait;
      if (*spec.max_concurrency == 0) wait = absl::InfiniteDuration();
      Violate(bucket, Limit::kMaxConcurrency, static_cast<double>(bucket.outstanding),
              static_cast<double>(*spec.max_concurrency), wait);
    }
    if (IsAuto(bucket)) {
      Advise();
      const engine::Health& health = Ledger(bucket)->shape().clock->health();
      if (health.gate_shut) {
        std::optional<absl::Duration> wait;
        if (health.next_sample_at_ns > now_.monotonic_ns) {
          wait = absl::Nanoseconds(health.next_sample_at_ns - now_.monotonic_ns);
        }
        Violate(bucket, Limit::kProbe, bucket.cost, 0, wait);
        return;
      }
    }
    if (zero.has_value()) return;
    const ModelLedger* ledger = Ledger(bucket);
    if (ledger == nullptr) return;
    const int64_t burst_ns = ledger->BurstToNs(policy_.BurstOf(target_, bucket.budget));
    int64_t& cost_ns = bucket.cost_ns;
    cost_ns = CostNs(bucket);
    const auto fits = [&] {
      return Wide{ledger->Debt(bucket.key, now_.monotonic_ns)} + cost_ns <= burst_ns;
    };
    if (fits()) return;
    if (cost_ns > burst_ns && MayProbe(bucket, Limit::kBurst)) {
      if (!Probe(bucket, Limit::kBurst, bucket.debt + bucket.asked, *bucket.burst)) return;
      cost_ns = CostNs(bucket);
      if (fits()) return;
    }
    Violate(bucket, Limit::kBurst, bucket.debt + bucket.cost, ledger->ToUnits(burst_ns),
            TimeToRoom(bucket, cost_ns, burst_ns).time);
  }

  // What stands still waits for the next sample: so does an auto budget whose controller thinks
  // again before there is room.
  Wait TimeToRoom(const ExpectedBucket& bucket, int64_t cost_ns, int64_t burst_ns) const {
    const ModelLedger& ledger = *Ledger(bucket);
    if (cost_ns > burst_ns) return {};
    const int64_t room_ns = burst_ns - cost_ns;
    const std::optional<int64_t> exact =
        ledger.RealTimeToDebt(bucket.key, room_ns, now_.monotonic_ns);
    if (exact == 0) return {absl::ZeroDuration()};
    const int64_t sample_in = ledger.shape().clock->health().next_sample_at_ns - now_.monotonic_ns;
    const bool thinks_before =
        IsAuto(bucket) && sample_in > 0 && sample_in < exact.value_or(ModelClock::kEndNs);
    if (exact.has_value() && !thinks_before) return {absl::Nanoseconds(*exact)};
    if (!IsAuto(bucket) && ledger.OutlastsTime(bucket.key, room_ns)) return {};
    return {sample_in > 0 ? absl::Nanoseconds(sample_in) : absl::Seconds(1), true};
  }

  // By how much the next chunk should be larger to take 20 ms, unless it takes 5 to 50. Where the
  // estimate is not what that follows from, nobody knows.
  void Advise() {
    if (!advised_.has_value() || *advised_ == 0) return;
    if (*advised_ >= 0.005 && *advised_ <= 0.05) return;
    answer_.chunk_scale = std::clamp(0.02 / *advised_, 1.0 / 16, 16.0);
  }

  // So that two of them pass the limits of the other budgets; unless those leave no room to grow.
  void BoundAdvice() {
    if (answer_.chunk_scale <= 1) return;
    for (const ExpectedBucket& bucket : decision_.buckets) {
      const BudgetSpec& spec = Spec(bucket);
      if (IsAuto(bucket) || spec.mode == engine::Mode::kWarn || bucket.cost <= 0) continue;
      double most = spec.max_cost.value_or(std::numeric_limits<double>::infinity());
      if (spec.rate.has_value() && !ZeroOfDebt(bucket).has_value()) {
        const ModelLedger& ledger = *Ledger(bucket);
        most = std::min(most,
                        ledger.ToUnits(ledger.BurstToNs(policy_.BurstOf(target_, bucket.budget))));
      }
      answer_.chunk_scale = std::min(answer_.chunk_scale, most / 2 / bucket.cost);
    }
    if (answer_.chunk_scale <= 1) answer_.chunk_scale = 0;
  }

  void Conclude() {
    for (const ExpectedViolation& violation : answer_.violations) {
      if (violation.warn) continue;
      Reason stage = Reason::kCapacity;
      if (violation.limit == Limit::kHealth) stage = Reason::kHealth;
      if (violation.limit == Limit::kMaxCost) stage = Reason::kMaxCost;
      if (violation.limit == Limit::kMaxConcurrency) stage = Reason::kMaxConcurrency;
      const bool first = answer_.verdict == Verdict::kAllowed;
      answer_.reason = first ? stage : std::min(answer_.reason, stage);
      answer_.verdict = Verdict::kDenied;
    }
    if (answer_.verdict == Verdict::kDenied) decision_.probed.clear();
    for (const ExpectedBucket& bucket : decision_.buckets) {
      answer_.probe |= bucket.probes && !bucket.skip && answer_.verdict == Verdict::kAllowed;
    }
  }

  // As much of a lease as there is room for in all buckets, in pieces of what was examined.
  void Enlarge() {
    if (request_.lease == nullptr || answer_.verdict == Verdict::kDenied) return;
    const double most = *request_.estimated_cost;
    answer_.granted = most;
    answer_.lasts = request_.lease->life;
    double pieces = most / *estimate_;
    if (answer_.reason == Reason::kExempt) {
      answer_.predicted_cost *= pieces;
      if (answer_.predicted_busy_time.has_value()) *answer_.predicted_busy_time *= pieces;
      return;
    }
    bool probes = false;
    for (const ExpectedBucket& bucket : decision_.buckets) {
      const ModelLedger* ledger = Ledger(bucket);
      if (Spec(bucket).mode == engine::Mode::kWarn || ledger == nullptr) continue;
      const int64_t changes_in =
          ledger->shape().clock->health().next_sample_at_ns - now_.monotonic_ns;
      if (IsAuto(bucket) && changes_in > 0) {
        answer_.lasts = std::min(answer_.lasts, absl::Nanoseconds(changes_in));
      }
      if (bucket.cost_ns == 0) continue;
      probes |= bucket.probes;
      const int64_t room_ns = RoomNs(bucket);
      pieces = std::min(pieces, std::max(1.0, static_cast<double>(room_ns) /
                                                  static_cast<double>(bucket.cost_ns)));
    }
    if (probes) pieces = 1;
    answer_.granted = *estimate_ * pieces;
    answer_.predicted_cost *= pieces;
    if (answer_.predicted_busy_time.has_value()) *answer_.predicted_busy_time *= pieces;
    for (ExpectedBucket& bucket : decision_.buckets) {
      bucket.cost *= pieces;
      if (Ledger(bucket) != nullptr) EnlargeDebt(bucket);
    }
  }

  int64_t RoomNs(const ExpectedBucket& bucket) const {
    const ModelLedger& ledger = *Ledger(bucket);
    return ledger.BurstToNs(policy_.BurstOf(target_, bucket.budget)) -
           ledger.Debt(bucket.key, now_.monotonic_ns);
  }

  // A budget that only warns is left alone where it has no room for all of it.
  void EnlargeDebt(ExpectedBucket& bucket) {
    const ModelLedger& ledger = *Ledger(bucket);
    const int64_t burst_ns = ledger.BurstToNs(policy_.BurstOf(target_, bucket.budget));
    const int64_t whole_ns = ledger.FittedToNs(bucket.cost, burst_ns);
    const int64_t room_ns = RoomNs(bucket);
    if (Spec(bucket).mode != engine::Mode::kWarn) {
      bucket.cost_ns = std::min(whole_ns, std::max(room_ns, bucket.cost_ns));
      return;
    }
    bucket.cost_ns = whole_ns;
    if (bucket.skip || whole_ns <= room_ns) return;
    Violate(bucket, Limit::kBurst, bucket.debt + bucket.cost, ledger.ToUnits(burst_ns),
            TimeToRoom(bucket, whole_ns, burst_ns).time);
  }

  const ReferenceModel& model_;
  const ModelPolicy& policy_;
  const uint32_t target_;
  const std::string& on_;
  const CheckRequest& request_;
  const std::optional<double> estimate_;  // of a lease: one piece's
  const std::vector<std::string> segments_;
  const Now now_;
  const ModelPolicy::Match match_;
  Decision& decision_;
  ExpectedAnswer& answer_;
  ModelCosts::Prediction cost_;
  ModelCosts::Prediction busy_;
  std::optional<double> advised_;  // predicted busy time, where it follows from the estimate
};

Decision ReferenceModel::Decide(const CheckRequest& request, Now now, Purpose purpose) const {
  now.monotonic_ns = std::clamp<int64_t>(now.monotonic_ns, 0, ModelClock::kEndNs);
  Decision decision;
  if (policy_ == nullptr) {
    decision.faults = {absl::StatusCode::kFailedPrecondition};
    return decision;
  }
  decision.faults = Faults(request, purpose);
  uint32_t target = 0;
  if (policy_->FindTarget(request.target, target) != absl::StatusCode::kOk ||
      ParseIdentity(request.identity).empty()) {
    return decision;
  }
  Examination examination(*this, request, target, now, decision);
  if (examination.TooManyBudgets() && !examination.IsDenied()) {
    decision.faults.insert(absl::StatusCode::kFailedPrecondition);
  }
  if (!decision.faults.empty()) return decision;

  decision.target = policy_->spec().targets[target].name;
  decision.estimate = request.estimated_cost;
  decision.is_lease = request.lease != nullptr;
  if (decision.is_lease) decision.safe_time = request.lease->safe_life;
  if (purpose == Purpose::kCheck && !request.request_id.empty()) {
    decision.request_key = decision.target + "|" + std::string(request.identity) + "|" +
                           std::string(request.request_id);
    const auto known = requests_.find(decision.request_key);
    if (known != requests_.end() && IsLive(known->second.permit, now)) {
      decision.repeats = known->second.permit;
      decision.answer = known->second.answer;
      decision.answer.granted = permits_.at(decision.repeats).estimate.value_or(0);
      const auto safe = safe_.find(decision.repeats);
      decision.answer.safe_rate = safe == safe_.end() ? 0 : safe->second.rate;
      return decision;
    }
  }
  examination.Run();
  if (decision.is_lease) {
    decision.answer.safe_rate = MostOfSafeRate(decision, request.lease->safe_rate);
  }
  return decision;
}

}  // namespace headgate::model
