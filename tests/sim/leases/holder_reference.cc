#include "tests/sim/leases/holder_reference.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace headgate::leases {
namespace {

// What sums of pieces may differ by.
constexpr double kSumRounding = 1e-6;

}  // namespace

void HolderReference::Hold(SharedLease record, const client::GrantedLease& lease, int64_t ends_ns) {
  held_.push_back({.record = std::move(record),
                   .left = lease.amount,
                   .largest_piece = lease.largest_piece.value_or(client::kMaxCost),
                   .ends_ns = ends_ns});
}

void HolderReference::Look(double cost, int64_t now_ns) {
  for (auto lease = held_.begin(); lease != held_.end(); ++lease) {
    if (lease->is_done) continue;
    const bool has_time = now_ns < lease->ends_ns;
    if (has_time && cost <= lease->left) return;
    // No lease would do.
    if (cost > lease->largest_piece) return;
    const bool is_last = lease + 1 == held_.end();
    lease->is_done = !has_time || !is_last;
  }
}

HolderReference::Taken HolderReference::Take(double cost, int64_t now_ns) {
  ++admitted_;
  const auto found = std::find_if(held_.begin(), held_.end(), [&](const Held& lease) {
    return !lease.is_done && now_ns < lease.ends_ns && cost <= lease.left;
  });
  if (found == held_.end()) {
    if (held_.empty() || held_.back().record->safe_rate == 0) return {};
    const SharedLease& lease = held_.back().record;
    lease->safe_spent += cost;
    ++lease->pieces;
    return {.lease = lease, .is_safe = true};
  }
  found->left -= cost;
  found->record->spent += cost;
  ++found->record->pieces;
  return {.lease = found->record};
}

std::string HolderReference::HearCounts(const client::LeaseUse& use, int64_t pieces) {
  int64_t admitted = 0;
  for (const client::PieceCount& count : use.counts) {
    if (count.verdict == client::Verdict::kAllowed) {
      admitted += count.pieces;
    } else {
      told_refused_ += count.pieces;
    }
  }
  told_admitted_ += admitted;
  if (admitted == pieces) return "";
  return absl::StrCat("counts ", admitted, " admitted pieces of a lease that had ", pieces);
}

std::string HolderReference::Hear(const client::PermitReport& report) {
  if (!report.lease_use.has_value()) return "does not say what was spent of a lease";
  const client::LeaseUse& use = *report.lease_use;
  // Of one without a permit of which nothing was spent it says what was refused, if anything.
  if (report.permit_id == 0 && use.pieces == 0) return HearCounts(use, 0);
  const auto found = std::find_if(held_.begin(), held_.end(), [&](const Held& lease) {
    const LeaseRecord& record = *lease.record;
    return record.permit == report.permit_id && (record.permit != 0 || record.pieces > 0);
  });
  if (found == held_.end()) {
    return absl::StrCat("returns lease ", report.permit_id, ", which it does not hold");
  }
  const SharedLease record = found->record;
  for (auto before = held_.begin(); before != found; ++before) {
    if (before->record->permit != 0 || before->record->pieces > 0) {
      return absl::StrCat("returns lease ", report.permit_id, " before ", before->record->permit);
    }
  }
  held_.erase(held_.begin(), found + 1);
  if (std::abs(use.spent - record->spent) > kSumRounding || use.pieces != record->pieces ||
      std::abs(use.safe_spent - record->safe_spent) > kSumRounding) {
    return absl::StrCat("says that ", use.pieces, " pieces of ", use.spent, " and ", use.safe_spent,
                        " were spent of a lease of which ", record->pieces, " of ", record->spent,
                        " and ", record->safe_spent, " were");
  }
  return HearCounts(use, record->pieces);
}

std::string HolderReference::Missing() const {
  for (const Held& lease : held_) {
    if (lease.record->permit != 0 || lease.record->pieces > 0) {
      return absl::StrCat("has closed, and not returned lease ", lease.record->permit);
    }
  }
  if (told_admitted_ == admitted_ && told_refused_ == refused_) return "";
  return absl::StrCat("has admitted ", admitted_, " pieces and refused ", refused_,
                      ", and told of ", told_admitted_, " and ", told_refused_);
}

}  // namespace headgate::leases
