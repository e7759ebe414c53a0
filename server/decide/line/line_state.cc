#include "server/decide/line/line_state.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"

namespace headgate::line {
namespace {

constexpr size_t kMostPlaces = 16384;

}  // namespace

LineState::LineState(const LineOptions& options, std::atomic<int64_t>& count, HeldBytes& held)
    : lines(options.priority_floor, count),
      tickets(options, held),
      places(std::min(options.max_waiting, kMostPlaces), lines),
      tasks(lines, tickets, places),
      // Of those whose wait has ended, some are kept until the next round.
      waits(3 * options.max_waiting, held) {}

std::vector<WaitingCheck*> WaitingIn(const LineState& state, const Line& line) {
  std::vector<WaitingCheck*> its;
  for (const uint64_t id : line.queue.Ids()) {
    // Else it is a place of somebody who polls.
    if (WaitingCheck* const waiting = state.tickets.Find(id); waiting != nullptr)
      its.push_back(waiting);
  }
  for (const Requeued& each : line.to_requeue) {
    WaitingCheck* const waiting = state.tickets.Find(each.ticket);
    const bool is_here = waiting != nullptr && waiting->awaits_requeue && waiting->key == line.key;
    if (is_here) its.push_back(waiting);
  }
  std::sort(its.begin(), its.end(),
            [](const WaitingCheck* a, const WaitingCheck* b) { return a->ticket < b->ticket; });
  return its;
}

Departure Depart(LineState& state, WaitingCheck& waiting, Ending ending) {
  const bool answered = ending.status.ok() && ending.end != WaitEnd::kLeft;
  state.waits.Finish(waiting, {ending.end, answered, ending.at_ns});
  state.stats.waits[static_cast<size_t>(ending.end)].Add(
      absl::Nanoseconds(ending.at_ns - waiting.since_ns));
  state.lines.ReleaseTurns(waiting);
  state.lines.Part(waiting, state.now_ns);
  return {.waiting = state.tickets.Remove(waiting), .status = std::move(ending.status)};
}

}  // namespace headgate::line
