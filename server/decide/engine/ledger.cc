#include "server/decide/engine/ledger.h"

#include <algorithm>
#include <utility>

#include "common/hash.h"

namespace headgate::engine {

Ledger::Ledger(Axis axis, Layout layout, RefundOrders& orders)
    : axis_(std::move(axis)),
      split_(std::move(layout.split)),
      version_(layout.version),
      opened_at_ns_(axis_.clock->Read(layout.real_now_ns).virtual_ns),
      lineage_(layout.version),
      unknown_before_(layout.version),
      table_(layout.buckets == 0 ? nullptr : std::make_unique<BucketTable>(layout.buckets)),
      orders_(orders),
      number_(orders.NumberLedger()),
      order_salt_(CombineHash(number_, 0)) {
  single_.tag.store(kSingleTag, std::memory_order_relaxed);
}

int64_t Ledger::EmptiesAt(uint64_t tag, int64_t now_ns) const {
  return table_ == nullptr ? single_.EmptiesAt() : table_->EmptiesAtIfInserted(tag, now_ns);
}

ChargeResult Ledger::Charge(uint64_t tag, int64_t now_ns, int64_t cost_ns, int64_t burst_ns) {
  for (;;) {
    Bucket* bucket = table_ == nullptr ? &single_ : table_->FindOrInsert(tag, now_ns);
    if (bucket == nullptr) return {ChargeOutcome::kMoved};
    const ChargeResult result = engine::Charge(*bucket, tag, now_ns, cost_ns, burst_ns);
    if (result.outcome != ChargeOutcome::kEvicted) return result;
  }
}

ChargeResult Ledger::ChargeUpTo(uint64_t tag, int64_t now_ns, int64_t cost_ns, int64_t most_ns,
                                int64_t& charged_ns) {
  for (;;) {
    const int64_t at = EmptiesAt(tag, now_ns);
    if (at == Bucket::kMoved) return {ChargeOutcome::kMoved};
    const int64_t room_ns = std::max<int64_t>(most_ns - std::max<int64_t>(at - now_ns, 0), 0);
    charged_ns = std::min(cost_ns, room_ns);
    if (charged_ns == 0) return {ChargeOutcome::kOverBurst, at};
    const ChargeResult result = Charge(tag, now_ns, charged_ns, most_ns);
    // Else others have charged it since it was read.
    if (result.outcome != ChargeOutcome::kOverBurst) return result;
  }
}

int64_t Ledger::EndOf(const Charged& charged, int64_t refunded_ns, int64_t behind_ns) {
  const int64_t since = TotalSince(refunded_ns, charged.refunded_ns) - behind_ns;
  if (since <= 0) return charged.ended_at_ns;
  return charged.ended_at_ns -
         (charged.moved_by == 1 ? since : ToNs(static_cast<double>(since), charged.moved_by));
}

int64_t Ledger::Refund(const Charged& charged, int64_t charged_ns, int64_t refund_ns,
                       int64_t now_ns) {
  Bucket* const bucket = Find(charged.tag);
  if (bucket == nullptr || refund_ns <= 0 || charged.ended_at_ns <= now_ns) return 0;
  const bool knows_order = KnowsOrder(charged);
  // Held over the whole refund, so that what is counted and what is noted agree.
  const uint64_t key = OrderKeyOf(charged.tag);
  RefundOrders::List& list = orders_.ListOf(key);
  MutexLock lock(&list.mutex);
  const int64_t behind_ns = knows_order ? list.order.Behind(key, PlaceOf(charged)) : 0;
  int64_t ends_at_ns = 0, taken_ns = 0;
  bool is_last = false;
  {
    LockedBucket locked(*bucket);
    if (locked.moved()) return -1;
    if (locked.tag() != charged.tag) return 0;
    ends_at_ns = EndOf(charged, locked.refunded_ns(), behind_ns);
    is_last = ends_at_ns == locked.empties_at_ns();
    // It never stands behind the end of its bucket's debt, unless what was restored is wrong.
    const int64_t undrained_ns = std::min(ends_at_ns, locked.empties_at_ns()) - now_ns;
    taken_ns = std::min({undrained_ns, charged_ns, refund_ns});
    if (taken_ns <= 0) return 0;
    locked.Refund(taken_ns,
                  is_last ? LockedBucket::Behind::kNobody : LockedBucket::Behind::kSomebody);
  }
  if (!is_last && knows_order) {
    list.order.Add({.bucket = key,
                    .place = PlaceOf(charged),
                    .refunded_ns = taken_ns,
                    .drained_at_ns = ends_at_ns,
                    .ledger = number_},
                   now_ns);
  }
  return taken_ns;
}

void Ledger::Undo(const Charged& charged, int64_t charged_ns) {
  Bucket* const bucket = Find(charged.tag);
  if (bucket == nullptr) return;
  LockedBucket locked(*bucket);
  if (locked.moved() || locked.tag() != charged.tag) return;
  const bool is_last = EndOf(charged, locked.refunded_ns(), 0) == locked.empties_at_ns();
  locked.Refund(charged_ns,
                is_last ? LockedBucket::Behind::kNobody : LockedBucket::Behind::kSomebody);
}

int64_t Ledger::Origin::Translate(int64_t at_ns) const {
  const double span = static_cast<double>(at_ns - then_ns) * scale;
  return now_ns + std::min(kMaxSpanNs, ToNs(std::max(span, 0.0), 1.0));
}

void Ledger::HandOnMoves(const Origin& move, Ledger& successor) const {
  const auto is_over = [&](const Origin& origin) { return origin.drained_at_ns <= move.then_ns; };
  // With the newest of those, all before it have drained as well.
  auto first = std::find_if(origins_.rbegin(), origins_.rend(), is_over).base();
  successor.unknown_before_ = unknown_before_;
  if (origins_.end() - first >= static_cast<ptrdiff_t>(kMostMoves)) {
    first = origins_.end() - static_cast<ptrdiff_t>(kMostMoves - 1);
    successor.unknown_before_ = first->version;
  }
  successor.origins_.assign(first, origins_.end());
  for (Origin& origin : successor.origins_) {
    origin.drained_at_ns = move.Translate(origin.drained_at_ns);
  }
  successor.origins_.push_back(move);
}

Ledger::Origins::const_iterator Ledger::FirstMoveSince(uint64_t version) const {
  const auto later =
      std::find_if(origins_.begin(), origins_.end(),
                   [version](const Origin& origin) { return origin.version > version; });
  return later == origins_.begin() ? origins_.end() : later - 1;
}

void Ledger::MoveTo(Ledger& successor, int64_t real_now_ns, int64_t burst_ns) {
  Origin origin;
  origin.version = version_;
  origin.then_ns = Now(clock().Read(real_now_ns).virtual_ns);
  origin.now_ns = successor.clock().Read(real_now_ns).virtual_ns;
  successor.opened_at_ns_ = origin.now_ns;
  const bool same_unit = axis_.unit == successor.axis_.unit;
  origin.scale = same_unit ? successor.axis_.ns_per_unit / axis_.ns_per_unit
                           : successor.axis_.UsualSpeed() / axis_.UsualSpeed();
  const int64_t latest_ns = origin.now_ns + (same_unit ? kMaxSpanNs : burst_ns);
  origin.drained_at_ns = origin.now_ns;
  const auto translate = [&](int64_t at) {
    const int64_t here_ns = std::min(origin.Translate(at), latest_ns);
    origin.drained_at_ns = std::max(origin.drained_at_ns, here_ns);
    return here_ns;
  };

  const bool same_split = split_ == successor.split_;
  if (same_split && same_unit) successor.lineage_ = lineage_;
  successor.checks_ = checks();
  successor.reports_ = reports();
  if (same_unit) {
    successor.overruns_ = overruns();
    successor.overrun_sum_ = overrun_sum();
  }
  successor.reported_ns_ = ToNs(reported_cost(), successor.axis_.ns_per_unit);
  if (same_split && table_ != nullptr) {
    table_->MoveTo(*successor.table_, origin.then_ns, origin.now_ns, translate);
  } else {
    const int64_t latest = table_ != nullptr ? table_->RetireAll() : Retire(single_);
    if (same_split) {
      // relaxed: Retire has ordered it, and nobody else uses the successor yet.
      successor.single_.refunded.store(single_.refunded.load(std::memory_order_relaxed),
                                       std::memory_order_relaxed);
    }
    if (latest > origin.then_ns && latest != Bucket::kMoved) {
      if (successor.table_ != nullptr) {
        successor.table_->Fill(translate(latest));
      } else {
        successor.single_.empties_at.store(translate(latest), std::memory_order_relaxed);
      }
    }
  }
  // Else a charge's place is not known any more.
  if (same_split) HandOnMoves(origin, successor);
}

// What was refunded before a move is counted in nanoseconds of the old axis, what was refunded
// since in those of the new, and only their sum is known: it is taken in the longest ones.
Ledger::Place Ledger::Translate(uint64_t version, Charged& charged) const {
  if (version >= version_) return Place::kHere;
  if (version < unknown_before_) return Place::kUnknown;
  const auto first = FirstMoveSince(version);
  if (first == origins_.end()) return Place::kDrained;
  for (auto move = first; move != origins_.end(); ++move) {
    charged.ended_at_ns = move->Translate(charged.ended_at_ns);
    charged.moved_by = std::max(1.0, charged.moved_by * move->scale);
  }
  charged.refunded_ns |= kOrderUnknown;
  return Place::kHere;
}

int64_t Ledger::LargestDebt(int64_t now_ns) const {
  const int64_t latest = table_ == nullptr ? single_.EmptiesAt() : table_->LatestEmptiesAt();
  return latest == Bucket::kMoved ? 0 : std::max<int64_t>(latest - now_ns, 0);
}

bool Ledger::Owes(int64_t real_now_ns) const {
  return LargestDebt(Now(clock().Read(real_now_ns).virtual_ns)) > 0;
}

}  // namespace headgate::engine
