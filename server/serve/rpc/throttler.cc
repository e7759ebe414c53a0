#include "server/serve/rpc/throttler.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/decide/line/binding_limit.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/decision_proto.h"
#include "server/serve/rpc/errors.h"
#include "server/serve/rpc/explain_hints.h"
#include "server/serve/rpc/held_leases.h"
#include "server/serve/rpc/lease_proto.h"
#include "server/serve/rpc/line_proto.h"
#include "server/serve/transport/error_status.h"

namespace headgate::rpc {
namespace {

// Checks that are decided in one go: more would not fit into the cache together.
constexpr int kAtOnce = 128;
// Of so many decisions one is timed.
constexpr uint32_t kTimedOf = 64;

std::string Path(const char* list, int place) { return absl::StrCat(list, "[", place, "]"); }

// No rule matches, and one would if capitals did not count.
void SuggestIdentity(const StatusSource& source, v1::ExplainResponse& response,
                     std::string_view identity) {
  const std::shared_ptr<const config::Config> in_force = source.InForce();
  if (in_force == nullptr || in_force->identity_names == nullptr) return;
  const auto meaning = in_force->identity_names->MeantBy(identity);
  if (!meaning.has_value()) return;
  v1::Decision& decision = *response.mutable_decision();
  decision.set_message(absl::StrCat(
      decision.message(), " Identities are case-sensitive: did you mean '", meaning->meant, "'?"));
}

// What the caller is given for a permit nobody else can use.
void SealFor(const access::Caller* caller, v1::Decision& decision) {
  if (caller != nullptr && decision.has_permit_id()) {
    decision.set_permit_id(caller->seal().Seal(decision.permit_id()));
  }
}

// What makes a request_id the caller's own: known to nobody, and the same after a restart.
uint64_t ScopeOf(const access::Caller* caller) {
  return caller == nullptr ? 0 : caller->seal().Encrypt(~uint64_t{0});
}

// Empty: nobody is named.
std::string_view NameOf(const access::Caller* caller) {
  return caller == nullptr || caller->is_anybody() ? std::string_view() : caller->name();
}

// Whether it is a Check of its own: the pieces of a lease are counted, and not what asks for it.
bool IsCounted(const v1::CheckRequest& check) {
  return !check.validate_only() && !check.has_lease();
}

// Whether an answer says what became of the Check: that the table of permits was full is an error,
// and a denial all the same.
bool IsDecided(const absl::Status& status, const engine::CheckAnswer& answer) {
  return status.ok() || answer.reason == engine::Reason::kPermits;
}

absl::Status TooManyWatches() {
  return absl::ResourceExhaustedError(
      absl::StrCat("lease.watch: ", line::LeaseWatches::kMost,
                   " are watched, or as many calls wait as may; try again in a second"));
}

// Whether time may bring another answer.
bool MayWaitFor(const engine::CheckRequest& request, const engine::CheckAnswer& answer) {
  if (request.IsWatch()) [[unlikely]]
    return answer.grant.state == request.lease->watched;
  return line::BindingViolation(answer) != nullptr;
}

// The decision about a Check, which may be one for a lease.
void FillAnswer(const engine::CheckAnswer& answer, const v1::CheckRequest& check,
                v1::Decision& decision) {
  if (IsWatch(check)) [[unlikely]] {
    decision.Clear();
    return decision.mutable_lease()->set_state(answer.grant.state);
  }
  FillDecision(answer, check.identity(), decision);
  if (check.has_lease()) [[unlikely]] {
    FillLease(answer, *decision.mutable_lease());
  } else if (decision.has_lease()) [[unlikely]] {
    decision.clear_lease();
  }
}

}  // namespace

CheckRequests::From FromAsker(const Asker& asker) {
  return {.address = asker.address, .scope = ScopeOf(asker.caller), .caller = NameOf(asker.caller)};
}

grpc::Status TooMany(const char* field, int count) {
  return transport::FieldError(field,
                               absl::StrCat("has ", count, " entries; at most ", kMaxInBatch));
}

grpc::Status Throttler::Check(const v1::CheckRequest& check, const Asker& asker,
                              v1::Decision& decision, CallToWait& call) {
  if (asker.caller != nullptr) {
    const auto refused = access_.MayCheck(asker, check.identity(), check.tags());
    if (refused.has_value()) [[unlikely]]
      return ToGrpcStatus(*refused);
  }
  const absl::StatusOr<absl::Duration> max_wait = MaxWaitOf(check);
  if (!max_wait.ok()) [[unlikely]]
    return ToGrpcStatus(max_wait.status(), {});
  checks_ = 1;
  activity_.OnCheck(check.target());
  requests_.Assign(check, {.address = asker.address,
                           .scope = check.request_id().empty() ? 0 : ScopeOf(asker.caller),
                           .caller = NameOf(asker.caller)});
  const engine::CheckRequest& request = requests_.all()[0];
  engine::CheckAnswer& answer = answers_[0];
  const Now now = clock_.Read();
  if (check.has_lease()) [[unlikely]]
    ReturnLease(check, {.asker = asker, .now = now, .check = &request}, decision);
  if (check.validate_only()) {
    ExplainInstead(0, now);
  } else {
    statuses_[0] = engine_.Check(request, now, answer);
    if (decisions_++ % kTimedOf == 0) [[unlikely]]
      latency_.Add(clock_.Read().monotonic_ns - now.monotonic_ns);
  }
  // Answers of a batch before would keep an older policy.
  if (answers_.size() > 1 && answers_.back().policy != answer.policy) [[unlikely]]
    answers_.resize(1);
  if (*max_wait > absl::ZeroDuration() && statuses_[0].ok() && MayWaitFor(request, answer) &&
      Wait({.at = 0, .place = 0, .max_wait = *max_wait, .decided = decision}, {asker, now, call})) {
    return grpc::Status();
  }
  if (IsCounted(check) && IsDecided(statuses_[0], answer)) {
    thread_counts_.Record(request, answer, now);
  }
  if (!statuses_[0].ok()) return ToGrpcStatus(statuses_[0], {.tags = request.tags});
  FillAnswer(answer, check, decision);
  SealFor(asker.caller, decision);
  return grpc::Status();
}

grpc::Status Throttler::BatchCheck(const Checks& checks, const Asker& asker, Results& results,
                                   CallToWait& call) {
  if (checks.size() > kMaxInBatch) return TooMany("checks", checks.size());
  checks_ = checks.size();
  FindRefused(checks, asker);
  ReadWaits(checks);
  NoteChecks(checks);
  Resize(results, checks.size());
  const Asked asked{asker, clock_.Read(), call};
  admitted_.clear();
  waiting_ = nullptr;
  for (int first = 0; first < checks.size(); first += kAtOnce) {
    const int count = std::min(kAtOnce, checks.size() - first);
    DecideChunk({asked, checks, first, count}, results);
  }
  // Whoever leaves while others of the batch wait does not hear of these either.
  if (waiting_ != nullptr) [[unlikely]]
    waiting_->NoteAdmitted(std::move(admitted_));
  return grpc::Status();
}

void Throttler::FindRefused(const Checks& checks, const access::Asker& asker) {
  refused_.clear();
  if (asker.caller == nullptr) return;
  for (int i = 0; i < checks.size(); ++i) {
    auto refused = access_.MayCheck(asker, checks[i].identity(), checks[i].tags());
    if (refused.has_value()) [[unlikely]]
      refused_.emplace_back(i, *std::move(refused));
  }
}

const access::Refusal* Throttler::RefusalOf(int place) const {
  if (refused_.empty()) [[likely]]
    return nullptr;
  const auto at =
      std::lower_bound(refused_.begin(), refused_.end(), place,
                       [](const auto& refused, int wanted) { return refused.first < wanted; });
  return at != refused_.end() && at->first == place ? &at->second : nullptr;
}

void Throttler::NoteChecks(const Checks& checks) {
  const std::string* before = nullptr;
  for (int i = 0; i < checks.size(); ++i) {
    if (before != nullptr && *before == checks[i].target()) continue;
    if (RefusalOf(i) != nullptr) continue;
    before = &checks[i].target();
    activity_.OnCheck(*before);
  }
}

void Throttler::DecideChunk(const Chunk& chunk, Results& results) {
  const Checks& checks = chunk.checks;
  const int first = chunk.first;
  const int count = chunk.count;
  const Asker& asker = chunk.asked.asker;
  const Now now = chunk.asked.now;
  const auto size = static_cast<size_t>(count);
  requests_.Assign(checks, first, count, FromAsker(asker));
  if (answers_.size() < size) answers_.resize(size);
  if (statuses_.size() < size) statuses_.resize(size);
  ReturnLeases(chunk, results);
  for (int begin = 0; begin < count;) {
    int end = begin;
    const auto is_plain = [&](int place) {
      return !checks[place].validate_only() && RefusalOf(place) == nullptr && IsWaitValid(place);
    };
    while (end < count && is_plain(first + end)) ++end;
    const auto from = static_cast<size_t>(begin);
    const auto run = static_cast<size_t>(end - begin);
    engine_.CheckBatch(requests_.all().subspan(from, run), now,
                       absl::MakeSpan(answers_).subspan(from, run),
                       absl::MakeSpan(statuses_).subspan(from, run));
    if (end < count) DecideWithoutEngine(from + run, first + end, now);
    begin = end + 1;
  }
  in_line_.clear();
  if (!waits_.empty()) [[unlikely]]
    WaitWithChunk(chunk, results);
  RecordChunk(chunk);
  FillResults(chunk, results);
  // Answers beyond these may be of an older policy, and would keep it alive.
  if (answers_.back().policy != answers_.front().policy) answers_.resize(size);
}

void Throttler::DecideWithoutEngine(size_t at, int place, Now now) {
  if (RefusalOf(place) != nullptr) {
    statuses_[at] = absl::PermissionDeniedError("");  // the refusal says more
    answers_[at].Clear();
  } else if (!IsWaitValid(place)) {
    statuses_[at] = waits_[static_cast<size_t>(place)].status();
    answers_[at].Clear();
  } else {
    ExplainInstead(at, now);
  }
}

void Throttler::ReadWaits(const Checks& checks) {
  waits_.clear();
  for (const v1::CheckRequest& check : checks) {
    if (!check.has_max_wait()) continue;
    for (const v1::CheckRequest& each : checks) waits_.push_back(MaxWaitOf(each));
    return;
  }
}

void Throttler::WaitWithChunk(const Chunk& chunk, const Results& results) {
  in_line_.resize(static_cast<size_t>(chunk.count));
  for (int i = 0; i < chunk.count; ++i) {
    const auto at = static_cast<size_t>(i);
    const int place = chunk.first + i;
    const absl::StatusOr<absl::Duration>& wait = waits_[static_cast<size_t>(place)];
    if (statuses_[at].ok()) AddAdmitted(requests_.all()[at], answers_[at], admitted_);
    if (!statuses_[at].ok() || !wait.ok() || *wait <= absl::ZeroDuration()) continue;
    if (!MayWaitFor(requests_.all()[at], answers_[at])) continue;
    in_line_[at] =
        Wait({.at = at, .place = place, .max_wait = *wait, .decided = results[place].decision()},
             chunk.asked);
  }
}

bool Throttler::Wait(const MayWait& check, const Asked& asked) {
  engine::CheckAnswer& answer = answers_[check.at];
  const engine::CheckRequest& request = requests_.all()[check.at];
  WaitingCall* const waiting = asked.call.Park(asked.asker, checks_, asked.now);
  if (waiting == nullptr && request.IsWatch()) {
    statuses_[check.at] = TooManyWatches();
    return false;
  }
  if (waiting == nullptr) {
    lines_.RefuseUnparked(kMaxParkedCalls, answer);
    return false;
  }
  waiting_ = waiting;
  if (check.decided.lease().has_returned()) [[unlikely]]
    waiting->NoteReturned(check.place, check.decided.lease().returned());
  const absl::Duration most = std::min(check.max_wait, asked.call.TimeLeft());
  const int64_t until_ns = asked.now.monotonic_ns + absl::ToInt64Nanoseconds(most);
  const line::Entered entered = waiting->Enter(request, answer, check.place, until_ns);
  if (entered == line::Entered::kWaits) return true;
  if (request.IsWatch()) {
    statuses_[check.at] = entered == line::Entered::kFull
                              ? TooManyWatches()
                              : absl::UnavailableError("the server is shutting down");
    return false;
  }
  lines_.ExplainRefusal(entered, answer);
  return false;
}

void Throttler::FillResults(const Chunk& chunk, Results& results) {
  const Checks& checks = chunk.checks;
  const int first = chunk.first;
  const access::Caller* const caller = chunk.asked.asker.caller;
  for (int i = 0; i < chunk.count; ++i) {
    const auto place = static_cast<size_t>(i);
    const engine::CheckAnswer& answer = answers_[place];
    v1::CheckResult& result = *results.Mutable(first + i);
    if (statuses_[place].ok()) [[likely]] {
      FillAnswer(answer, checks[first + i], *result.mutable_decision());
      SealFor(caller, *result.mutable_decision());
    } else if (const access::Refusal* const refusal = RefusalOf(first + i); refusal != nullptr) {
      FillError(*refusal, Path("checks", first + i), *result.mutable_error());
    } else {
      FillError(statuses_[place],
                {.path = Path("checks", first + i), .tags = requests_.all()[place].tags},
                *result.mutable_error());
    }
  }
}

void Throttler::RecordChunk(const Chunk& chunk) {
  for (int i = 0; i < chunk.count; ++i) {
    const auto place = static_cast<size_t>(i);
    if (!IsDecided(statuses_[place], answers_[place])) continue;
    if (!IsCounted(chunk.checks[chunk.first + i])) continue;
    if (!in_line_.empty() && in_line_[place]) continue;
    thread_counts_.Record(requests_.all()[place], answers_[place], chunk.asked.now);
  }
}

void Throttler::ExplainInstead(size_t at, Now now) {
  if (requests_.all()[at].IsWatch()) {
    statuses_[at] = engine_.Check(requests_.all()[at], now, answers_[at]);
    return;
  }
  if (requests_.all()[at].lease != nullptr) {
    statuses_[at] = absl::InvalidArgumentError("lease: cannot be had with validate_only");
    answers_[at].Clear();
    return;
  }
  absl::StatusOr<engine::Explanation> explained =
      engine_.Explain(requests_.all()[at], now, engine::Engine::Dice::kRolled);
  statuses_[at] = explained.status();
  if (explained.ok()) answers_[at] = std::move(explained->answer);
}

// What keeps the rate of auto budgets from being higher. An empty target is the only one.
void FillFound(const std::vector<health::TargetSnapshot>& targets, std::string_view target,
               v1::ExplainResponse& response) {
  for (v1::BucketState& bucket : *response.mutable_buckets()) {
    for (const health::TargetSnapshot& snapshot : targets) {
      if (!target.empty() && snapshot.name != target) continue;
      for (const health::ControllerSnapshot& controller : snapshot.controllers) {
        if (controller.budget == bucket.budget()) bucket.set_found(controller.explanation);
      }
    }
  }
}

grpc::Status Throttler::Explain(const Dependencies& on, const v1::ExplainRequest& request,
                                const Asker& asker, v1::ExplainResponse& response) {
  CheckRequests requests;
  requests.Assign(request.check(), {.address = asker.address, .caller = NameOf(asker.caller)});
  engine::CheckRequest check = requests.all()[0];
  check.lease = nullptr;
  on.activity.OnCheck(check.target);
  const Now now = on.clock.Read();
  const absl::StatusOr<engine::Explanation> explanation = on.engine.Explain(check, now);
  if (!explanation.ok()) {
    return ToGrpcStatus(explanation.status(), {.path = "check", .tags = check.tags});
  }
  FillExplanation(*explanation, request.check().identity(), response);
  if (explanation->answer.unmatched) SuggestIdentity(on.status, response, check.identity);
  FillPlaces(*explanation, on.lines, now, response);
  FillLeasesHeld(on.engine, *explanation, now, response);
  FillFound(on.status.Targets(), check.target, response);
  FillHints(*explanation, check, on.recorder.LastChecksOf(explanation->answer.subject_key),
            response);
  return grpc::Status();
}

}  // namespace headgate::rpc
