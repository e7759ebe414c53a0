#include "server/engine/ledger.h"

#include <algorithm>
#include <utility>

namespace headgate::engine {
namespace {

constexpr size_t kRefundStripes = 64;  // a power of two

}  // namespace

Ledger::Ledger(Axis axis, size_t buckets, std::string split, uint64_t version, int64_t real_now_ns)
    : axis_(std::move(axis)),
      split_(std::move(split)),
      version_(version),
      opened_at_ns_(axis_.clock->Read(real_now_ns).virtual_ns),
      lineage_(version),
      table_(buckets == 0 ? nullptr : std::make_unique<BucketTable>(buckets)),
      refunded_(buckets == 0 ? 1 : kRefundStripes) {
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

int64_t Ledger::Refund(const Charged& charged, int64_t charged_ns, int64_t refund_ns,
                       int64_t now_ns) {
  Bucket* bucket = Find(charged.tag);
  if (bucket == nullptr) return 0;
  // Reserve first, so that the later of two refunds at once sees the share of the earlier one.
  std::atomic<int64_t>& refunded = RefundedAt(charged.tag);
  int64_t total = refunded.load(std::memory_order_relaxed);
  int64_t undrained;
  do {
    const int64_t ends_at = charged.ended_at_ns - (total - charged.refunded_ns);
    undrained = std::clamp<int64_t>(ends_at - now_ns, 0, charged_ns);
    undrained = std::min(undrained, refund_ns);
    if (undrained == 0) return 0;
    // relaxed: the counter orders nothing but itself.
  } while (!refunded.compare_exchange_weak(total, total + undrained, std::memory_order_relaxed));
  switch (engine::Refund(*bucket, charged.tag, undrained)) {
    case ChargeOutcome::kCharged:
      return undrained;
    case ChargeOutcome::kMoved:
      return -1;
    default:
      return 0;
  }
}

void Ledger::Undo(const Charged& charged, int64_t charged_ns) {
  Bucket* bucket = Find(charged.tag);
  if (bucket == nullptr) return;
  RefundedAt(charged.tag).fetch_add(charged_ns, std::memory_order_relaxed);
  engine::Refund(*bucket, charged.tag, charged_ns);
}

int64_t Ledger::Origin::Translate(int64_t at_ns) const {
  const double span = static_cast<double>(at_ns - then_ns) * scale;
  return now_ns + std::min(kMaxSpanNs, ToNs(std::max(span, 0.0), 1.0));
}

void Ledger::MoveTo(Ledger& successor, int64_t real_now_ns) {
  Origin& origin = successor.origin_;
  origin.version = version_;
  origin.then_ns = Now(clock().Read(real_now_ns).virtual_ns);
  origin.now_ns = successor.clock().Read(real_now_ns).virtual_ns;
  successor.opened_at_ns_ = origin.now_ns;
  origin.scale = successor.axis_.ns_per_unit / axis_.ns_per_unit;
  const auto translate = [&origin](int64_t at) { return origin.Translate(at); };

  const bool same_split = split_ == successor.split_;
  if (same_split) successor.lineage_ = lineage_;
  successor.checks_ = checks();
  successor.reports_ = reports();
  successor.reported_ns_ = ToNs(reported_cost(), successor.axis_.ns_per_unit);
  if (same_split && table_ != nullptr) {
    table_->MoveTo(*successor.table_, origin.then_ns, origin.now_ns, translate);
  } else {
    const int64_t latest = table_ != nullptr ? table_->RetireAll() : Retire(single_);
    if (!same_split) origin.version = 0;  // a charge's place is not known any more
    if (latest > origin.then_ns && latest != Bucket::kMoved) {
      if (successor.table_ != nullptr) {
        successor.table_->Fill(translate(latest));
      } else {
        successor.single_.empties_at.store(translate(latest), std::memory_order_relaxed);
      }
    }
  }
  // Refunds are read only now, when none can change a bucket any more: one that is missing here
  // would make later charges look less drained than they are.
  for (const auto& total : refunded_) {
    origin.refunded_ns.push_back(total.load(std::memory_order_relaxed));
  }
}

bool Ledger::Translate(uint64_t version, Charged& charged) const {
  if (version >= version_) return true;
  if (origin_.version == 0 || version < origin_.version) return false;
  const size_t stripe = charged.tag & (origin_.refunded_ns.size() - 1);
  charged.ended_at_ns =
      origin_.Translate(charged.ended_at_ns - (origin_.refunded_ns[stripe] - charged.refunded_ns));
  charged.refunded_ns = 0;
  return true;
}

int64_t Ledger::LargestDebt(int64_t now_ns) const {
  const int64_t latest = table_ == nullptr ? single_.EmptiesAt() : table_->LatestEmptiesAt();
  return latest == Bucket::kMoved ? 0 : std::max<int64_t>(latest - now_ns, 0);
}

bool Ledger::Owes(int64_t real_now_ns) const {
  return LargestDebt(Now(clock().Read(real_now_ns).virtual_ns)) > 0;
}

}  // namespace headgate::engine
