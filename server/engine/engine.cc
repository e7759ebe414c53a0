#include "server/engine/engine.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/hash.h"
#include "common/strings.h"
#include "server/engine/charging.h"
#include "server/engine/limits.h"
#include "server/engine/line_order.h"

namespace headgate::engine {
namespace {

constexpr size_t kMaxRequestIdBytes = 128;
constexpr double kNoDice = 1;
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

// An optional is two stores and, copied, one load that has to wait for both.
double EstimateOf(const CheckRequest& request) {
  return request.estimated_cost.has_value() ? *request.estimated_cost : CostModel::kNone;
}

// Whether two Checks could be charged together: alike, and neither has an id to remember.
bool SameCheck(const CheckRequest& a, const CheckRequest& b) {
  return a.request_id.empty() && b.request_id.empty() && a.estimated_cost == b.estimated_cost &&
         SameSubject(a, b);
}

// A Check that found the table full has an answer of its own: it says so.
void ClearAfter(const absl::Status& error, CheckAnswer& answer) {
  if (!absl::IsResourceExhausted(error)) answer.Clear();
}

PermitTableOptions TableOptions(const EngineOptions& options) {
  // Looking takes microseconds, and what has expired should soon be found.
  const absl::Duration least =
      std::clamp(options.permit_ttl / 64, absl::Microseconds(100), absl::Milliseconds(250));
  return {.max_share = options.max_permit_share,
          .least_between_looks_ns = absl::ToInt64Nanoseconds(least)};
}

// Of each budget on each target, as Policy::charged_until has it. The targets have been taken out.
std::vector<absl::Time> ChargedUntil(const PolicySpec& spec,
                                     const std::vector<TargetSpec>& targets) {
  absl::flat_hash_map<std::string_view, size_t> places;
  for (size_t i = 0; i < spec.budgets.size(); ++i) places[spec.budgets[i].name] = i;
  std::vector<absl::Time> until(targets.size() * spec.budgets.size(), absl::InfinitePast());
  for (const RuleSpec& rule : spec.rules) {
    const auto* const charge = std::get_if<ChargeAction>(&rule.action);
    if (charge == nullptr) continue;
    for (size_t target = 0; target < targets.size(); ++target) {
      if (!rule.match.target.empty() && rule.match.target != targets[target].name) continue;
      for (const std::string& budget : charge->budgets) {
        absl::Time& its = until[target * spec.budgets.size() + places.at(budget)];
        its = std::max(its, rule.expires_at);
      }
    }
  }
  return until;
}

absl::Status TableFull() {
  return absl::ResourceExhaustedError("no room for another permit; try again in a second");
}

}  // namespace

Engine::Engine(const EngineOptions& options)
    : options_(BoundedOptions(options)),
      costs_(options_.max_patterns),
      concurrency_(4 * options_.max_permits),
      permits_(options_.max_permits,
               Mix(options_.permit_seed.value_or(options_.seed) ^ kPermitStream), concurrency_,
               TableOptions(options_)),
      adopted_(concurrency_, absl::ToInt64Nanoseconds(options_.permit_ttl)),
      requests_(permits_),
      tables_{costs_,   concurrency_,    permits_,
              adopted_, reported_debts_, absl::ToInt64Nanoseconds(options_.permit_ttl)},
      dice_(Mix(options_.seed ^ kDiceStream)),
      book_(options_.bucket_bytes, options_.max_permits, options_.seed) {}

Now Engine::Bounded(Now now) {
  now.monotonic_ns = std::clamp<int64_t>(now.monotonic_ns, 0, VirtualClock::kHorizonNs);
  return now;
}

absl::Status Engine::NotInstalled() {
  return absl::FailedPreconditionError("no policy is installed yet");
}

absl::Status Engine::Install(PolicySpec spec, Now now) {
  now = Bounded(now);
  if (absl::Status valid = Validate(spec); !valid.ok()) return valid;
  MutexLock lock(&install_mutex_);
  auto policy = std::make_shared<Policy>();
  policy->version = version_ + 1;
  policy->rules = RuleSet::Compile(spec, options_.seed);
  policy->conditional_charges = ConditionalCharges(spec, options_.seed);
  policy->target_specs = std::move(spec.targets);
  if (policy->target_specs.empty()) policy->target_specs.emplace_back();
  policy->charged_until = ChargedUntil(spec, policy->target_specs);
  policy->profiles = std::move(spec.profiles);
  policy->budget_specs = std::move(spec.budgets);
  policy->share_patterns = spec.share_patterns;
  policy->shape = ShapeOf(*policy);
  absl::StatusOr<LedgerBook::Change> change = book_.Prepare(*policy, now);
  if (!change.ok()) return change.status();
  if (restored_shape_.has_value()) {
    requests_.Adopt(policy, *restored_shape_ == policy->shape);
    restored_shape_.reset();
  }
  book_.Commit(*std::move(change), now);
  version_ = policy->version;
  std::vector<std::string_view> targets;
  for (const TargetSpec& target : policy->target_specs) targets.push_back(target.name);
  std::sort(targets.begin(), targets.end());
  policies_.Set(policy);
  control_states_.KeepOnly(targets);
  // Last, because a Check that waits for the new policy holds a stripe of the index.
  requests_.DropEnded(now.monotonic_ns);
  TellChanged();
  return absl::OkStatus();
}

double Engine::Roll(const Match& match) {
  if (match.reject_ratio >= 1) return 0;
  // relaxed: every caller gets a number of its own, in whatever order.
  const uint64_t state = dice_.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed);
  return static_cast<double>(Mix(state) >> 11) * 0x1p-53;
}

