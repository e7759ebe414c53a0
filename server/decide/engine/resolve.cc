#include "server/decide/engine/resolve.h"

#include "absl/strings/str_cat.h"
#include "common/hash.h"

namespace headgate::engine {
namespace {

constexpr size_t kMaxPatternBytes = 1024;
// A caller's name is none of an identity's.
constexpr uint64_t kCallerStream = 0x63616c6c65727321;

absl::Status ValidateTags(absl::Span<const Tag> tags) {
  if (tags.size() > kMaxTags) {
    return absl::InvalidArgumentError(
        absl::StrCat("tags: at most ", kMaxTags, " are allowed; there are ", tags.size()));
  }
  for (size_t i = 0; i < tags.size(); ++i) {
    const Tag& tag = tags[i];
    if (tag.key.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("tags[", i, "]: has an empty key"));
    }
    if (tag.key.size() + tag.value.size() > kMaxTagBytes) {
      return absl::InvalidArgumentError(absl::StrCat("tags[", i, "]: key and value have ",
                                                     tag.key.size() + tag.value.size(),
                                                     " bytes; at most ", kMaxTagBytes));
    }
    for (size_t j = 0; j < i; ++j) {
      if (tags[j].key == tag.key) {
        return absl::InvalidArgumentError(
            absl::StrCat("tags[", i, "]: has the same key as tags[", j, "]"));
      }
    }
  }
  return absl::OkStatus();
}

uint64_t TagValueTag(const Budget& budget, absl::Span<const Tag> tags, uint64_t seed) {
  for (const Tag& tag : tags) {
    if (tag.key == budget.split_tag) return BucketTable::TagOf(HashBytes(tag.value, ~seed));
  }
  return BucketTable::TagOf(seed);  // Checks without the tag share a bucket
}

// Whose permit it would be, and who is taught by what it costs.
void ResolveCaller(const Policy& policy, uint64_t seed, std::string_view caller,
                   Resolved& resolved) {
  resolved.holder = {PermitHolder::CallerKey(HashBytes(caller, seed ^ kCallerStream)), caller};
  if (!policy.share_patterns) resolved.cost_subject.caller = HashBytes(caller, seed) | 1;
}

void AddCandidates(const Policy& policy, uint64_t seed, const CheckRequest& request,
                   Resolved& resolved) {
  const Match& match = resolved.match;
  const Budget* const budgets = policy.BudgetsOf(resolved.target);
  // An exempt Check is looked at by no budget, and charged to none.
  resolved.candidates_used = match.exempt == kNoRule ? match.charges_used : 0;
  // Where two budgets share a bit this may say yes too often, which costs a little time.
  resolved.charges_busy_time = (match.charged & policy.busy_budgets) != 0;
  for (int i = 0; i < resolved.candidates_used; ++i) {
    Candidate& candidate = resolved.candidates[i];
    const Budget& budget = budgets[match.charges[i].budget];
    candidate.budget = &budget;
    candidate.rule = match.charges[i].rule;
    candidate.tag = Ledger::kSingleTag;
    if (budget.split == SplitKind::kDepth) {
      const int level = BucketLevel(budget, resolved.identity);
      candidate.tag = BucketTable::TagOf(resolved.identity.LevelHash(level));
    } else if (budget.split == SplitKind::kTag) {
      candidate.tag = TagValueTag(budget, request.tags, seed);
    }
    if (budget.prefetches) [[unlikely]]
      budget.ledger->table()->Prefetch(candidate.tag);
  }
}

}  // namespace

uint64_t BucketTagOf(const Budget& budget, const Identity& identity, absl::Span<const Tag> tags,
                     uint64_t seed) {
  if (budget.split == SplitKind::kDepth) {
    return BucketTable::TagOf(identity.LevelHash(BucketLevel(budget, identity)));
  }
  return budget.split == SplitKind::kTag ? TagValueTag(budget, tags, seed) : Ledger::kSingleTag;
}

absl::Status ValidateRequestId(std::string_view request_id) {
  constexpr size_t kMaxRequestIdBytes = 128;
  if (request_id.size() <= kMaxRequestIdBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("request_id: has ", request_id.size(), " bytes; at most ", kMaxRequestIdBytes));
}

absl::Status CostError(const char* field, double cost) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": must be a finite number from 0 to ", kMaxAmount, "; it is ", cost));
}

absl::Status Resolve(const Policy& policy, uint64_t seed, const CheckRequest& request,
                     const Now& now, Resolved& resolved) {
  resolved.policy_version = 0;
  if (absl::Status parsed = Identity::Parse(request.identity, seed, resolved.identity);
      !parsed.ok()) {
    return parsed;
  }
  if (!request.tags.empty()) {
    if (absl::Status tags = ValidateTags(request.tags); !tags.ok()) return tags;
  }
  if (absl::Status found = policy.ResolveTarget(request.target, resolved.target); !found.ok()) {
    return found;
  }
  const uint64_t target_key = policy.targets[resolved.target].key;
  resolved.subject_key =
      CombineHash(target_key, resolved.identity.LevelHash(resolved.identity.depth())) | 1;
  const uint64_t root = resolved.identity.LevelHash(1);
  resolved.holder = {PermitHolder::RootKey(root), request.identity};
  CostSubject& subject = resolved.cost_subject;
  subject = {.target = target_key, .root = root, .caller = 0, .pattern = 0};
  if (!request.caller.empty()) ResolveCaller(policy, seed, request.caller, resolved);
  resolved.cost_owner = subject.Owner();
  resolved.cost_pattern = 0;
  if (!request.pattern.empty()) {
    if (request.pattern.size() > kMaxPatternBytes) {
      return absl::InvalidArgumentError(absl::StrCat("pattern: has ", request.pattern.size(),
                                                     " bytes; at most ", kMaxPatternBytes));
    }
    subject.pattern = HashBytes(request.pattern, seed) | 1;
    resolved.cost_pattern = CostSubject::PatternKey(resolved.cost_owner, subject.pattern);
  }
  const Subject matched{.identity = &resolved.identity,
                        .tags = request.tags,
                        .remote_address = request.remote_address,
                        .target = resolved.target,
                        .wall_ns = now.wall_ns};
  policy.rules.Find(matched, resolved.match);
  const Match& match = resolved.match;
  if (match.overflow && match.exempt == kNoRule && match.deny == kNoRule) {
    return absl::FailedPreconditionError(
        absl::StrCat("the rules charge this identity to more than ", kMaxBudgetsPerCheck,
                     " budgets, or gate it by more than ", Match::kMaxGates, " health profiles"));
  }
  AddCandidates(policy, seed, request, resolved);
  resolved.policy_version = policy.version;
  return absl::OkStatus();
}

bool SameSubject(const CheckRequest& a, const CheckRequest& b) {
  const auto same = [](const auto& x, const auto& y) {
    return x.data() == y.data() && x.size() == y.size();
  };
  return same(a.identity, b.identity) && same(a.target, b.target) && same(a.pattern, b.pattern) &&
         same(a.tags, b.tags) && same(a.caller, b.caller) && a.remote_address == b.remote_address;
}

}  // namespace headgate::engine
