#include "server/decide/line/read_lines.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/decide/line/trial_place.h"
#include "server/decide/line/turn_estimate.h"

namespace headgate::line {
namespace {

// So many Checks of a line are looked at beyond those that were asked for, as some of them may be
// among the next.
constexpr size_t kMorePositions = 64;

absl::Duration Between(int64_t from_ns, int64_t to_ns) {
  if (to_ns == kNever) return absl::InfiniteDuration();
  return absl::Nanoseconds(std::max<int64_t>(to_ns - from_ns, 0));
}

// What a Check would add to the debt of the line's bucket. At a gate there is no debt: a cost there
// only decides whose turn it is.
double OwedBy(const Line& line, double cost) { return line.is_bucket ? cost : 0; }

// A line, and who waits in it, while views of lines are collected.
struct InLine {
  const Line* line = nullptr;
  int64_t since_ns = kNever;
  std::vector<const WaitingCheck*> its;
};

// Those of a line who are next, `most` at most, each with its position.
using InOrder = std::vector<std::pair<size_t, const WaitingCheck*>>;

InOrder NextOf(const Line& line, std::vector<const WaitingCheck*> its, size_t most) {
  // A position takes time to find, while others wait for the mutex: it is found of the head and of
  // those only who came first.
  const std::optional<uint64_t> head = line.queue.Head();
  const auto before = [&](const WaitingCheck* a, const WaitingCheck* b) {
    return std::pair(head != a->ticket, a->ticket) < std::pair(head != b->ticket, b->ticket);
  };
  const size_t looked_at = std::min(its.size(), most + kMorePositions);
  std::partial_sort(its.begin(), its.begin() + static_cast<std::ptrdiff_t>(looked_at), its.end(),
                    before);
  its.resize(looked_at);
  InOrder order;
  order.reserve(its.size());
  for (const WaitingCheck* waiting : its) {
    // Who is to be put back into the queue has just been examined, so it comes behind those in it.
    order.emplace_back(
        waiting->awaits_requeue ? line.queue.size() + 1 : line.queue.Position(waiting->ticket),
        waiting);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second->ticket) < std::pair(b.first, b.second->ticket);
  });
  order.resize(std::min(order.size(), most));
  return order;
}

WaitingView ViewWaiting(const Line& line, const WaitingCheck& waiting, int64_t now_ns) {
  const engine::CheckRequest request = waiting.Request();
  const uint64_t id = waiting.awaits_requeue ? 0 : waiting.ticket;
  const int64_t turn_ns =
      ExpectedTurnAt(line, {.id = id, .cost_ns = waiting.cost, .now_ns = now_ns});
  return {.ticket = waiting.ticket,
          .identity = std::string(request.identity),
          .caller = std::string(request.caller),
          .priority = line.FlowOf(waiting).priority,
          .cost_ns = OwedBy(line, waiting.cost),
          .waited = Between(waiting.since_ns, now_ns),
          .left = Between(now_ns, waiting.wait.until_ns),
          .expected = Between(now_ns, turn_ns)};
}

LineView ViewLine(InLine in, size_t most_waiting, int64_t now_ns) {
  const Line& line = *in.line;
  LineView view{.key = line.key,
                .target = line.names.target,
                .budget = line.names.budget,
                .bucket = line.names.bucket,
                .profile = line.names.profile,
                .rule = line.names.rule,
                .limit = line.limit,
                .waiting = line.waiting,
                .held_ns = line.held_ns,
                .places = line.places.size(),
                .next = Between(now_ns, line.due_ns)};
  for (const WaitingCheck* waiting : in.its) view.cost_ns += OwedBy(line, waiting->cost);
  view.oldest = absl::Nanoseconds(now_ns - std::min(now_ns, in.since_ns));
  for (const auto& [position, waiting] : NextOf(line, std::move(in.its), most_waiting)) {
    view.first.push_back(ViewWaiting(line, *waiting, now_ns));
    view.first.back().position = position;
  }
  return view;
}

}  // namespace

LineStats ReadStats(const LineState& state, int64_t now_ns) {
  LineStats stats = state.stats;
  for (const auto& [key, line] : state.lines.all()) stats.waited_in += line->waiting > 0 ? 1 : 0;
  for (const auto& [ticket, waiting] : state.tickets.all()) {
    stats.oldest = std::max(stats.oldest, Between(waiting->since_ns, now_ns));
  }
  stats.waiting = state.tickets.size();
  stats.lines = state.lines.size();
  stats.places = state.places.size();
  return stats;
}

LinesView ReadLines(const LineState& state, const LineQuery& query, int64_t now_ns) {
  absl::flat_hash_map<uint64_t, InLine> by_key;
  LinesView view;
  for (const auto& [key, line] : state.lines.all()) {
    const LineNames& names = line->names;
    if (line->waiting == 0 || (!query.target.empty() && names.target != query.target)) continue;
    if (!query.budget.empty() && names.budget != query.budget) continue;
    by_key[key].line = line.get();
    view.waiting += line->waiting;
  }
  view.in_all = by_key.size();
  for (const auto& [ticket, waiting] : state.tickets.all()) {
    const auto found = by_key.find(waiting->key);
    if (found == by_key.end()) continue;
    found->second.since_ns = std::min(found->second.since_ns, waiting->since_ns);
    found->second.its.push_back(waiting.get());
  }
  std::vector<InLine*> order;
  for (auto& [key, in] : by_key) order.push_back(&in);
  std::sort(order.begin(), order.end(), [](const InLine* a, const InLine* b) {
    return std::pair(a->since_ns, a->line->key) < std::pair(b->since_ns, b->line->key);
  });
  order.resize(std::min(order.size(), query.most_lines));
  for (InLine* in : order) {
    view.lines.push_back(ViewLine(std::move(*in), query.most_waiting, now_ns));
  }
  return view;
}

PlaceView ReadPlace(LineState& state, const Newcomer& newcomer, int64_t now_ns) {
  PlaceView view;
  Line* const line = state.lines.Find(newcomer.key);
  if (line == nullptr || line->waiting == 0) return view;
  view.waiting = line->waiting;
  for (const WaitingCheck* waiting : WaitingIn(state, *line)) {
    view.oldest = std::max(view.oldest, Between(waiting->since_ns, now_ns));
  }
  const double cost = QueueCost(newcomer.cost_ns);
  const Place* const place = state.places.Find(newcomer.key, newcomer.subject_key);
  if (place != nullptr && place->had_turn) {
    const auto held_ns = static_cast<double>(line->HeldByOthers(line->HeldFor(*place)));
    if (line->bucket.FitsAt(cost, held_ns, now_ns) <= now_ns) {
      view.position = 1;
      return view;
    }
  }
  const TrialPlace trial(state.lines, *line, {.flow = newcomer.flow, .cost = cost, .place = place});
  const uint64_t id = trial.id();
  view.position = line->queue.Position(id);
  view.cost_ahead_ns = OwedBy(*line, line->queue.CostAhead(id));
  const int64_t turn_ns = ExpectedTurnAt(*line, {.id = id, .cost_ns = cost, .now_ns = now_ns});
  view.expected = Between(now_ns, turn_ns);
  return view;
}

}  // namespace headgate::line