void Engine::AwaitNewer(uint64_t version) const {
  while (policies_.Get()->version == version) std::this_thread::yield();
}

absl::Status Engine::Check(const CheckRequest& request, Now now, CheckAnswer& answer) {
  now = Bounded(now);
  const PolicyRef& policy = policies_.Get();
  Resolved resolved;
  return CheckOne(request, now, resolved, policy, answer);
}

absl::Status Engine::CheckOne(const CheckRequest& request, const Now& now, Resolved& resolved,
                              const PolicyRef& policy, CheckAnswer& answer) {
  absl::Status status = TryCheck(request, now, resolved, policy, answer);
  // Whoever forgets to look at the status must not find the answer of an earlier Check.
  if (!status.ok()) [[unlikely]]
    ClearAfter(status, answer);
  return status;
}

inline absl::Status Engine::TryCheck(const CheckRequest& request, const Now& now,
                                     Resolved& resolved, const PolicyRef& policy,
                                     CheckAnswer& answer) {
  if (absl::Status status = Refresh(request, now, resolved, policy); !status.ok()) return status;
  if (request.estimated_cost.has_value()) {
    absl::Status valid = ValidateCost("estimated_cost", *request.estimated_cost);
    if (!valid.ok()) return valid;
  }
  if (!request.request_id.empty()) return CheckOnce(request, now, resolved, policy, answer);
  return Decide(request, now, resolved, policy, answer);
}

uint64_t Engine::RequestKeyOf(uint64_t subject_key, const CheckRequest& request) const {
  return CombineHash(subject_key, HashBytes(request.request_id, options_.seed));
}

absl::Status Engine::CheckOnce(const CheckRequest& request, const Now& now, Resolved& resolved,
                               const PolicyRef& policy, CheckAnswer& answer) {
  if (request.request_id.size() > kMaxRequestIdBytes) {
    return absl::InvalidArgumentError(absl::StrCat("request_id: has ", request.request_id.size(),
                                                   " bytes; at most ", kMaxRequestIdBytes));
  }
  const uint64_t request_key = RequestKeyOf(resolved.subject_key, request);
  absl::Status status = requests_.Once(request_key, now.monotonic_ns, answer, [&] {
    return Decide(request, now, resolved, policy, answer);
  });
  answer.subject_key = resolved.subject_key;
  answer.unmatched = !resolved.match.matched;
  return status;
}

