#include "server/decide/engine/checks.h"

#include "server/decide/engine/charging.h"
#include "server/decide/engine/lease_grant.h"
#include "server/decide/engine/limits.h"
#include "server/decide/engine/line_order.h"
#include "server/decide/engine/subject_state.h"

namespace headgate::engine {
namespace {

constexpr double kNoDice = 1;

// An optional is two stores and, copied, one load that has to wait for both.
double EstimateOf(const CheckRequest& request) {
  if (request.lease != nullptr) [[unlikely]]
    return request.lease->least;
  return request.estimated_cost.has_value() ? *request.estimated_cost : CostModel::kNone;
}

// Whether two Checks could be charged together: alike, and neither has an id to remember.
bool SameCheck(const CheckRequest& a, const CheckRequest& b) {
  return a.request_id.empty() && b.request_id.empty() && a.estimated_cost == b.estimated_cost &&
         a.lease == nullptr && b.lease == nullptr && SameSubject(a, b);
}

// A Check that found the table full has an answer of its own: it says so.
void ClearAfter(const absl::Status& error, CheckAnswer& answer) {
  if (!absl::IsResourceExhausted(error)) answer.Clear();
}

absl::Status TableFull() {
  return absl::ResourceExhaustedError("no room for another permit; try again in a second");
}

}  // namespace

absl::Status Checks::Check(const CheckRequest& request, Now now, CheckAnswer& answer) {
  now = EngineCore::Bounded(now);
  core_.ChargeSafeRates(now);
  Subject subject(core_.policies.Get(), now);
  return CheckOne(request, subject, answer);
}

absl::Status Checks::CheckOne(const CheckRequest& request, Subject& subject, CheckAnswer& answer) {
  absl::Status status = TryCheck(request, subject, answer);
  // Whoever forgets to look at the status must not find the answer of an earlier Check.
  if (!status.ok()) [[unlikely]]
    ClearAfter(status, answer);
  return status;
}

inline absl::Status Checks::TryCheck(const CheckRequest& request, Subject& subject,
                                     CheckAnswer& answer) {
  if (absl::Status status = Refresh(request, subject); !status.ok()) return status;
  if (request.estimated_cost.has_value()) {
    absl::Status valid = ValidateCost("estimated_cost", *request.estimated_cost);
    if (!valid.ok()) return valid;
  }
  if (request.lease != nullptr) [[unlikely]] {
    if (request.IsWatch()) {
      TellState(request, subject, answer);
      return absl::OkStatus();
    }
    if (absl::Status valid = ValidateLease(request); !valid.ok()) return valid;
  }
  if (!request.request_id.empty()) return CheckOnce(request, subject, answer);
  return Decide(request, subject, answer);
}

absl::Status Checks::CheckOnce(const CheckRequest& request, Subject& subject, CheckAnswer& answer) {
  if (absl::Status valid = ValidateRequestId(request.request_id); !valid.ok()) return valid;
  const uint64_t request_key = core_.RequestKeyOf(subject.resolved.subject_key, request);
  absl::Status status = core_.requests.Once(request_key, subject.now.monotonic_ns, answer,
                                            [&] { return Decide(request, subject, answer); });
  answer.subject_key = subject.resolved.subject_key;
  answer.unmatched = !subject.resolved.match.matched;
  if (request.lease != nullptr && answer.repeated) {
    TellGrantAgain(subject.resolved, core_.permits.Look(answer.permit, subject.now.monotonic_ns),
                   core_.safe_rates, subject.now, answer);
  }
  return status;
}

absl::Status Checks::Decide(const CheckRequest& request, Subject& subject, CheckAnswer& answer) {
  const bool rolls = subject.resolved.match.reject != kNoRule && request.lease == nullptr;
  const double dice = rolls ? core_.Roll(subject.resolved.match) : kNoDice;
  const double estimate = EstimateOf(request);
  const PolicyRef& policy = subject.policy;
  double most = request.lease == nullptr ? estimate : *request.estimated_cost;
  for (;;) {
    uint64_t state = 0;
    if (request.lease != nullptr) [[unlikely]]
      state = SubjectStateOf(*policy, subject.resolved, request, subject.now);
    Decision decision(policy, core_.tables, subject.resolved, subject.now, answer, estimate);
    decision.line = core_.LineIfAnybodyIsHere();
    if (decision.line != nullptr) [[unlikely]] {
      decision.request = &request;
      answer.flow.depth = 0;
    }
    Outcome outcome = ExamineLimits(decision, dice);
    bool is_overtaken = false;
    if (outcome == Outcome::kDecided && answer.verdict == Verdict::kAllowed) {
      if (request.lease != nullptr) [[unlikely]] {
        EnlargeGrant(decision, *request.lease, most);
        answer.grant.state = state;
      }
      outcome = Admit(decision);
      is_overtaken = most > estimate && answer.verdict == Verdict::kDenied;
      if (request.lease != nullptr && outcome == Outcome::kDecided && !is_overtaken &&
          answer.verdict == Verdict::kAllowed) [[unlikely]]
        GrantSafeRate(decision, core_.safe_rates);
      if (decision.IsUnnamed()) NoteCostNames(request, subject.resolved);
    }
    if (outcome == Outcome::kDecided && !is_overtaken) [[likely]]
      break;
    if (outcome == Outcome::kNoPermit) return TableFull();
    if (is_overtaken) {
      // Others were charged since a lease was examined: one piece of it may still fit.
      most = estimate;
      continue;
    }
    core_.AwaitNewer(policy->version);
    if (absl::Status status = Refresh(request, subject); !status.ok()) return status;
  }
  if (request.lease != nullptr && answer.permit != 0) [[unlikely]] {
    const int64_t now_ns = subject.now.monotonic_ns;
    core_.lease_names.Note(subject.resolved.subject_key, request.identity,
                           now_ns + absl::ToInt64Nanoseconds(answer.grant.time), now_ns);
  }
  if (!answer.violations.empty()) {
    NoteNames(request, subject.resolved, answer);
    if (answer.verdict == Verdict::kDenied && request.lease != nullptr) answer.grant = Grant{};
    if (request.waits) answer.flow = LineFlowOf(*policy, subject.resolved, request, subject.now);
  }
  return absl::OkStatus();
}

void Checks::TellState(const CheckRequest& request, const Subject& subject, CheckAnswer& answer) {
  const Now& now = subject.now;
  answer.Clear();
  answer.policy = subject.policy;
  answer.subject_key = subject.resolved.subject_key;
  answer.grant.state = SubjectStateOf(*subject.policy, subject.resolved, request, now);
  answer.retry_after =
      core_.rule_times.NextChange(*subject.policy, now.wall_ns) - absl::FromUnixNanos(now.wall_ns);
}

absl::Status Checks::Refresh(const CheckRequest& request, Subject& subject) const {
  const PolicyRef& policy = subject.policy;
  if (policy == nullptr) return EngineCore::NotInstalled();
  // Another policy may have come in while the Check before was decided, and the one that was
  // resolved under may be gone.
  if (subject.resolved.policy_version == policy->version) return absl::OkStatus();
  return Resolve(*policy, core_.options.seed, request, subject.now, subject.resolved);
}

void Checks::CheckBatch(Batch batch, Now now) {
  now = EngineCore::Bounded(now);
  core_.ChargeSafeRates(now);
  Subject subject(core_.policies.Get(), now);
  for (size_t i = 0; i < batch.requests.size();) {
    if (i > 0 && !SameSubject(batch.requests[i - 1], batch.requests[i])) {
      subject.resolved.policy_version = 0;
    }
    i += CheckRun({.requests = batch.requests.subspan(i),
                   .answers = batch.answers.subspan(i),
                   .statuses = batch.statuses.subspan(i)},
                  subject);
  }
}

size_t Checks::CheckRun(const Batch& batch, Subject& subject) {
  const CheckRequest& first = batch.requests[0];
  CheckAnswer& answer = batch.answers[0];
  size_t run = 1;
  while (run < batch.requests.size() && SameCheck(first, batch.requests[run])) ++run;
  const double estimate = EstimateOf(first);
  const bool valid = !first.estimated_cost.has_value() || ValidateCost("", estimate).ok();
  // In line each is looked at by itself.
  if (run > 1 && valid && core_.LineIfAnybodyIsHere() == nullptr && Refresh(first, subject).ok()) {
    Decision decision(subject.policy, core_.tables, subject.resolved, subject.now, answer,
                      estimate);
    if (ExamineLimits(decision, kNoDice) == Outcome::kDecided &&
        answer.verdict == Verdict::kAllowed) {
      const size_t admitted = AdmitTogether(decision, batch.answers.subspan(0, run));
      if (admitted > 0 && decision.IsUnnamed()) NoteCostNames(first, subject.resolved);
      for (size_t i = 0; i < admitted; ++i) batch.statuses[i] = absl::OkStatus();
      if (admitted > 0) return admitted;
    }
  }
  for (size_t i = 0; i < run; ++i) {
    batch.statuses[i] = CheckOne(batch.requests[i], subject, batch.answers[i]);
  }
  return run;
}

void Checks::NoteCostNames(const CheckRequest& request, const Resolved& resolved) {
  if (resolved.candidates_used == 0) return;  // it will teach nothing
  const bool has_caller = resolved.cost_subject.caller != 0;
  core_.costs.NoteNames(resolved.cost_subject,
                        {.root = resolved.identity.Level(1),
                         .caller = has_caller ? request.caller : std::string_view(),
                         .pattern = request.pattern});
}

void Checks::NoteNames(const CheckRequest& request, const Resolved& resolved,
                       const CheckAnswer& answer) {
  for (const Violation& violation : answer.violations) {
    if (violation.budget == Violation::kNoBudget) continue;
    for (int i = 0; i < resolved.candidates_used; ++i) {
      const Candidate& candidate = resolved.candidates[i];
      const Budget& budget = *candidate.budget;
      if (budget.spec != violation.budget || budget.split == SplitKind::kNone) continue;
      if (budget.split == SplitKind::kDepth) {
        core_.names.Note(candidate.tag,
                         resolved.identity.Level(BucketLevel(budget, resolved.identity)));
      }
      for (const Tag& tag : request.tags) {
        if (budget.split == SplitKind::kTag && tag.key == budget.split_tag) {
          core_.names.Note(candidate.tag, tag.value);
        }
      }
    }
  }
}

}  // namespace headgate::engine
