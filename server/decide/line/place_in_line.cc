#include "server/decide/line/place_in_line.h"

#include <algorithm>
#include <optional>

#include "server/decide/line/trial_place.h"
#include "server/decide/line/turn_estimate.h"

namespace headgate::line {
namespace {

using engine::LineArrival;
using engine::PlaceInLine;

// Clients come back up to a quarter later than they are told; and calls take a while.
constexpr int64_t kLateNs = 50'000'000;

absl::Duration Until(int64_t at_ns, int64_t now_ns) {
  // Where nobody can know it, when to ask again.
  if (at_ns == kNever) return absl::Nanoseconds(kAskAgainNs);
  return absl::Nanoseconds(std::max<int64_t>(at_ns - now_ns, 1));
}

// How many wait, without the one that asks.
int64_t OthersIn(const Line& line, bool is_in_it) {
  const auto all = static_cast<int64_t>(line.queue.size());
  return is_in_it ? std::max<int64_t>(all - 1, 0) : all;
}

// It will join the line, if it is refused.
PlaceInLine PlaceOfNewcomer(const Line& line, const LineArrival& arrival) {
  const int64_t now_ns = arrival.now.monotonic_ns;
  const bool behind = line.queue.size() > 0;
  const TurnQuery query{.id = 0, .cost_ns = QueueCost(arrival.cost_ns), .now_ns = now_ns};
  const int64_t turn_ns = behind ? ExpectedTurnAt(line, query) : now_ns;
  return {.behind = behind,
          .held_ns = line.HeldByOthers(0),
          .turn_in = Until(turn_ns, now_ns),
          .others = OthersIn(line, false)};
}

// It waits, in this line or in another one, and is being examined.
PlaceInLine PlaceOfWaiting(const Line& line, WaitingCheck& waiting, const LineArrival& arrival) {
  const int64_t now_ns = arrival.now.monotonic_ns;
  const Turn* const turn = waiting.TurnAt(line.key);
  PlaceInLine standing;
  standing.held_ns = line.HeldByOthers(turn == nullptr ? 0 : turn->held_ns);
  standing.others = OthersIn(line, waiting.key == line.key);
  const bool has_turn = waiting.key == line.key && waiting.has_turn;
  const std::optional<uint64_t> head = line.queue.Head();
  if (has_turn || turn != nullptr || !head.has_value() || *head == arrival.ticket) return standing;
  standing.behind = true;
  const TurnQuery query{.id = waiting.key == line.key ? arrival.ticket : 0,
                        .cost_ns = QueueCost(arrival.cost_ns),
                        .now_ns = now_ns};
  standing.turn_in = Until(ExpectedTurnAt(line, query), now_ns);
  return standing;
}

PlaceInLine PlaceOfPoller(PlaceTable& places, Line& line, const LineArrival& arrival) {
  const int64_t now_ns = arrival.now.monotonic_ns;
  const double cost = QueueCost(arrival.cost_ns);
  Place* place = places.Find(line.key, arrival.subject_key);
  if (place != nullptr) place->came_back = true;
  const int64_t held_ns = line.HeldByOthers(place == nullptr ? 0 : line.HeldFor(*place));
  const bool fits = line.bucket.FitsAt(cost, static_cast<double>(held_ns), now_ns) <= now_ns;
  if (place != nullptr && place->had_turn && fits)
    return {.held_ns = held_ns, .turn_in = absl::ZeroDuration()};
  if (place == nullptr && fits && line.queue.size() == 0)
    return {.held_ns = held_ns, .turn_in = absl::ZeroDuration()};
  place = places.Keep(line, arrival);
  if (place == nullptr) {  // there are too many
    const bool behind = line.queue.size() > 0;
    const int64_t turn_ns = TurnAt(line, {.id = 0, .cost_ns = cost, .now_ns = now_ns});
    return {.behind = behind, .held_ns = held_ns, .turn_in = Until(turn_ns, now_ns)};
  }
  PlaceInLine standing;
  standing.behind = line.queue.Head() != place->id;
  standing.held_ns = held_ns;
  const int64_t turn_ns = TurnAt(line, {.id = place->id, .cost_ns = cost, .now_ns = now_ns});
  standing.turn_in = Until(turn_ns, now_ns);
  const int64_t wait_ns = std::min(
      turn_ns == kNever ? kAskAgainNs : std::max<int64_t>(turn_ns - now_ns, 0), kLongestTurnNs);
  places.SetEnd(*place, now_ns + wait_ns + wait_ns / 4 + kLateNs);
  return standing;
}

// What one who polls would be told, whose place stays as it is, or is not made.
PlaceInLine PlaceIfItPolled(LineState& state, Line& line, const LineArrival& arrival) {
  const int64_t now_ns = arrival.now.monotonic_ns;
  const double cost = QueueCost(arrival.cost_ns);
  const Place* const place = state.places.Find(line.key, arrival.subject_key);
  PlaceInLine standing;
  standing.held_ns = line.HeldByOthers(place == nullptr ? 0 : line.HeldFor(*place));
  const auto held_ns = static_cast<double>(standing.held_ns);
  const bool fits = line.bucket.FitsAt(cost, held_ns, now_ns) <= now_ns;
  const bool is_next = place == nullptr ? line.queue.size() == 0 : place->had_turn;
  if (is_next && fits) return standing;
  if (place == nullptr && !state.places.MayKeep(line, now_ns)) {
    standing.behind = line.queue.size() > 0;
    standing.turn_in = Until(TurnAt(line, {.id = 0, .cost_ns = cost, .now_ns = now_ns}), now_ns);
    return standing;
  }
  const TrialPlace trial(state.lines, line, {.flow = arrival.flow, .cost = cost, .place = place});
  standing.behind = line.queue.Head() != trial.id();
  standing.turn_in =
      Until(TurnAt(line, {.id = trial.id(), .cost_ns = cost, .now_ns = now_ns}), now_ns);
  return standing;
}

}  // namespace

PlaceInLine PlaceInLineOf(LineState& state, Line& line, const LineArrival& arrival) {
  if (arrival.explains) return PlaceIfItPolled(state, line, arrival);
  if (arrival.ticket == 0 && !arrival.waits) {
    PlaceInLine standing = PlaceOfPoller(state.places, line, arrival);
    const bool has_place = state.places.Find(line.key, arrival.subject_key) != nullptr;
    standing.others = OthersIn(line, has_place);
    return standing;
  }
  WaitingCheck* const waiting = state.tickets.Find(arrival.ticket);
  return waiting == nullptr ? PlaceOfNewcomer(line, arrival)
                            : PlaceOfWaiting(line, *waiting, arrival);
}

}  // namespace headgate::line
