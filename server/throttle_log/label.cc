#include "server/throttle_log/label.h"

#include "common/hash.h"

namespace headgate::throttle_log {
namespace {

// Outcomes, reasons and limits in every combination: all that is left without names.
constexpr size_t kNameless = 3 * 8 * 7;
// Targets for which these are kept apart even when the table is full.
constexpr size_t kReservedTargets = 4;

Blame WithoutNames(const Blame& blame) {
  Blame bare;
  bare.outcome = blame.outcome;
  bare.reason = blame.reason;
  bare.limit = blame.limit;
  return bare;
}

}  // namespace

LabelTable::LabelTable(size_t max_labels)
    : max_labels_(max_labels),
      capacity_(max_labels + (kReservedTargets + 1) * kNameless),
      labels_(std::make_unique<Label[]>(capacity_)) {
  numbers_.reserve(capacity_);
}

uint32_t LabelTable::FindOrAdd(std::string_view target, const Blame& blame, uint64_t seed,
                               size_t bound) {
  const uint64_t hash = CombineHash(HashBytes(target, seed), blame.Hash(seed));
  const auto known = numbers_.find(hash);
  if (known != numbers_.end()) return known->second;
  if (used_ >= bound) return kNone;
  const auto number = static_cast<uint32_t>(used_++);
  labels_[number] = {
      .target = std::string(target), .outcome = blame.outcome, .cause = blame.ToCause()};
  numbers_.emplace(hash, number);
  return number;
}

uint32_t LabelTable::NumberOf(std::string_view target, const Blame& blame, uint64_t seed) {
  uint32_t number = FindOrAdd(target, blame, seed, max_labels_);
  if (number != kNone) return number;
  const Blame bare = WithoutNames(blame);
  number = FindOrAdd(target, bare, seed, max_labels_ + kReservedTargets * kNameless);
  if (number != kNone) return number;
  return FindOrAdd("", bare, seed, capacity_);  // there are no more than kNameless of these
}

}  // namespace headgate::throttle_log
