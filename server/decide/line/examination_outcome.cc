#include "server/decide/line/examination_outcome.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "server/decide/engine/policy.h"
#include "server/decide/line/binding_limit.h"

namespace headgate::line {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;
// Of looks at one Check at one time, each for a reason; more would turn in a circle.
constexpr int kMaxLooks = 64;
// Instants in a row that may prove wrong.
constexpr int kTrusted = 8;
// From so many times the cost on, another policy measures in another way.
constexpr double kOtherMeasure = 2;

int64_t Later(int64_t now_ns, absl::Duration by) {
  const int64_t by_ns = absl::ToInt64Nanoseconds(by);
  return by_ns > kNever - 1 - now_ns ? kNever - 1 : now_ns + by_ns;
}

// How somebody ended it while it was examined; absent: nobody did.
std::optional<Ending> EndedMeanwhile(const WaitingCheck& waiting, int64_t now_ns) {
  if (waiting.left) {
    return Ending{absl::CancelledError("its caller is gone"), WaitEnd::kLeft, now_ns};
  }
  if (!waiting.ended.ok()) return Ending{waiting.ended, WaitEnd::kEnded, now_ns};
  return std::nullopt;
}

// Each Check of the line is priced anew. If the budget may be in another unit, what is known of
// costs is taken for `by` times as much until then, shares begin anew, and nothing is held.
void Reprice(LineState& state, Line& line, double by) {
  const std::vector<WaitingCheck*> its = WaitingIn(state, line);
  state.tasks.Price(its);
  if (by <= kOtherMeasure && by >= 1 / kOtherMeasure) return;
  FairQueue queue = state.lines.NewQueue();
  for (WaitingCheck* waiting : its) {
    waiting->cost *= by;
    queue.Push(waiting->ticket, line.queue.FlowOf(waiting->ticket), waiting->cost, waiting->ticket);
  }
  line.queue = std::move(queue);
  state.places.Reprice(line, by);
  for (const uint64_t ticket : line.had_turn) {
    state.tickets.Find(ticket)->TurnAt(line.key)->held_ns = 0;
  }
  line.YieldHeld();
  line.held_ns = 0;
}

// A Check that waits and was refused again by what time cures.
struct RefusedAgain {
  LineState& state;
  WaitingCheck& waiting;
  Line& line;  // its own
  const engine::Violation& binding;
  const engine::CheckAnswer& answer;
  int64_t now_ns;
  // When it is looked at the next time.
  int64_t due_ns = 0;
  bool circles = false;  // it was looked at so often at this time that it has to wait
};

// Notes what one of a bucket's line costs now that was refused there.
void PriceAgain(const RefusedAgain& its) {
  WaitingCheck& waiting = its.waiting;
  Line& line = its.line;
  const double cost = CostAtLine(its.binding, its.answer);
  const uint64_t version = its.answer.policy == nullptr ? 0 : its.answer.policy->version;
  const bool is_another_policy = std::exchange(line.priced_by, version) != version;
  if (waiting.cost == cost) return;
  if (is_another_policy) Reprice(its.state, line, cost / waiting.cost);
  const engine::LineFlow flow = line.queue.FlowOf(waiting.ticket);
  line.queue.Remove(waiting.ticket);
  waiting.cost = cost;
  line.queue.Push(waiting.ticket, flow, cost, waiting.ticket);
}

// For a Check of this line's head that was refused for want of room: when those who are not there
// have to let go of what is held for them, which they do if that is now. kNever: it needs no more
// than that others drain.
int64_t MakeRoom(Line& line, double cost_ns, int64_t now_ns) {
  if (line.held_for_absent_ns == 0 || !line.IsShutOut(cost_ns, line.HeldByOthers(0))) return kNever;
  const int64_t out_ns = line.patience.Try(line.bucket.DrainsTo(0, now_ns));
  if (out_ns <= now_ns) line.YieldHeld();
  return std::max(out_ns, now_ns);
}

void CountLook(RefusedAgain& its) {
  WaitingCheck& waiting = its.waiting;
  waiting.looks = waiting.looked_at_ns == its.now_ns ? waiting.looks + 1 : 0;
  waiting.looked_at_ns = its.now_ns;
  its.due_ns = Later(its.now_ns, std::max(its.binding.retry_after, absl::Nanoseconds(1)));
  its.circles = waiting.looks >= kMaxLooks;
  if (its.circles) its.due_ns = std::max(its.due_ns, its.now_ns + kMillisecondNs);
}

// An instant that proves wrong again and again is not trusted; once may be due to a Report.
void DistrustWrongInstants(RefusedAgain& its) {
  WaitingCheck& waiting = its.waiting;
  const bool was_wrong = its.now_ns >= waiting.expected_ns;
  waiting.refused_again = was_wrong ? waiting.refused_again + 1 : 0;
  if (waiting.refused_again > kTrusted) {
    const int doublings = std::min(waiting.refused_again - kTrusted, 13);
    its.due_ns = std::max(its.due_ns, its.now_ns + (int64_t{1} << (10 + doublings)));
  }
  waiting.expected_ns = its.due_ns;
}

// The head of its line was refused by the line's own limit.
void StayInLine(RefusedAgain& its) {
  Line& line = its.line;
  LineTable& lines = its.state.lines;
  if (its.binding.limit == engine::Limit::kBurst) {
    const auto cost = static_cast<double>(its.binding.cost_ns);
    if (const int64_t at_ns = MakeRoom(line, cost, its.now_ns); at_ns != kNever) its.due_ns = at_ns;
  }
  DistrustWrongInstants(its);
  if (its.binding.limit != engine::Limit::kLine) line.limit = its.binding.limit;
  if (!line.look_at_all) {
    return lines.SetDue(line, its.circles ? its.due_ns : std::min(line.due_ns, its.due_ns));
  }
  line.to_requeue.push_back({its.waiting.ticket, KeptFlow(line.FlowOf(its.waiting))});
  line.queue.Remove(its.waiting.ticket);
  its.waiting.awaits_requeue = true;
  lines.SetDue(line, kAtOnce);
}

// It was refused by another limit than its line's, and waits for that one now.
void MoveToItsLimit(const RefusedAgain& its) {
  WaitingCheck& waiting = its.waiting;
  LineTable& lines = its.state.lines;
  if (!its.line.is_bucket) its.line.queue.Charge(its.line.FlowOf(waiting), waiting.cost);
  lines.Part(waiting, its.state.now_ns);
  Line& next = lines.Join(waiting, its.binding, its.answer);
  its.state.waits.Move(waiting, next, its.now_ns);
  lines.SetDue(its.line, kAtOnce);
  const bool is_head = next.queue.Head() == waiting.ticket;
  if (!is_head) return;
  // It has just been examined there, unless it was only told that others are before it.
  const bool examined = its.binding.limit != engine::Limit::kLine || its.circles;
  next.head_asked = examined ? std::optional<uint64_t>(waiting.ticket) : std::nullopt;
  lines.SetDue(next, examined ? its.due_ns : kAtOnce);
}

// It stays in its line, or moves.
void KeepWaiting(RefusedAgain its, bool had_turn) {
  CountLook(its);
  if (its.binding.line_key != its.line.key) {
    // At a gate all wait, and nobody takes the room.
    const bool takes_room = its.line.is_bucket && IsOfBucket(its.binding.limit);
    if (had_turn && takes_room) its.line.HoldFor(its.waiting);
    // What shuts a gate keeps those behind it in its line as well.
    if (its.binding.limit == engine::Limit::kHealth) {
      LineTable::NoteCause(its.line, its.binding, its.answer);
    }
    return MoveToItsLimit(its);
  }
  LineTable::NoteCause(its.line, its.binding, its.answer);
  if (its.line.is_bucket) PriceAgain(its);
  // Else it was only to be priced.
  if (had_turn) StayInLine(its);
}

}  // namespace

