#include "server/decide/engine/forgive_debt.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/decide/engine/decision.h"
#include "server/decide/engine/line_order.h"

namespace headgate::engine {
namespace {

constexpr uint32_t kNoPlace = 0xffffffff;

uint32_t PlaceOf(const Policy& policy, std::string_view budget) {
  for (uint32_t i = 0; i < policy.budget_specs.size(); ++i) {
    if (policy.budget_specs[i].name == budget) return i;
  }
  return kNoPlace;
}

// By the rules, though it may be exempt just now: what it owes from before stays owed.
bool IsCharged(const Match& match, uint32_t budget) {
  const auto* const begin = match.charges.data();
  return std::any_of(begin, begin + match.charges_used,
                     [&](const Match::Charge& charge) { return charge.budget == budget; });
}

// The bucket of `budget` that an identity's work is charged to.
struct BucketFound {
  const Budget* budget = nullptr;
  uint64_t tag = 0;
  std::string name;
};

absl::StatusOr<BucketFound> FindBucket(const Policy& policy, const DebtQuery& sought, uint64_t seed,
                                       const Now& now) {
  uint32_t at = 0;
  if (absl::Status found = policy.ResolveTarget(sought.target, at); !found.ok()) return found;
  const uint32_t place = PlaceOf(policy, sought.budget);
  if (place == kNoPlace) {
    return absl::NotFoundError(
        absl::StrCat("budget: no budget '", Sv(sought.budget), "' is configured"));
  }
  const Budget& budget = policy.BudgetsOf(at)[place];
  if (budget.ledger == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("budget: '", Sv(sought.budget), "' has no rate, so nothing is owed to it"));
  }
  const std::array<Tag, 1> tags = {Tag{budget.split_tag, sought.tag_value}};
  CheckRequest request{.identity = sought.identity, .target = sought.target};
  if (budget.split == SplitKind::kTag && !sought.tag_value.empty()) request.tags = tags;
  Resolved resolved;
  absl::Status status = Resolve(policy, seed, request, now, resolved);
  if (!status.ok()) return status;
  if (!IsCharged(resolved.match, place) &&
      !policy.conditional_charges.MayCharge(resolved.identity, at, place)) {
    return absl::NotFoundError(absl::StrCat("identity: no rule charges '", Sv(sought.identity),
                                            "' to budget '", Sv(sought.budget), "'"));
  }
  BucketFound found{.budget = &budget,
                    .tag = BucketTagOf(budget, resolved.identity, request.tags, seed),
                    .name = {}};
  const int level = BucketLevel(budget, resolved.identity);
  if (level > 0) found.name = std::string(resolved.identity.Level(level));
  if (budget.split == SplitKind::kTag) found.name = std::string(sought.tag_value);
  return found;
}

int64_t VirtualNow(const Budget& budget, const Now& now) {
  return budget.ledger->Now(budget.clock->Read(now.monotonic_ns).virtual_ns);
}

}  // namespace

absl::StatusOr<ForgivenDebt> Debts::Read(const DebtQuery& query, Now now) const {
  return DebtOf(query, now, [](const Budget& of, uint64_t tag, int64_t now_ns) -> int64_t {
    const int64_t at = of.ledger->EmptiesAt(tag, now_ns);
    return at == Bucket::kMoved ? -1 : std::max<int64_t>(at - now_ns, 0);
  });
}

absl::StatusOr<ForgivenDebt> Debts::Forgive(const DebtQuery& query, Now now, double most_units) {
  return DebtOf(query, now, [this, most_units](const Budget& from, uint64_t tag, int64_t now_ns) {
    const int64_t most_ns = from.ledger->ToNs(most_units);
    const int64_t owed_ns = from.ledger->Forgive(tag, now_ns, most_ns);
    if (owed_ns >= 0) core_.reported_debts.Forget(ConcurrencyKeyOf(from, tag));
    LineInterface* const line = core_.LineIfAnybodyIsHere();
    if (owed_ns > 0 && line != nullptr) line->RoomFreed(LineKeyOf(from, tag));
    return owed_ns;
  });
}

absl::StatusOr<ForgivenDebt> Debts::DebtOf(const DebtQuery& query, Now now, OwedNs owed) const {
  now = EngineCore::Bounded(now);
  for (const PolicyRef& policy = core_.policies.Get();; core_.AwaitNewer(policy->version)) {
    if (policy == nullptr) return EngineCore::NotInstalled();
    const absl::StatusOr<BucketFound> bucket = FindBucket(*policy, query, core_.options.seed, now);
    if (!bucket.ok()) return bucket.status();
    const Budget& of = *bucket->budget;
    const int64_t owed_ns = owed(of, bucket->tag, VirtualNow(of, now));
    if (owed_ns < 0) continue;  // moved: there is a new policy
    return ForgivenDebt{
        .bucket = bucket->name, .units = of.ledger->ToUnits(owed_ns), .unit = of.unit};
  }
}

}  // namespace headgate::engine
