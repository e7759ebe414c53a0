#include "tests/testing/model_ledger.h"

#include <algorithm>
#include <cmath>

#include "server/engine/bucket_table.h"
#include "server/engine/ledger.h"

namespace headgate::model {
namespace {

constexpr int64_t kHorizonNs = engine::Bucket::kHorizonNs;
// 73 years: the longest burst. A cost beyond it is beyond every burst, however far.
constexpr int64_t kLongestNs = int64_t{1} << 61;

int64_t AddSaturated(int64_t a, int64_t b) {
  return static_cast<int64_t>(std::min<Wide>(Wide{a} + b, kHorizonNs));
}

}  // namespace

int64_t ModelLedger::ToNs(double cost, double ns_per_unit) {
  const double span = std::ceil(cost * ns_per_unit);
  return span <= static_cast<double>(kLongestNs) ? static_cast<int64_t>(span) : kLongestNs + 1;
}

int64_t ModelLedger::BurstToNs(double burst) const { return std::min(ToNs(burst), kLongestNs); }

int64_t ModelLedger::EmptiesAt(const std::string& bucket) const {
  const auto it = buckets_.find(bucket);
  return it == buckets_.end() ? floor_ns_ : it->second.empties_at_ns;
}

int64_t ModelLedger::Latest() const {
  int64_t latest = floor_ns_;
  for (const auto& [name, bucket] : buckets_) latest = std::max(latest, bucket.empties_at_ns);
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
  Bucket& charged = buckets_.try_emplace(bucket, Bucket{floor_ns_, 0}).first->second;
  charged.empties_at_ns = AddSaturated(std::max(charged.empties_at_ns, NowAt(real_ns)), cost_ns);
  return {charged.empties_at_ns, charged.refunded_ns};
}

std::optional<ModelLedger::Place> ModelLedger::OnThisAxis(const std::string& bucket, Place place,
                                                          uint64_t version) const {
  if (version >= version_) return place;
  if (!move_.has_value() || version < move_->version) return std::nullopt;
  const auto then = move_->buckets.find(bucket);
  if (then == move_->buckets.end()) return std::nullopt;
  const int64_t ended_at_ns = place.ended_at_ns - (then->second.refunded_ns - place.refunded_ns);
  if (ended_at_ns <= move_->then_ns) return std::nullopt;  // it had drained when it moved
  return Place{move_->Translate(ended_at_ns), 0};
}

ModelLedger::Settled ModelLedger::Settle(const std::string& bucket, Place place, uint64_t version,
                                         double cost, double actual, int64_t real_ns) {
  Settled settled;
  if (version < since_) return settled;  // its bucket means nothing under this split
  settled.moved = version < version_;
  const int64_t more_ns = ToNs(actual) - ToNs(cost);
  if (more_ns > 0) {
    Charge(bucket, more_ns, real_ns);
    settled.extra_ns = more_ns;
    return settled;
  }
  const std::optional<Place> here = OnThisAxis(bucket, place, version);
  const auto charged = buckets_.find(bucket);
  if (!here.has_value() || charged == buckets_.end()) {
    settled.too_old = more_ns < 0 && settled.moved;
    return settled;
  }
  const int64_t ends_at_ns = here->ended_at_ns - (charged->second.refunded_ns - here->refunded_ns);
  const int64_t undrained_ns = std::clamp<int64_t>(ends_at_ns - NowAt(real_ns), 0, ToNs(cost));
  settled.refund_ns = std::min(undrained_ns, -more_ns);
  charged->second.empties_at_ns -= settled.refund_ns;
  charged->second.refunded_ns += settled.refund_ns;
  return settled;
}

int64_t ModelLedger::Move::Translate(int64_t at_ns) const {
  return AddSaturated(now_ns,
                      std::min(ToNs(static_cast<double>(at_ns - then_ns) * scale, 1), kLongestNs));
}

ModelLedger ModelLedger::Successor(const ModelLedger& before, Shape shape, uint64_t version,
                                   int64_t real_ns) {
  Move move{.version = before.version_,
            .then_ns = before.NowAt(real_ns),
            .now_ns = shape.clock->VirtualAt(real_ns),
            .scale = shape.ns_per_unit / before.shape_.ns_per_unit,
            .buckets = before.buckets_};
  const auto moved = [&](int64_t at_ns) {
    return at_ns > move.then_ns ? move.Translate(at_ns) : 0;
  };
  ModelLedger after(shape, version, real_ns);
  if (before.shape_.split != shape.split) {
    after.floor_ns_ = moved(before.Latest());
    return after;
  }
  after.since_ = before.since_;
  after.floor_ns_ = moved(before.floor_ns_);
  for (const auto& [name, bucket] : before.buckets_) {
    if (bucket.empties_at_ns <= move.then_ns) continue;  // nothing is owed
    after.buckets_[name].empties_at_ns = moved(bucket.empties_at_ns);
  }
  after.move_ = std::move(move);
  return after;
}

}  // namespace headgate::model
