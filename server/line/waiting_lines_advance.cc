// What Advance does: deadlines first, for they are promises; then the lines that are due, each by
// its head. A line whose head was admitted, or moved away, is due at once for the next one; one
// whose head its own limit refuses is due at the instant that the engine tells.
//
// At a gate or a pause no room is handed out: when its head gets past, the next one is looked at,
// until all are through. After a change of the policy all of such a line are looked at, for a rule
// may have let go some of them; those who are refused still stand beside the queue until then.

#include <algorithm>
#include <utility>

#include "server/engine/policy.h"
#include "server/line/curable.h"
#include "server/line/waiting_lines.h"

namespace headgate::line {
namespace {

constexpr int kBite = 64;  // examinations in one call
constexpr size_t kMarked = 256;
constexpr int64_t kRememberedNs = 10'000'000'000;
constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kMillisecondNs = 1'000'000;
// Of looks at one Check at one time, each for a reason; more would turn in a circle.
constexpr int kMaxLooks = 64;
// Instants in a row that may prove wrong.
constexpr int kTrusted = 8;
// From so many times the cost on, another policy measures in another way.
constexpr double kOtherMeasure = 2;
constexpr double kMostCostNs = 1e18;
// Lines that nobody is in, of those who remember shares.
constexpr size_t kMaxLines = size_t{1} << 17;

int64_t Later(int64_t now_ns, absl::Duration by) {
  const int64_t by_ns = absl::ToInt64Nanoseconds(by);
  return by_ns > kNever - 1 - now_ns ? kNever - 1 : now_ns + by_ns;
}

}  // namespace

int64_t WaitingLines::Advance(Now now) {
  {
    MutexLock lock(&mutex_);
    if (advancing_) return now.monotonic_ns + kMillisecondNs;
    advancing_ = true;
    now_ns_ = now.monotonic_ns;
  }
  for (int i = 0; i < kBite && Step(now); ++i) {
  }
  answer_.Clear();
  MutexLock lock(&mutex_);
  advancing_ = false;
  told_ns_ = std::max(NextInstant(), now.monotonic_ns);
  return told_ns_;
}

bool WaitingLines::Step(const Now& now) {
  Waiting* waiting = nullptr;
  Work work = Work::kNone;
  {
    MutexLock lock(&mutex_);
    work = TakeWork(now, waiting);
  }
  if (waiting == nullptr) return work != Work::kNone;
  absl::Status status;
  if (work == Work::kExamine) {
    status = examine_(waiting->Request(), now, answer_);
  } else if (!waiting->wait.waiter->MayWait(waiting->Request())) {
    status = absl::PermissionDeniedError("the right to ask was withdrawn while the Check waited");
  }
  Departure departure;
  {
    MutexLock lock(&mutex_);
    if (work == Work::kExamine) {
      departure = Conclude(*waiting, status, answer_, now);
    } else {
      waiting->under = Under::kNothing;
      if (!waiting->ended.ok()) status = waiting->ended;
      if (waiting->left) status = absl::CancelledError("its caller is gone");
      if (!status.ok()) {
        const WaitEnd end = waiting->left ? WaitEnd::kLeft : WaitEnd::kEnded;
        departure = Depart(*waiting, status, end, now.monotonic_ns);
      }
    }
  }
  if (departure.waiting == nullptr) return true;
  if (!departure.status.ok()) answer_.Clear();
  const Wait& wait = departure.waiting->wait;
  wait.waiter->Answer(wait.place, departure.status, departure.waiting->Request(), answer_, now);
  return true;
}

void WaitingLines::TakeUp(Waiting& waiting) { waiting.under = Under::kExamination; }

WaitingLines::Work WaitingLines::TakeWork(const Now& now, Waiting*& waiting) {
  const int64_t now_ns = now.monotonic_ns;
  if (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
    waiting = tickets_.find(deadlines_.begin()->second)->second.get();
    TakeUp(*waiting);
    return Work::kExamine;
  }
  if (changed_) {
    changed_ = false;
    changed_lines_.clear();
    for (const auto& [key, line] : by_key_) changed_lines_.push_back(key);
  }
  for (size_t i = 0; i < kMarked && !changed_lines_.empty(); ++i) {
    Line* const line = FindLine(changed_lines_.back());
    changed_lines_.pop_back();
    if (line == nullptr) continue;
    line->look_at_all = !line->is_bucket;
    // Gates first: who waits there may be before those at the bucket behind it.
    SetDue(*line, line->is_bucket ? kAtOnce + 1 : kAtOnce);
  }
  if (!place_ends_.empty() && place_ends_.begin()->first <= now_ns) {
    DropPlace(*places_.find(place_ends_.begin()->second)->second);
    return Work::kDone;
  }
  if (!to_ask_.empty()) {
    const auto found = tickets_.find(to_ask_.back());
    to_ask_.pop_back();
    if (found == tickets_.end()) return Work::kDone;
    waiting = found->second.get();
    TakeUp(*waiting);
    return Work::kAskWaiter;
  }
  if (agenda_.empty() || agenda_.begin()->first > now_ns) return PriceNext(waiting);
  return LookAtLine(*FindLine(agenda_.begin()->second), now, waiting);
}

WaitingLines::Work WaitingLines::PriceNext(Waiting*& waiting) {
  if (to_price_.empty()) return Work::kNone;
  const auto found = tickets_.find(to_price_.back());
  to_price_.pop_back();
  if (found == tickets_.end()) return Work::kDone;
  waiting = found->second.get();
  TakeUp(*waiting);
  return Work::kExamine;
}

WaitingLines::Work WaitingLines::LookAtLine(Line& line, const Now& now, Waiting*& waiting) {
  const std::optional<uint64_t> head = line.queue.Head();
  line.head_asked = head;
  line.patience.Pass(now.monotonic_ns);
  if (!head.has_value()) {
    LookAtEmptyLine(line, now);
    return Work::kDone;
  }
  if (const auto place = places_.find(*head); place != places_.end()) {
    TurnOfPlace(line, *place->second, now.monotonic_ns);
    return Work::kDone;
  }
  waiting = tickets_.find(*head)->second.get();
  TakeUp(*waiting);
  waiting->has_turn = true;
  // What happens meanwhile makes it due earlier.
  SetDue(line, kNever);
  return Work::kExamine;
}

void WaitingLines::LookAtEmptyLine(Line& line, const Now& now) {
  if (!line.beside.empty()) {
    line.look_at_all = false;
    for (const Beside& each : std::exchange(line.beside, {})) {
      const auto found = tickets_.find(each.ticket);
      if (found == tickets_.end() || !found->second->beside || found->second->key != line.key) {
        continue;
      }
      found->second->beside = false;
      line.queue.Push(each.ticket, each.flow.Flow(), found->second->cost, each.ticket);
    }
    // All have just been looked at.
    line.head_asked = line.queue.Head();
    SetDue(line, now.monotonic_ns + kSecondNs);
    return;
  }
  line.look_at_all = false;
  const int64_t forgotten_at_ns = line.empty_since_ns + kRememberedNs;
  const bool remembers = line.is_bucket && by_key_.size() <= kMaxLines;
  if (line.held_ns > 0 || (remembers && now.monotonic_ns < forgotten_at_ns)) {
    const int64_t next_ns = std::max(forgotten_at_ns, now.monotonic_ns + kSecondNs);
    // A clock that was set back does not make it remember for longer.
    SetDue(line, std::min(next_ns, now.monotonic_ns + kRememberedNs));
    return;
  }
  Forget(line);
}

WaitingLines::Departure WaitingLines::Depart(Waiting& waiting, absl::Status status, WaitEnd end,
                                             int64_t now_ns) {
  CountEnd(waiting, end, now_ns);
  return {.waiting = Remove(waiting), .status = std::move(status)};
}

WaitingLines::Departure WaitingLines::Conclude(Waiting& waiting, const absl::Status& status,
                                               const engine::CheckAnswer& answer, const Now& now) {
  ++stats_.examined;
  const bool had_turn = std::exchange(waiting.has_turn, false);
  waiting.under = Under::kNothing;
  Line& line = *FindLine(waiting.key);
  const bool allowed = status.ok() && answer.verdict == engine::Verdict::kAllowed;
  if (allowed || !status.ok()) {
    // No room for its permit: that is curable, and the answer says so.
    const bool full = absl::IsResourceExhausted(status) && waiting.ended.ok();
    if (allowed || !full || BindingViolation(answer) == nullptr) {
      if (allowed && !line.is_bucket) line.queue.Charge(FlowOf(line, waiting), waiting.cost);
      const WaitEnd end = allowed ? WaitEnd::kAdmitted : WaitEnd::kEnded;
      return Depart(waiting, status, end, now.monotonic_ns);
    }
  }
  if (waiting.left || !waiting.ended.ok()) {
    const absl::Status why =
        waiting.left ? absl::CancelledError("its caller is gone") : waiting.ended;
    const WaitEnd end = waiting.left ? WaitEnd::kLeft : WaitEnd::kEnded;
    return Depart(waiting, why, end, now.monotonic_ns);
  }
  const engine::Violation* const binding = BindingViolation(answer);
  if (now.monotonic_ns >= waiting.wait.until_ns || binding == nullptr) {
    const WaitEnd end = binding == nullptr ? WaitEnd::kEnded : WaitEnd::kTimedOut;
    return Depart(waiting, absl::OkStatus(), end, now.monotonic_ns);
  }
  KeepWaiting(waiting, line, had_turn, *binding, answer, now);
  return {};
}

void WaitingLines::PriceAt(Line& line, Waiting& waiting, double cost,
                           const engine::CheckAnswer& answer) {
  const uint64_t version = answer.policy == nullptr ? 0 : answer.policy->version;
  const bool is_another_policy = std::exchange(line.priced_by, version) != version;
  if (waiting.cost == cost) return;
  if (is_another_policy) Reprice(line, cost / waiting.cost);
  const engine::LineFlow flow = line.queue.FlowOf(waiting.ticket);
  line.queue.Remove(waiting.ticket);
  waiting.cost = cost;
  line.queue.Push(waiting.ticket, flow, cost, waiting.ticket);
}

void WaitingLines::Reprice(Line& line, double by) {
  std::vector<uint64_t> its;
  for (const auto& [ticket, waiting] : tickets_) {
    if (waiting->key == line.key) its.push_back(ticket);
  }
  // In the order of their arrival, whatever the table's is.
  std::sort(its.begin(), its.end());
  to_price_.insert(to_price_.end(), its.begin(), its.end());
  if (by <= kOtherMeasure && by >= 1 / kOtherMeasure) return;
  FairQueue queue({.priority_floor = options_.priority_floor});
  for (const uint64_t ticket : its) {
    Waiting& waiting = *tickets_.find(ticket)->second;
    waiting.cost *= by;
    queue.Push(ticket, line.queue.FlowOf(ticket), waiting.cost, ticket);
  }
  line.queue = std::move(queue);
  line.large_places = 0;
  std::vector<uint64_t> places;
  for (const auto& [id, place] : places_) {
    if (place->key == line.key) places.push_back(id);
  }
  std::sort(places.begin(), places.end());
  for (const uint64_t id : places) {
    Place& place = *places_.find(id)->second;
    const double cost_ns = std::min(static_cast<double>(place.cost_ns) * by, kMostCostNs);
    place.cost_ns = static_cast<int64_t>(cost_ns);
    if (!place.had_turn) Enqueue(line, place);
  }
  for (const auto& [ticket, waiting] : tickets_) {
    if (Turn* const turn = waiting->TurnAt(line.key); turn != nullptr) turn->held_ns = 0;
  }
  line.YieldHeld();
  line.held_ns = 0;
}

void WaitingLines::KeepWaiting(Waiting& waiting, Line& line, bool had_turn,
                               const engine::Violation& binding, const engine::CheckAnswer& answer,
                               const Now& now) {
  const int64_t now_ns = now.monotonic_ns;
  waiting.looks = waiting.looked_at_ns == now_ns ? waiting.looks + 1 : 0;
  waiting.looked_at_ns = now_ns;
  int64_t due_ns = Later(now_ns, std::max(binding.retry_after, absl::Nanoseconds(1)));
  const bool circles = waiting.looks >= kMaxLooks;
  if (circles) due_ns = std::max(due_ns, now_ns + kMillisecondNs);
  if (binding.line_key == line.key) {
    if (line.is_bucket) PriceAt(line, waiting, CostAtLine(binding, answer), answer);
    if (!had_turn) return;  // it was only to be priced
    if (binding.limit == engine::Limit::kBurst) {
      const double cost = static_cast<double>(binding.cost_ns);
      if (const int64_t room_ns = MakeRoom(line, cost, now_ns); room_ns != kNever) due_ns = room_ns;
    }
    // An instant that proves wrong again and again is not trusted; once may be due to a Report.
    const bool was_wrong = now_ns >= waiting.expected_ns;
    waiting.refused_again = was_wrong ? waiting.refused_again + 1 : 0;
    if (waiting.refused_again > kTrusted) {
      const int doublings = std::min(waiting.refused_again - kTrusted, 13);
      due_ns = std::max(due_ns, now_ns + (int64_t{1} << (10 + doublings)));
    }
    waiting.expected_ns = due_ns;
    if (binding.limit != engine::Limit::kLine) line.limit = binding.limit;
    if (!line.look_at_all) return SetDue(line, circles ? due_ns : std::min(line.due_ns, due_ns));
    line.beside.push_back({waiting.ticket, KeptFlow(FlowOf(line, waiting))});
    line.queue.Remove(waiting.ticket);
    waiting.beside = true;
    return SetDue(line, kAtOnce);
  }
  // At a gate all wait, and nobody takes the room.
  if (had_turn && line.is_bucket && IsOfBucket(binding.limit)) Hold(line, waiting);
  if (!line.is_bucket) line.queue.Charge(FlowOf(line, waiting), waiting.cost);
  Part(waiting);
  Line& next = Join(waiting, binding, answer);
  SetDue(line, kAtOnce);
  const bool is_head = next.queue.Head() == waiting.ticket;
  if (!is_head) return;
  // It has just been examined there, unless it was only told that others are before it.
  const bool examined = binding.limit != engine::Limit::kLine || circles;
  next.head_asked = examined ? std::optional<uint64_t>(waiting.ticket) : std::nullopt;
  SetDue(next, examined ? due_ns : kAtOnce);
}

}  // namespace headgate::line
