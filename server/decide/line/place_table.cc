#include "server/decide/line/place_table.h"

#include <algorithm>

#include "common/hash.h"
#include "server/decide/line/turn_estimate.h"

namespace headgate::line {
namespace {

// After its turn has come.
constexpr int64_t kGraceNs = 100'000'000;
// A line without anybody is remembered for as long as it remembers shares.
constexpr int64_t kPlacesKeptNs = 10 * kAskAgainNs;
constexpr double kMostCostNs = 1e18;

}  // namespace

Place* PlaceTable::Find(uint64_t key, uint64_t subject) const {
  const auto found = by_subject_.find(CombineHash(key, subject));
  return found == by_subject_.end() ? nullptr : Get(found->second);
}

Place* PlaceTable::Get(uint64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second.get();
}

// Without anybody who waits, polling is as fair as it was.
bool PlaceTable::MayKeep(const Line& line, int64_t now_ns) const {
  if (by_id_.size() >= most_) return false;
  return line.waiting + line.queue.size() > 0 || now_ns - line.empty_since_ns < kPlacesKeptNs;
}

Place* PlaceTable::Keep(Line& line, const engine::LineArrival& arrival) {
  Place* place = Find(line.key, arrival.subject_key);
  if (place == nullptr) {
    if (!MayKeep(line, arrival.now.monotonic_ns)) return nullptr;
    auto kept = std::make_unique<Place>();
    place = kept.get();
    place->id = lines_.NewId();
    place->key = line.key;
    place->subject = arrival.subject_key;
    by_id_.emplace(place->id, std::move(kept));
    by_subject_[CombineHash(line.key, arrival.subject_key)] = place->id;
    line.places.insert(place->id);
  } else if (!place->had_turn && place->cost_ns == arrival.cost_ns) {
    return place;
  }
  Unqueue(line, *place);
  place->had_turn = false;
  place->flow = arrival.flow;
  place->cost_ns = arrival.cost_ns;
  Enqueue(line, *place);
  lines_.Touch(line);
  return place;
}

void PlaceTable::Enqueue(Line& line, Place& place) {
  const double cost = QueueCost(place.cost_ns);
  place.is_large = line.IsShutOut(cost, line.bucket.MostHeld());
  line.large_places += place.is_large ? 1 : 0;
  // Who may never come back to take so much does not make the turns of others later.
  const double counted = place.is_large && !place.came_back ? 0 : cost;
  line.queue.Push(place.id, place.flow, counted, place.id);
}

void PlaceTable::Unqueue(Line& line, Place& place) {
  line.queue.Remove(place.id);
  line.large_places -= place.is_large ? 1 : 0;
  place.is_large = false;
}

void PlaceTable::SetEnd(Place& place, int64_t ends_at_ns) {
  if (place.ends_at_ns != 0) ends_.erase({place.ends_at_ns, place.id});
  place.ends_at_ns = ends_at_ns;
  ends_.insert({ends_at_ns, place.id});
}

void PlaceTable::Drop(Place& place) {
  if (place.ends_at_ns != 0) ends_.erase({place.ends_at_ns, place.id});
  if (Line* const line = lines_.Find(place.key); line != nullptr) {
    Unqueue(*line, place);
    line->places.erase(place.id);
    if (line->HeldFor(place) > 0) lines_.SetDue(*line, kAtOnce);
    line->HoldFor(place, 0);
    lines_.Touch(*line);
  }
  by_subject_.erase(CombineHash(place.key, place.subject));
  by_id_.erase(place.id);
}

void PlaceTable::DropAllOf(const Line& line) {
  const std::vector<uint64_t> ids(line.places.begin(), line.places.end());
  for (const uint64_t id : ids) Drop(*Get(id));
}

void PlaceTable::OfferTurn(Line& line, Place& place, int64_t now_ns) {
  const int64_t own_ns = line.HeldFor(place);
  const int64_t others_ns = line.HeldByOthers(own_ns);
  const double cost = QueueCost(place.cost_ns);
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
      return lines_.SetDue(line, due_ns == kNever ? now_ns + kAskAgainNs : due_ns);
    }
    if (is_shut_out && place.came_back && line.held_for_absent_ns > own_ns) {
      line.YieldHeld();
      return lines_.SetDue(line, kAtOnce);
    }
  }
  const int64_t wanted_ns = fits ? place.cost_ns - own_ns : 0;
  line.HoldFor(place, own_ns + std::clamp<int64_t>(wanted_ns, 0, line.RoomToHold()));
  place.had_turn = true;
  Unqueue(line, place);
  SetEnd(place, std::max(place.ends_at_ns, now_ns + kGraceNs));
  lines_.SetDue(line, kAtOnce);
}

void PlaceTable::Reprice(Line& line, double by) {
  line.large_places = 0;
  // In the order in which they were made.
  for (const uint64_t id : line.places) {
    Place* const place = Get(id);
    const double cost_ns = std::min(static_cast<double>(place->cost_ns) * by, kMostCostNs);
    place->cost_ns = static_cast<int64_t>(cost_ns);
    if (!place->had_turn) Enqueue(line, *place);
  }
}

}  // namespace headgate::line
