#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "server/line/waiting_lines.h"

namespace headgate::line {
namespace {

// Of a line, besides those who are asked for.
constexpr size_t kMorePositions = 64;

absl::Duration Between(int64_t from_ns, int64_t to_ns) {
  if (to_ns == kNever) return absl::InfiniteDuration();
  return absl::Nanoseconds(std::max<int64_t>(to_ns - from_ns, 0));
}

// Of a bucket's debt. At a gate, costs say no more than whose turn it is.
double OwedBy(const Line& line, double cost) { return line.is_bucket ? cost : 0; }

// Of a line that nobody has in hand.
struct InLine {
  const Line* line = nullptr;
  int64_t since_ns = kNever;
  std::vector<const Waiting*> its;
};

}  // namespace

LineStats WaitingLines::ReadStats(Now now) const {
  MutexLock lock(&mutex_);
  LineStats stats = stats_;
  for (const auto& [key, line] : by_key_) stats.waited_in += line->waiting > 0 ? 1 : 0;
  for (const auto& [ticket, waiting] : tickets_) {
    stats.oldest = std::max(stats.oldest, Between(waiting->since_ns, now.monotonic_ns));
  }
  stats.max_waiting_share = options_.max_waiting_share;
  stats.waiting = tickets_.size();
  stats.lines = by_key_.size();
  stats.places = places_.size();
  stats.max_waiting = options_.max_waiting;
  return stats;
}

LineView WaitingLines::View(const Line& line, size_t most_waiting, int64_t now_ns,
                            std::vector<const Waiting*> its) const {
  LineView view{.key = line.key,
                .target = line.target,
                .budget = line.budget,
                .bucket = line.bucket_name,
                .profile = line.profile,
                .rule = line.rule,
                .limit = line.limit,
                .waiting = line.waiting,
                .held_ns = line.held_ns,
                .places = line.places,
                .next = Between(now_ns, line.due_ns)};
  int64_t oldest_ns = now_ns;
  for (const Waiting* waiting : its) {
    oldest_ns = std::min(oldest_ns, waiting->since_ns);
    view.cost_ns += OwedBy(line, waiting->cost);
  }
  // A position takes time to find, while others wait for the mutex: it is found of the head and of
  // those only who came first.
  const std::optional<uint64_t> head = line.queue.Head();
  const auto before = [&](const Waiting* a, const Waiting* b) {
    return std::pair(head != a->ticket, a->ticket) < std::pair(head != b->ticket, b->ticket);
  };
  const size_t looked_at = std::min(its.size(), most_waiting + kMorePositions);
  std::partial_sort(its.begin(), its.begin() + static_cast<std::ptrdiff_t>(looked_at), its.end(),
                    before);
  its.resize(looked_at);
  std::vector<std::pair<size_t, const Waiting*>> order;
  order.reserve(its.size());
  for (const Waiting* waiting : its) {
    // Who stands beside the queue has just been looked at; it goes back behind those in it.
    order.emplace_back(
        waiting->beside ? line.queue.size() + 1 : line.queue.Position(waiting->ticket), waiting);
  }
  view.oldest = absl::Nanoseconds(now_ns - oldest_ns);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second->ticket) < std::pair(b.first, b.second->ticket);
  });
  order.resize(std::min(order.size(), most_waiting));
  for (const auto& [position, waiting] : order) {
    const engine::CheckRequest request = waiting->Request();
    const uint64_t id = waiting->beside ? 0 : waiting->ticket;
    view.first.push_back(
        {.ticket = waiting->ticket,
         .identity = std::string(request.identity),
         .caller = std::string(request.caller),
         .priority = FlowOf(line, *waiting).priority,
         .cost_ns = OwedBy(line, waiting->cost),
         .position = position,
         .waited = Between(waiting->since_ns, now_ns),
         .left = Between(now_ns, waiting->wait.until_ns),
         .expected = Between(now_ns, ExpectedAt(line, id, waiting->cost, now_ns))});
  }
  return view;
}

LinesView WaitingLines::ReadLines(const LineQuery& query, Now now) const {
  MutexLock lock(&mutex_);
  absl::flat_hash_map<uint64_t, InLine> by_key;
  LinesView view;
  for (const auto& [key, line] : by_key_) {
    if (line->waiting == 0 || (!query.target.empty() && line->target != query.target)) continue;
    if (!query.budget.empty() && line->budget != query.budget) continue;
    by_key[key].line = line.get();
    view.waiting += line->waiting;
  }
  view.in_all = by_key.size();
  for (const auto& [ticket, waiting] : tickets_) {
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
    view.lines.push_back(View(*in->line, query.most_waiting, now.monotonic_ns, std::move(in->its)));
  }
  return view;
}

PlaceView WaitingLines::ReadPlace(const Newcomer& newcomer, Now now) {
  MutexLock lock(&mutex_);
  PlaceView view;
  Line* const line = FindLine(newcomer.key);
  if (line == nullptr || line->waiting == 0) return view;
  view.waiting = line->waiting;
  for (const auto& [ticket, waiting] : tickets_) {
    if (waiting->key != newcomer.key) continue;
    view.oldest = std::max(view.oldest, Between(waiting->since_ns, now.monotonic_ns));
  }
  // It takes a place for a moment. Who has none to come back to is not remembered by the queue.
  const uint64_t id = next_id_;
  const double cost = static_cast<double>(std::max<int64_t>(newcomer.cost_ns, 1));
  line->queue.Push(id, newcomer.flow, cost, id);
  view.position = line->queue.Position(id);
  view.cost_ahead_ns = OwedBy(*line, line->queue.CostAhead(id));
  const int64_t turn_ns = ExpectedAt(*line, id, cost, now.monotonic_ns);
  view.expected = Between(now.monotonic_ns, turn_ns);
  line->queue.Remove(id);
  return view;
}

}  // namespace headgate::line
