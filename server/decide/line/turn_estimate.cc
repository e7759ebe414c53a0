#include "server/decide/line/turn_estimate.h"

#include <algorithm>

namespace headgate::line {
namespace {

// No turn of somebody behind others is expected earlier, so that nobody asks again and again.
constexpr int64_t kLeastTurnNs = 1'000'000;

}  // namespace

int64_t TurnAt(const Line& line, const TurnQuery& query) {
  // Whoever is behind others has no turn before the head has.
  int64_t least_ns = query.now_ns;
  if (line.queue.Head() != query.id) {
    least_ns = query.now_ns + kLeastTurnNs;
    if (line.due_ns != kNever) least_ns = std::max(least_ns, line.due_ns);
  }
  if (line.bucket.burst_ns > 0) {
    const double ahead_ns =
        static_cast<double>(line.held_ns) + (query.id == 0 ? 0 : line.queue.CostAhead(query.id));
    return std::max(line.bucket.FitsAt(query.cost_ns, ahead_ns, query.now_ns), least_ns);
  }
  if (line.interval_ns == 0) return kNever;
  // Of permits, nobody knows more than how often one comes.
  const size_t position = query.id == 0 ? line.queue.size() + 1 : line.queue.Position(query.id);
  const double wait_ns = static_cast<double>(line.interval_ns) * static_cast<double>(position);
  const auto most_ns = static_cast<double>(kLongestTurnNs);
  return std::max(query.now_ns + static_cast<int64_t>(std::min(wait_ns, most_ns)), least_ns);
}

int64_t ExpectedTurnAt(const Line& line, const TurnQuery& query) {
  const int64_t turn_ns = TurnAt(line, query);
  const bool is_shut_out =
      line.held_for_absent_ns > 0 && line.IsShutOut(query.cost_ns, line.HeldByOthers(0));
  const bool behind_large = line.large_places > 0 && line.queue.Head() != query.id;
  if (!is_shut_out && !behind_large) return turn_ns;
  return std::max(turn_ns, line.patience.EndsAt(line.bucket.DrainsTo(0, query.now_ns)));
}

}  // namespace headgate::line
