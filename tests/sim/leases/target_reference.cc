#include "tests/sim/leases/target_reference.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::leases {
namespace {

// The level of `leaf:team:root` that a budget is split by.
std::string_view LevelOf(std::string_view identity, int depth) {
  if (depth == 0) return {};
  return depth == 2 ? identity.substr(identity.find(':') + 1) : identity;
}

}  // namespace

void TargetReference::Advance(int64_t now_ns) {
  const double seconds = 1e-9 * static_cast<double>(now_ns - now_ns_);
  now_ns_ = now_ns;
  for (size_t i = 0; i < drained_.size(); ++i) drained_[i] += Draining(i) * seconds;
}

void TargetReference::SetPolicy(const ModelPolicy& policy, int64_t now_ns) {
  Advance(now_ns);
  policy_ = policy;
}

void TargetReference::SetSpeed(double speed, int64_t now_ns) {
  Advance(now_ns);
  speed_ = speed;
}

TargetReference::Charge TargetReference::Admit(std::string_view identity, int64_t now_ns,
                                               const More& more) {
  Advance(now_ns);
  Charge charge;
  for (size_t i = 0; i < drained_.size(); ++i) {
    const ModelBudget& budget = policy_.budgets()[i];
    if (budget.warns) continue;
    BucketReference& bucket =
        buckets_[absl::StrCat(budget.name, "/", Sv(LevelOf(identity, budget.depth)))];
    budgets_[&bucket] = i;
    charge.emplace_back(&bucket, bucket.Open(drained_[i], budget.burst + more(&bucket)));
  }
  return charge;
}

TargetReference::Charge TargetReference::AdmitWithoutLimit(const Charge& as, int64_t now_ns) {
  Advance(now_ns);
  Charge charge;
  for (const auto& [bucket, place] : as) {
    const size_t budget = budgets_[bucket];
    if (policy_.budgets()[budget].warns) continue;
    charge.emplace_back(bucket,
                        bucket->Open(drained_[budget], std::numeric_limits<double>::infinity()));
  }
  return charge;
}

double TargetReference::RateOf(const BucketReference* bucket) const {
  return policy_.budgets()[budgets_.at(bucket)].rate;
}

void TargetReference::Add(const Charge& charge, double cost) {
  for (const auto& [bucket, place] : charge) {
    bucket->Add(place, cost);
    Note(*bucket);
  }
}

void TargetReference::LowerTo(const Charge& charge, double cost) {
  for (const auto& [bucket, place] : charge) bucket->LowerTo(place, cost);
}

TargetReference::Copy TargetReference::Save(int64_t now_ns) {
  Advance(now_ns);
  Copy copy{.drained = drained_};
  for (size_t i = 0; i < drained_.size(); ++i) copy.draining[i] = Draining(i);
  for (const auto& [name, bucket] : buckets_) copy.ends[&bucket] = bucket.end();
  return copy;
}

void TargetReference::GoOnFrom(const Copy& copy, int64_t elapsed_ns, int64_t now_ns) {
  for (auto& [name, bucket] : buckets_) {
    const auto found = copy.ends.find(&bucket);
    bucket.Lose(found == copy.ends.end() ? 0 : found->second, copy.drained[budgets_[&bucket]]);
  }
  const double seconds = 1e-9 * static_cast<double>(elapsed_ns);
  for (size_t i = 0; i < drained_.size(); ++i) {
    drained_[i] = copy.drained[i] + copy.draining[i] * seconds;
  }
  now_ns_ = now_ns;
}

void TargetReference::LoseUnlimited(const Copy& copy) {
  for (auto& [name, bucket] : buckets_) {
    const auto found = copy.ends.find(&bucket);
    bucket.LoseUnlimited(found == copy.ends.end() ? 0 : found->second);
  }
}

void TargetReference::Trim() {
  for (auto& [name, bucket] : buckets_) {
    BucketReference::Place& before = trimmed_[&bucket];
    bucket.Trim(before);
    before = bucket.end();
  }
}

}  // namespace headgate::leases
