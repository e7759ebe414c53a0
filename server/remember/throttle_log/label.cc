#include "server/remember/throttle_log/label.h"

#include "common/hash.h"

namespace headgate::throttle_log {
namespace {

// Outcomes, reasons and limits in every combination: all that is left without names.
constexpr size_t kNameless = 3 * 8 * 7;
// Targets for which these are kept apart even when the table is full.
constexpr size_t kReservedTargets = 4;

CauseView WithoutNames(const CauseView& cause) {
  CauseView bare;
  bare.outcome = cause.outcome;
  bare.reason = cause.reason;
  bare.limit = cause.limit;
  return bare;
}

}  // namespace

LabelTable::LabelTable(size_t max_labels)
    : max_labels_(max_labels),
      capacity_(max_labels + (kReservedTargets + 1) * kNameless),
      labels_(std::make_unique<Label[]>(capacity_)) {
  numbers_.reserve(capacity_);
}

uint32_t LabelTable::FindOrAdd(std::string_view target, const CauseView& cause, uint64_t seed,
                               size_t bound) {
  const uint64_t hash = CombineHash(HashBytes(target, seed), cause.Hash(seed));
  const auto known = numbers_.find(hash);
  if (known != numbers_.end()) return known->second;
  if (used_ >= bound) return kNone;
  const auto number = static_cast<uint32_t>(used_++);
  labels_[number] = {
      .target = std::string(target), .outcome = cause.outcome, .cause = cause.ToCause()};
  numbers_.emplace(hash, number);
  return number;
}

uint32_t LabelTable::NumberOf(std::string_view target, const CauseView& cause, uint64_t seed) {
  uint32_t number = FindOrAdd(target, cause, seed, max_labels_);
  if (number != kNone) return number;
  const CauseView bare = WithoutNames(cause);
  number = FindOrAdd(target, bare, seed, max_labels_ + kReservedTargets * kNameless);
  if (number != kNone) return number;
  return FindOrAdd("", bare, seed, capacity_);  // there are no more than kNameless of these
}

}  // namespace headgate::throttle_log
