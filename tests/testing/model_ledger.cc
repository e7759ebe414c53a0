#include "tests/testing/model_ledger.h"

#include <algorithm>
#include <cmath>

#include "server/decide/engine/bucket_table.h"
#include "server/decide/engine/ledger.h"

namespace headgate::model {
namespace {

constexpr int64_t kHorizonNs = engine::Bucket::kHorizonNs;
// 73 years: the longest burst. A cost beyond it is beyond every burst, however far.
constexpr int64_t kLongestNs = int64_t{1} << 61;

int64_t AddSaturated(int64_t a, int64_t b) {
  return static_cast<int64_t>(std::min<Wide>(Wide{a} + b, kHorizonNs));
}

double UsualSpeed(const ModelLedger::Shape& shape) {
  return shape.is_auto ? engine::Ledger::kAutoSpeed : 1;
}

}  // namespace

int64_t ModelLedger::ToNs(double cost, double ns_per_unit) {
  const double span = std::ceil(cost * ns_per_unit);
  return span <= static_cast<double>(kLongestNs) ? static_cast<int64_t>(span) : kLongestNs + 1;
}

int64_t ModelLedger::BurstToNs(double burst) const { return std::min(ToNs(burst), kLongestNs); }

int64_t ModelLedger::FittedToNs(double cost, int64_t burst_ns) const {
  const int64_t cost_ns = ToNs(cost);
  if (cost_ns > kLongestNs) return cost_ns;
  const double most_ns = static_cast<double>(burst_ns) * 1.000001;
  return static_cast<double>(cost_ns) <= most_ns ? std::min(cost_ns, burst_ns) : cost_ns;
}

int64_t ModelLedger::EmptiesAt(const std::string& bucket) const {
  const auto it = empties_at_ns_.find(bucket);
  return it == empties_at_ns_.end() ? floor_ns_ : it->second;
}

int64_t ModelLedger::Latest() const {
  int64_t latest = floor_ns_;
  for (const auto& [name, empties_at_ns] : empties_at_ns_) latest = std::max(latest, empties_at_ns);
  return latest;
}

int64_t ModelLedger::Debt(const std::string& bucket, int64_t real_ns) const {
  return std::max<int64_t>(EmptiesAt(bucket) - NowAt(real_ns), 0);
}

std::optional<int64_t> ModelLedger::RealTimeToDebt(const std::string& bucket, int64_t room_ns,
                                                   int64_t real_ns) const {
  if (Debt(bucket, real_ns) <= room_ns) return 0;
  const std::optional<int64_t> at =
      shape_.clock->FirstShowing(EmptiesAt(bucket) - room_ns, real_ns);
  if (!at.has_value()) return std::nullopt;
  return *at - real_ns;
}

ModelLedger::Place ModelLedger::Charge(const std::string& bucket, int64_t cost_ns,
                                       int64_t real_ns) {
  const int64_t at_ns = AddSaturated(std::max(EmptiesAt(bucket), NowAt(real_ns)), cost_ns);
  empties_at_ns_[bucket] = at_ns;
  ends_[bucket][++charges_] = at_ns;
  return {at_ns, RefundedTo(bucket), charges_};
}

bool ModelLedger::ChargeLate(const std::string& bucket, uint64_t version, int64_t cost_ns,
                             int64_t most_ns, int64_t late_ns, int64_t real_ns) {
  if (version < since_) return false;  // its bucket means nothing under this split
  const int64_t drained_ns = shape_.clock->RunIn(late_ns);
  const int64_t then_ns =
      std::max(std::max<int64_t>(shape_.clock->VirtualAt(real_ns) - drained_ns, 0), opened_at_ns_);
  const int64_t debt_ns = std::max<int64_t>(EmptiesAt(bucket) - then_ns, 0);
  const int64_t added_ns = std::min(cost_ns, std::max<int64_t>(most_ns - debt_ns, 0));
  if (added_ns == 0) return true;
  const int64_t at_ns = AddSaturated(std::max(EmptiesAt(bucket), then_ns), added_ns);
  empties_at_ns_[bucket] = at_ns;
  ends_[bucket][++charges_] = at_ns;
  return true;
}

int64_t ModelLedger::RefundedTo(const std::string& bucket) const {
  const auto it = refunded_ns_.find(bucket);
  return it == refunded_ns_.end() ? 0 : it->second;
}

int64_t ModelLedger::EndOf(const std::string& bucket, const Place& place, uint64_t version) const {
  const int64_t since_ns = RefundedTo(bucket) - place.refunded_ns;
  if (version >= version_) {
    if (place.number.has_value()) return ends_.at(bucket).at(*place.number);
    return place.ended_at_ns - since_ns;
  }
  int64_t end_ns = place.ended_at_ns;
  double moved_by = 1;  // some was refunded on the axes before, some on this one
  for (size_t i = 0; i < moves_.size(); ++i) {
    const uint64_t after = i + 1 < moves_.size() ? moves_[i + 1].version : version_;
    if (version >= after) continue;  // it was made on the axis after this move
    end_ns = moves_[i].Translate(end_ns);
    moved_by = std::max(1.0, moved_by * moves_[i].scale);
  }
  return end_ns - ToNs(static_cast<double>(since_ns), moved_by);
}

void ModelLedger::Refund(const std::string& bucket, const Place& place, bool is_last,
                         int64_t refund_ns) {
  empties_at_ns_[bucket] -= refund_ns;
  if (is_last) return;
  refunded_ns_[bucket] += refund_ns;
  Ends& ends = ends_[bucket];
  for (auto it = place.number.has_value() ? ends.upper_bound(*place.number) : ends.begin();
       it != ends.end(); ++it) {
    it->second -= refund_ns;
  }
}

ModelLedger::Place ModelLedger::AfterRestart(const std::string& bucket, Place place,
                                             uint64_t version) const {
  if (version < version_ || !place.number.has_value()) return place;
  const int64_t in_front_ns = place.ended_at_ns - ends_.at(bucket).at(*place.number);
  place.refunded_ns = RefundedTo(bucket) - in_front_ns;
  if (in_front_ns != 0) place.number.reset();
  return place;
}

ModelLedger::Settled ModelLedger::Settle(const std::string& bucket, Place place, uint64_t version,
                                         double cost, double actual, std::optional<int64_t> most_ns,
                                         int64_t real_ns) {
  Settled settled;
  if (version < since_) return settled;  // its bucket means nothing under this split
  settled.moved = version < version_;
  settled.moved_often = !moves_.empty() && version < moves_.back().version;
  if (settled.moved) place.number.reset();
  const int64_t more_ns = ToNs(actual) - ToNs(cost);
  if (more_ns > 0) {
    const int64_t room_ns =
        most_ns.has_value() ? std::max<int64_t>(*most_ns - Debt(bucket, real_ns), 0) : more_ns;
    settled.extra_ns = std::min(more_ns, room_ns);
    settled.forgiven = settled.extra_ns < more_ns;
    if (settled.extra_ns > 0) Charge(bucket, settled.extra_ns, real_ns);
    return settled;
  }
  const int64_t end_ns = EndOf(bucket, place, version);
  const int64_t undrained_ns = std::min(end_ns, EmptiesAt(bucket)) - NowAt(real_ns);
  settled.refund_ns = std::max<int64_t>(std::min({undrained_ns, ToNs(cost), -more_ns}), 0);
  if (settled.refund_ns == 0) return settled;
  Refund(bucket, place, end_ns == EmptiesAt(bucket), settled.refund_ns);
  return settled;
}

int64_t ModelLedger::Move::Translate(int64_t at_ns) const {
  if (at_ns <= then_ns) return now_ns;  // it had drained, perhaps longer ago than can be scaled
  return AddSaturated(now_ns,
                      std::min(ToNs(static_cast<double>(at_ns - then_ns) * scale, 1), kLongestNs));
}

ModelLedger ModelLedger::Successor(const ModelLedger& before, Shape shape, uint64_t version,
                                   int64_t real_ns, double burst) {
  Move move{.version = before.version_,
            .then_ns = before.NowAt(real_ns),
            .now_ns = shape.clock->VirtualAt(real_ns),
            // What a debt in one unit is in another, nobody knows: it takes as long to drain, but
            // it is no more than the burst.
            .scale = shape.unit == before.shape_.unit
                         ? shape.ns_per_unit / before.shape_.ns_per_unit
                         : UsualSpeed(shape) / UsualSpeed(before.shape_)};
  ModelLedger after(shape, version, real_ns);
  const int64_t most_ns =
      shape.unit == before.shape_.unit ? engine::Ledger::kMaxSpanNs : after.BurstToNs(burst);
  const auto moved = [&](int64_t at_ns) {
    return at_ns > move.then_ns ? std::min(move.Translate(at_ns), move.now_ns + most_ns) : 0;
  };
  if (before.shape_.split != shape.split) {
    after.floor_ns_ = moved(before.Latest());
    return after;
  }
  if (shape.unit == before.shape_.unit) after.since_ = before.since_;
  after.floor_ns_ = moved(before.floor_ns_);
  after.refunded_ns_ = before.refunded_ns_;
  for (const auto& [name, empties_at_ns] : before.empties_at_ns_) {
    if (empties_at_ns <= move.then_ns) continue;  // nothing is owed
    after.empties_at_ns_[name] = moved(empties_at_ns);
  }
  after.moves_ = before.moves_;
  after.moves_.push_back(move);
  return after;
}

}  // namespace headgate::model
