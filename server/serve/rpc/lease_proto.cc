#include "server/serve/rpc/lease_proto.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "server/decide/engine/resolve.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

constexpr int kMostCounts = 100;

absl::Status ValidateCount(const v1::PieceCount& count, int place) {
  const auto wrong = [&](const char* field, const std::string& what) {
    return absl::InvalidArgumentError(
        absl::StrCat("lease_use.counts[", place, "].", field, ": ", what));
  };
  if (count.verdict() != v1::VERDICT_ALLOWED && count.verdict() != v1::VERDICT_DENIED) {
    return wrong("verdict", "is required");
  }
  if (!v1::Reason_IsValid(count.reason())) return wrong("reason", "is not known");
  if (!v1::LimitKind_IsValid(count.limit_kind())) return wrong("limit_kind", "is not known");
  if (count.pieces() < 0 || count.pieces() > engine::kMostPieces) {
    return wrong("pieces", absl::StrCat("are ", count.pieces(), "; at least 0, at most ",
                                        engine::kMostPieces));
  }
  if (!engine::ValidateCost("", count.cost()).ok()) {
    return wrong("cost", absl::StrCat("must be a finite number from 0 to ", engine::kMaxAmount,
                                      "; it is ", count.cost()));
  }
  return absl::OkStatus();
}

}  // namespace

engine::LeaseTerms ToLeaseTerms(const v1::LeaseTerms& from) {
  engine::LeaseTerms terms{
      .least = from.least(),
      .life = from.has_time() ? DurationOf(from.time()) : kUsualLease,
      .safe_rate = from.safe_rate(),
      .safe_life = from.has_safe_time() ? DurationOf(from.safe_time()) : absl::ZeroDuration()};
  if (from.has_watch()) terms.watched = from.watch().state();
  return terms;
}

void FillLease(const engine::CheckAnswer& from, v1::Lease& to) {
  const engine::Grant& grant = from.grant;
  const bool is_granted = from.verdict == engine::Verdict::kAllowed;
  to.set_amount(is_granted ? grant.amount : 0);
  if (is_granted) {
    SetDuration(grant.time, *to.mutable_time());
  } else {
    to.clear_time();
  }
  if (is_granted && grant.largest_piece < engine::kMaxAmount) {
    to.set_largest_piece(grant.largest_piece);
  } else {
    to.clear_largest_piece();
  }
  to.set_reject_ratio(is_granted ? grant.reject_ratio : 0);
  to.set_one_at_a_time(is_granted && grant.one_at_a_time);
  const bool has_safe_rate = is_granted && grant.safe_rate > 0;
  to.set_safe_rate(has_safe_rate ? grant.safe_rate : 0);
  if (has_safe_rate) {
    SetDuration(grant.safe_time, *to.mutable_safe_time());
  } else {
    to.clear_safe_time();
  }
  to.set_state(is_granted ? grant.state : 0);
}

engine::ActualCost::Spent ToSpent(const v1::LeaseUse& from) {
  return {.estimate = from.spent(), .pieces = from.pieces(), .safe_estimate = from.safe_spent()};
}

engine::PieceOutcome ToPieceOutcome(const v1::PieceCount& from) {
  engine::PieceOutcome outcome{.verdict = from.verdict() == v1::VERDICT_DENIED
                                              ? engine::Verdict::kDenied
                                              : engine::Verdict::kAllowed,
                               .reason = static_cast<engine::Reason>(from.reason()),
                               .budget = from.budget(),
                               .rule = from.rule(),
                               .signal = from.signal()};
  outcome.has_limit = from.limit_kind() != v1::LIMIT_KIND_UNSPECIFIED;
  // Both sides count alike, from the first that is one.
  if (outcome.has_limit) outcome.limit = static_cast<engine::Limit>(from.limit_kind() - 1);
  return outcome;
}

absl::Status ValidateCounts(const v1::LeaseUse& use) {
  if (use.counts_size() > kMostCounts) {
    return absl::InvalidArgumentError(absl::StrCat("lease_use.counts: has ", use.counts_size(),
                                                   " entries; at most ", kMostCounts));
  }
  for (int i = 0; i < use.counts_size(); ++i) {
    if (absl::Status valid = ValidateCount(use.counts(i), i); !valid.ok()) return valid;
  }
  return absl::OkStatus();
}

}  // namespace headgate::rpc
