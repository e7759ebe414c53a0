#include "server/serve/rpc/throttle_log_proto.h"

#include <tuple>

#include "server/remember/throttle_log/interval_text.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

using throttle_log::Outcome;

static_assert(v1::OUTCOME_ALLOWED == static_cast<int>(Outcome::kAllowed) + kFromOutcome);
static_assert(v1::OUTCOME_WOULD_BE_DENIED ==
              static_cast<int>(Outcome::kWouldBeDenied) + kFromOutcome);
static_assert(v1::OUTCOME_DENIED == static_cast<int>(Outcome::kDenied) + kFromOutcome);
static_assert(v1::OUTCOME_WAITED == static_cast<int>(Outcome::kWaited) + kFromOutcome);
// As decision_proto.cc makes sure.
constexpr int kFromLimit = 1;

void FillCause(const throttle_log::Cause& from, v1::DenialCause& to) {
  to.set_reason(static_cast<v1::Reason>(from.reason));
  to.set_limit_kind(static_cast<v1::LimitKind>(static_cast<int>(from.limit) + kFromLimit));
  to.set_budget(from.budget);
  to.set_rule(from.rule);
  to.set_signal(from.signal);
}

// Absent where there are none.
template <typename Message>
void FillWaiting(const throttle_log::OptionalWaits& waits, Message& to) {
  if (waits.get() == nullptr) return;
  const throttle_log::Waits& from = *waits.get();
  v1::Waiting& waiting = *to.mutable_waiting();
  waiting.set_began(from.began);
  waiting.set_admitted(from.admitted);
  waiting.set_denied(from.denied);
  waiting.set_left(from.left);
  SetDuration(from.waited_ns, *waiting.mutable_waited());
  SetDuration(from.held_ns, *waiting.mutable_held());
  SetDuration(from.longest_ns, *waiting.mutable_longest());
  for (const int64_t count : from.ended_within) waiting.add_ended_within(count);
}

}  // namespace

void SetSeconds(int64_t unix_s, google::protobuf::Timestamp& to) { to.set_seconds(unix_s); }

void FillSum(const throttle_log::Sum& from, const throttle_log::Grouping& by, v1::LogSum& to) {
  if (by.step) SetSeconds(from.key.step_s, *to.mutable_from());
  to.set_identity(from.key.identity);
  to.set_target(from.key.target);
  if (by.outcome) {
    to.set_outcome(static_cast<v1::Outcome>(static_cast<int>(from.key.outcome) + kFromOutcome));
  }
  to.set_reason(static_cast<v1::Reason>(from.key.reason));
  to.set_budget(from.key.budget);
  to.set_rule(from.key.rule);
  to.set_signal(from.key.signal);
  to.set_server(from.key.server);
  to.set_allowed(from.allowed);
  to.set_would_be_denied(from.would_be_denied);
  to.set_denied(from.denied);
  to.set_allowed_cost(from.allowed_cost);
  to.set_denied_cost(from.denied_cost);
  to.set_folded(from.folded);
  FillWaiting(from.waits, to);
}

void FillInterval(const throttle_log::Interval& from, v1::ThrottledInterval& to) {
  to.set_identity(from.identity);
  to.set_target(from.target);
  SetSeconds(from.tally.from_s, *to.mutable_from());
  SetSeconds(from.tally.to_s, *to.mutable_to());
  to.set_allowed(from.tally.allowed);
  to.set_denied(from.tally.denied);
  to.set_denied_cost(from.tally.denied_cost);
  for (const throttle_log::CauseCount& cause : from.tally.causes) {
    v1::DenialCause& added = *to.add_causes();
    FillCause(cause.cause, added);
    added.set_denied(cause.counts.checks);
    added.set_peak(cause.counts.peak);
    added.set_limit(cause.counts.limit);
    FillWaiting(cause.counts.waits, added);
  }
  FillWaiting(from.tally.waits, to);
  to.set_waited_ratio(from.held_share);
  to.set_message(throttle_log::Sentence(from));
}

void FillDenial(const throttle_log::Denial& from, v1::Denial& to) {
  to.set_number(from.number);
  SetTimestamp(from.at, *to.mutable_at());
  to.set_identity(from.identity);
  to.set_target(from.target);
  to.set_outcome(static_cast<v1::Outcome>(static_cast<int>(from.outcome) + kFromOutcome));
  to.set_predicted_cost(from.predicted_cost);
  FillCause(from.cause, *to.mutable_cause());
  to.mutable_cause()->set_denied(from.outcome == Outcome::kDenied ? 1 : 0);
  to.mutable_cause()->set_peak(from.observed);
  to.mutable_cause()->set_limit(from.limit);
  if (from.retry_after != absl::InfiniteDuration()) {
    SetDuration(from.retry_after, *to.mutable_retry_after());
  }
  to.set_priority(from.priority);
}

void FillReplayed(const throttle_log::ReplayedIdentity& from, v1::ReplayedIdentity& to) {
  to.set_identity(from.identity);
  to.set_target(from.target);
  to.set_allowed_before(from.before.allowed);
  to.set_denied_before(from.before.denied);
  to.set_allowed_after(from.after.allowed);
  to.set_denied_after(from.after.denied);
  to.set_allowed_cost_before(from.before.allowed_cost);
  to.set_allowed_cost_after(from.after.allowed_cost);
}

void FillBaseline(const std::vector<throttle_log::ReplayedIdentity>& in_force,
                  v1::ReplayThrottleLogResponse& to) {
  auto next = in_force.begin();
  for (v1::ReplayedIdentity& replayed : *to.mutable_identities()) {
    const auto is_before = [&] {
      return std::tie(next->identity, next->target) <
             std::tie(replayed.identity(), replayed.target());
    };
    while (next != in_force.end() && is_before()) ++next;
    if (next == in_force.end()) return;
    if (next->identity != replayed.identity() || next->target != replayed.target()) continue;
    replayed.set_allowed_in_force(next->after.allowed);
    replayed.set_denied_in_force(next->after.denied);
    replayed.set_allowed_cost_in_force(next->after.allowed_cost);
  }
}

}  // namespace headgate::rpc