Departure Conclude(LineState& state, WaitingCheck& waiting, const Examined& examined) {
  ++state.stats.examined;
  const bool had_turn = std::exchange(waiting.has_turn, false);
  waiting.in_examination = false;
  const absl::Status& status = examined.status;
  const int64_t now_ns = examined.now.monotonic_ns;
  const engine::Violation* const binding = BindingViolation(examined.answer);
  if (status.ok() && examined.answer.verdict == engine::Verdict::kAllowed) {
    Line& line = *state.lines.Find(waiting.key);
    if (!line.is_bucket) line.queue.Charge(line.FlowOf(waiting), waiting.cost);
    return Depart(state, waiting, {status, WaitEnd::kAdmitted, now_ns});
  }
  // No room for its permit: that is curable, and the answer says so.
  const bool full = absl::IsResourceExhausted(status) && waiting.ended.ok();
  if (!status.ok() && (!full || binding == nullptr)) {
    return Depart(state, waiting, {status, WaitEnd::kEnded, now_ns});
  }
  if (std::optional<Ending> ending = EndedMeanwhile(waiting, now_ns); ending.has_value()) {
    return Depart(state, waiting, *std::move(ending));
  }
  if (now_ns >= waiting.wait.until_ns || binding == nullptr) {
    const WaitEnd end = binding == nullptr ? WaitEnd::kEnded : WaitEnd::kTimedOut;
    return Depart(state, waiting, {absl::OkStatus(), end, now_ns});
  }
  KeepWaiting({.state = state,
               .waiting = waiting,
               .line = *state.lines.Find(waiting.key),
               .binding = *binding,
               .answer = examined.answer,
               .now_ns = now_ns},
              had_turn);
  return {};
}

Departure ConcludeAsked(LineState& state, WaitingCheck& waiting, absl::Status status,
                        const Now& now) {
  waiting.in_examination = false;
  if (std::optional<Ending> ending = EndedMeanwhile(waiting, now.monotonic_ns);
      ending.has_value()) {
    return Depart(state, waiting, *std::move(ending));
  }
  if (status.ok()) return {};
  return Depart(state, waiting, {std::move(status), WaitEnd::kEnded, now.monotonic_ns});
}

}  // namespace headgate::line
