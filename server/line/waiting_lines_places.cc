// The gate that the engine asks, turns, and the places of those who poll.
//
// Whoever had its turn here holds room: others see the burst without it, until its holder is
// admitted or goes away. A poller's place stands in the queue like a Check. When it is the head,
// the line waits until its cost would fit, as it would for a Check; then its room is held until it
// comes back, and the next one is the head. Where that keeps others waiting although nothing drains
// for them, it is for as long as the line has patience (patience.h): then what is held for all who
// are not there is let go, and a place at the head has had its turn, with no room held.

#include <algorithm>

#include "common/hash.h"
#include "server/line/waiting_lines.h"

namespace headgate::line {
namespace {

using engine::LineArrival;
using engine::LineStanding;

// Clients come back up to a quarter later than they are told; and calls take a while.
constexpr int64_t kLateNs = 50'000'000;
// Of those who are behind others, so that nobody asks again and again.
constexpr int64_t kLeastTurnNs = 1'000'000;
// After its turn has come.
constexpr int64_t kGraceNs = 100'000'000;
// Where nobody knows when a turn comes.
constexpr int64_t kAskAgainNs = 1'000'000'000;
constexpr int64_t kLongestNs = 60 * kAskAgainNs;
// A line without anybody is remembered for as long as it remembers shares.
constexpr int64_t kPlacesKeptNs = 10 * kAskAgainNs;

absl::Duration Until(int64_t at_ns, int64_t now_ns) {
  // Where nobody can know it, when to ask again.
  if (at_ns == kNever) return absl::Seconds(1);
  return absl::Nanoseconds(std::max<int64_t>(at_ns - now_ns, 1));
}

void Note(BucketState& bucket, const LineArrival& arrival) {
  bucket.at_ns = arrival.now.monotonic_ns;
  bucket.debt_ns = arrival.debt_ns;
  bucket.burst_ns = arrival.burst_ns;
  bucket.start_level_ns = arrival.start_level_ns;
  bucket.speed = arrival.speed;
}

double CostOf(int64_t cost_ns) { return static_cast<double>(std::max<int64_t>(cost_ns, 1)); }

}  // namespace

LineStanding WaitingLines::Arrive(const LineArrival& arrival) {
  bool wake = false;
  LineStanding standing;
  {
    MutexLock lock(&mutex_);
    Line* const line = FindLine(arrival.key);
    if (line == nullptr || !line->is_bucket) return {};
    Note(line->bucket, arrival);
    standing = arrival.ticket != 0 || arrival.waits ? ArriveInTurn(*line, arrival)
                                                    : ArrivePolling(*line, arrival);
    wake = TakeWake();
  }
  WakeIf(wake);
  return standing;
}

LineStanding WaitingLines::ArriveInTurn(Line& line, const LineArrival& arrival) {
  const int64_t now_ns = arrival.now.monotonic_ns;
  const auto found = tickets_.find(arrival.ticket);
  if (found == tickets_.end()) {  // it will join the line
    const bool behind = line.queue.size() > 0;
    const int64_t turn_ns = behind ? ExpectedAt(line, 0, CostOf(arrival.cost_ns), now_ns) : now_ns;
    return {.behind = behind, .held_ns = line.HeldByOthers(0), .turn_in = Until(turn_ns, now_ns)};
  }
  Waiting& waiting = *found->second;
  const Turn* const turn = waiting.TurnAt(line.key);
  LineStanding standing;
  standing.held_ns = line.HeldByOthers(turn == nullptr ? 0 : turn->held_ns);
  const bool has_turn = waiting.key == line.key && waiting.has_turn;
  const std::optional<uint64_t> head = line.queue.Head();
  if (has_turn || turn != nullptr || !head.has_value() || *head == arrival.ticket) return standing;
  standing.behind = true;
  const uint64_t behind = waiting.key == line.key ? arrival.ticket : 0;
  standing.turn_in = Until(ExpectedAt(line, behind, CostOf(arrival.cost_ns), now_ns), now_ns);
  return standing;
}

LineStanding WaitingLines::ArrivePolling(Line& line, const LineArrival& arrival) {
  const int64_t now_ns = arrival.now.monotonic_ns;
  const double cost = CostOf(arrival.cost_ns);
  Place* place = FindPlace(line.key, arrival.subject_key);
  if (place != nullptr) place->came_back = true;
  const int64_t held_ns = line.HeldByOthers(place == nullptr ? 0 : line.HeldFor(*place));
  const bool fits = line.bucket.FitsAt(cost, static_cast<double>(held_ns), now_ns) <= now_ns;
  if (place != nullptr && place->had_turn && fits)
    return {.held_ns = held_ns, .turn_in = absl::ZeroDuration()};
  if (place == nullptr && fits && line.queue.size() == 0)
    return {.held_ns = held_ns, .turn_in = absl::ZeroDuration()};
  place = KeepPlace(line, arrival);
  if (place == nullptr) {  // there are too many
    const bool behind = line.queue.size() > 0;
    return {.behind = behind,
            .held_ns = held_ns,
            .turn_in = Until(TurnAt(line, 0, cost, now_ns), now_ns)};
  }
  LineStanding standing;
  standing.behind = line.queue.Head() != place->id;
  standing.held_ns = held_ns;
  const int64_t turn_ns = TurnAt(line, place->id, cost, now_ns);
  standing.turn_in = Until(turn_ns, now_ns);
  const int64_t wait_ns = std::min(
      turn_ns == kNever ? kAskAgainNs : std::max<int64_t>(turn_ns - now_ns, 0), kLongestNs);
  SetPlaceEnd(*place, now_ns + wait_ns + wait_ns / 4 + kLateNs);
  return standing;
}

Place* WaitingLines::KeepPlace(Line& line, const LineArrival& arrival) {
  Place* place = FindPlace(line.key, arrival.subject_key);
  if (place == nullptr) {
    if (places_.size() >= max_places_ || line.waiting + line.queue.size() == 0) {
      // Without anybody who waits, polling is as fair as it was.
      const bool remembers = arrival.now.monotonic_ns - line.empty_since_ns < kPlacesKeptNs;
      if (places_.size() >= max_places_ || !remembers) return nullptr;
    }
    auto kept = std::make_unique<Place>();
    place = kept.get();
    place->id = next_id_++;
    place->key = line.key;
    place->subject = arrival.subject_key;
    places_.emplace(place->id, std::move(kept));
    place_by_subject_[CombineHash(line.key, arrival.subject_key)] = place->id;
    ++line.places;
  } else if (!place->had_turn && place->cost_ns == arrival.cost_ns) {
    return place;
  }
  Unqueue(line, *place);
  place->had_turn = false;
  place->flow = arrival.flow;
  place->cost_ns = arrival.cost_ns;
  Enqueue(line, *place);
  Touch(line);
  return place;
}

void WaitingLines::Enqueue(Line& line, Place& place) {
  const double cost = CostOf(place.cost_ns);
  place.is_large = line.IsShutOut(cost, line.bucket.MostHeld());
  line.large_places += place.is_large ? 1 : 0;
  // Who may never come back to take so much does not make the turns of others later.
  const double counted = place.is_large && !place.came_back ? 0 : cost;
  line.queue.Push(place.id, place.flow, counted, place.id);
}

Place* WaitingLines::FindPlace(uint64_t key, uint64_t subject) {
  const auto found = place_by_subject_.find(CombineHash(key, subject));
  return found == place_by_subject_.end() ? nullptr : places_.find(found->second)->second.get();
}

void WaitingLines::SetPlaceEnd(Place& place, int64_t ends_at_ns) {
  if (place.ends_at_ns != 0) place_ends_.erase({place.ends_at_ns, place.id});
  place.ends_at_ns = ends_at_ns;
  place_ends_.insert({ends_at_ns, place.id});
}

void WaitingLines::Unqueue(Line& line, Place& place) {
  line.queue.Remove(place.id);
  line.large_places -= place.is_large ? 1 : 0;
  place.is_large = false;
}

void WaitingLines::DropPlace(Place& place) {
  if (place.ends_at_ns != 0) place_ends_.erase({place.ends_at_ns, place.id});
  if (Line* const line = FindLine(place.key); line != nullptr) {
    Unqueue(*line, place);
    --line->places;
    if (line->HeldFor(place) > 0) SetDue(*line, kAtOnce);
    line->HoldFor(place, 0);
    Touch(*line);
  }
  place_by_subject_.erase(CombineHash(place.key, place.subject));
  places_.erase(place.id);
}

void WaitingLines::TurnOfPlace(Line& line, Place& place, int64_t now_ns) {
  const int64_t own_ns = line.HeldFor(place);
  const int64_t others_ns = line.HeldByOthers(own_ns);
  const double cost = CostOf(place.cost_ns);
  const int64_t fits_ns = line.bucket.FitsAt(cost, static_cast<double>(others_ns), now_ns);
  const bool fits = fits_ns <= now_ns;
  if (!fits) {
    const bool is_shut_out = line.IsShutOut(cost, others_ns);
    // Who has never come back may not even let half of the burst stand empty.
    const int64_t spare_ns = place.came_back ? 0 : line.bucket.MostHeld() - others_ns;
    const int64_t out_ns =
        line.patience.Try(line.bucket.DrainsTo(static_cast<double>(spare_ns), now_ns));
    if (out_ns > now_ns) {
      const int64_t due_ns = is_shut_out ? out_ns : std::min(fits_ns, out_ns);
      return SetDue(line, due_ns == kNever ? now_ns + kAskAgainNs : due_ns);
    }
    if (is_shut_out && place.came_back && line.held_for_absent_ns > own_ns) {
      line.YieldHeld();
      return SetDue(line, kAtOnce);
    }
  }
  const int64_t wanted_ns = fits ? place.cost_ns - own_ns : 0;
  line.HoldFor(place, own_ns + std::clamp<int64_t>(wanted_ns, 0, line.RoomToHold()));
  place.had_turn = true;
  Unqueue(line, place);
  SetPlaceEnd(place, std::max(place.ends_at_ns, now_ns + kGraceNs));
  SetDue(line, kAtOnce);
}

int64_t WaitingLines::MakeRoom(Line& line, double cost_ns, int64_t now_ns) {
  if (line.held_for_absent_ns == 0 || !line.IsShutOut(cost_ns, line.HeldByOthers(0))) return kNever;
  const int64_t out_ns = line.patience.Try(line.bucket.DrainsTo(0, now_ns));
  if (out_ns <= now_ns) line.YieldHeld();
  return std::max(out_ns, now_ns);
}

void WaitingLines::Hold(Line& line, Waiting& waiting) {
  Turn* turn = waiting.TurnAt(line.key);
  if (turn == nullptr) turn = &waiting.turns.emplace_back(Turn{.key = line.key});
  const auto wanted_ns = static_cast<int64_t>(waiting.cost) - turn->held_ns;
  const int64_t more_ns = std::clamp<int64_t>(wanted_ns, 0, line.RoomToHold());
  turn->held_ns += more_ns;
  line.held_ns += more_ns;
}

int64_t WaitingLines::TurnAt(const Line& line, uint64_t id, double cost_ns, int64_t now_ns) const {
  // Whoever is behind others has no turn before the head has.
  int64_t least_ns = now_ns;
  if (line.queue.Head() != id) {
    least_ns = now_ns + kLeastTurnNs;
    if (line.due_ns != kNever) least_ns = std::max(least_ns, line.due_ns);
  }
  if (line.bucket.burst_ns > 0) {
    const double ahead_ns =
        static_cast<double>(line.held_ns) + (id == 0 ? 0 : line.queue.CostAhead(id));
    return std::max(line.bucket.FitsAt(cost_ns, ahead_ns, now_ns), least_ns);
  }
  if (line.interval_ns == 0) return kNever;
  // Of permits, nobody knows more than how often one comes.
  const size_t position = id == 0 ? line.queue.size() + 1 : line.queue.Position(id);
  const double wait_ns = static_cast<double>(line.interval_ns) * static_cast<double>(position);
  const double most_ns = static_cast<double>(kLongestNs);
  return std::max(now_ns + static_cast<int64_t>(std::min(wait_ns, most_ns)), least_ns);
}

int64_t WaitingLines::ExpectedAt(const Line& line, uint64_t id, double cost_ns,
                                 int64_t now_ns) const {
  const int64_t turn_ns = TurnAt(line, id, cost_ns, now_ns);
  const bool is_shut_out =
      line.held_for_absent_ns > 0 && line.IsShutOut(cost_ns, line.HeldByOthers(0));
  const bool behind_large = line.large_places > 0 && line.queue.Head() != id;
  if (!is_shut_out && !behind_large) return turn_ns;
  return std::max(turn_ns, line.patience.EndsAt(line.bucket.DrainsTo(0, now_ns)));
}

void WaitingLines::Admitted(uint64_t key, const engine::LineFlow& flow, uint64_t subject_key,
                            int64_t cost_ns, uint64_t ticket) {
  bool wake = false;
  {
    MutexLock lock(&mutex_);
    Line* const line = FindLine(key);
    if (line == nullptr) return;
    line->queue.Charge(flow, CostOf(cost_ns));
    line->bucket.debt_ns += cost_ns;
    const int64_t since_ns = line->bucket.at_ns - line->admitted_at_ns;
    if (line->admitted_at_ns != 0 && since_ns >= 0) {
      line->interval_ns += (since_ns - line->interval_ns) / (line->interval_ns == 0 ? 1 : 8);
    }
    line->admitted_at_ns = line->bucket.at_ns;
    if (ticket == 0) {
      if (Place* const place = FindPlace(key, subject_key); place != nullptr) DropPlace(*place);
    }
    Touch(*line);
    wake = TakeWake();
  }
  WakeIf(wake);
}

void WaitingLines::Settled(uint64_t key, uint64_t leaf_key, int64_t delta_ns) {
  bool wake = false;
  {
    MutexLock lock(&mutex_);
    Line* const line = FindLine(key);
    if (line == nullptr) return;
    line->queue.Adjust(leaf_key, static_cast<double>(delta_ns));
    line->bucket.debt_ns += delta_ns;
    if (delta_ns < 0 && line->queue.size() > 0) SetDue(*line, kAtOnce);
    Touch(*line);
    wake = TakeWake();
  }
  WakeIf(wake);
}

void WaitingLines::RoomFreed(uint64_t key) {
  bool wake = false;
  {
    MutexLock lock(&mutex_);
    Line* const line = FindLine(key);
    if (line == nullptr || line->queue.size() == 0) return;
    SetDue(*line, kAtOnce);
    wake = TakeWake();
  }
  WakeIf(wake);
}

void WaitingLines::Changed() {
  bool wake = false;
  {
    MutexLock lock(&mutex_);
    if (by_key_.empty()) return;
    changed_ = true;
    wake = TakeWake();
  }
  WakeIf(wake);
}

}  // namespace headgate::line