absl::Status Engine::Decide(const CheckRequest& request, const Now& now, Resolved& resolved,
                            const PolicyRef& policy, CheckAnswer& answer) {
  const double dice = resolved.match.reject == kNoRule ? kNoDice : Roll(resolved.match);
  const double estimate = EstimateOf(request);
  for (;;) {
    Decision decision(policy, tables_, resolved, now, answer, estimate);
    decision.gate = GateIfAnybodyIsHere();
    if (decision.gate != nullptr) [[unlikely]] {
      decision.request = &request;
      answer.flow.depth = 0;
    }
    Outcome outcome = ExamineLimits(decision, dice);
    if (outcome == Outcome::kDecided && answer.verdict == Verdict::kAllowed) {
      outcome = Admit(decision);
      if (decision.IsUnnamed()) NoteCostNames(request, resolved);
    }
    if (outcome == Outcome::kDecided) [[likely]]
      break;
    if (outcome == Outcome::kNoPermit) return TableFull();
    AwaitNewer(policy->version);
    if (absl::Status status = Refresh(request, now, resolved, policy); !status.ok()) return status;
  }
  if (!answer.violations.empty()) {
    NoteNames(request, resolved, answer);
    if (request.waits) answer.flow = LineFlowOf(*policy, resolved, request, now);
  }
  return absl::OkStatus();
}

absl::Status Engine::Refresh(const CheckRequest& request, const Now& now, Resolved& resolved,
                             const PolicyRef& policy) const {
  if (policy == nullptr) return NotInstalled();
  // Another policy may have come in while the Check before was decided, and the one that was
  // resolved under may be gone.
  if (resolved.policy_version == policy->version) return absl::OkStatus();
  return Resolve(*policy, options_.seed, request, now, resolved);
}

void Engine::CheckBatch(absl::Span<const CheckRequest> requests, Now now,
                        absl::Span<CheckAnswer> answers, absl::Span<absl::Status> statuses) {
  now = Bounded(now);
  const PolicyRef& policy = policies_.Get();
  Resolved resolved;
  for (size_t i = 0; i < requests.size();) {
    if (i > 0 && !SameSubject(requests[i - 1], requests[i])) resolved.policy_version = 0;
    i += CheckRun(requests.subspan(i), now, resolved, policy, answers.subspan(i),
                  statuses.subspan(i));
  }
}

size_t Engine::CheckRun(absl::Span<const CheckRequest> requests, const Now& now, Resolved& resolved,
                        const PolicyRef& policy, absl::Span<CheckAnswer> answers,
                        absl::Span<absl::Status> statuses) {
  const CheckRequest& first = requests[0];
  size_t run = 1;
  while (run < requests.size() && SameCheck(first, requests[run])) ++run;
  const double estimate = EstimateOf(first);
  const bool valid = !first.estimated_cost.has_value() || ValidateCost("", estimate).ok();
  // In line each is looked at by itself.
  if (run > 1 && valid && GateIfAnybodyIsHere() == nullptr &&
      Refresh(first, now, resolved, policy).ok()) {
    Decision decision(policy, tables_, resolved, now, answers[0], estimate);
    if (ExamineLimits(decision, kNoDice) == Outcome::kDecided &&
        answers[0].verdict == Verdict::kAllowed) {
      const size_t admitted = AdmitTogether(decision, answers.subspan(0, run));
      if (admitted > 0 && decision.IsUnnamed()) NoteCostNames(first, resolved);
      for (size_t i = 0; i < admitted; ++i) statuses[i] = absl::OkStatus();
      if (admitted > 0) return admitted;
    }
  }
  for (size_t i = 0; i < run; ++i) {
    statuses[i] = CheckOne(requests[i], now, resolved, policy, answers[i]);
  }
  return run;
}

absl::Status Engine::SetHealth(std::string_view target, std::string_view profile,
                               const Health& health, Now now) {
  now = Bounded(now);
  const std::shared_ptr<const Policy> policy = policies_.Get();
  if (policy == nullptr) return NotInstalled();
  uint32_t place = 0;
  if (absl::Status found = policy->ResolveTarget(target, place); !found.ok()) return found;
  for (size_t i = 0; i < policy->profiles.size(); ++i) {
    if (policy->profiles[i].name != profile) continue;
    VirtualClock& clock = *policy->targets[place].gates[i];
    const Health before = clock.Read(now.monotonic_ns).health;
    clock.Set(health, now.monotonic_ns);
    if (before.speed != health.speed || before.gate_shut != health.gate_shut) TellChanged();
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat("profile: no health profile '", Sv(profile), "'"));
}

}  // namespace headgate::engine
