#include "server/decide/engine/rule_set.h"

#include <algorithm>

#include "common/hash.h"

namespace headgate::engine {
namespace {

// Tags and prefixes share the index with levels and segments.
constexpr uint64_t kTagDomain = 0x7461675f646f6d61;
constexpr uint64_t kPrefixDomain = 0x7072656669785f64;

}  // namespace

uint64_t RuleSet::TagKey(std::string_view key, std::string_view value) const {
  return CombineHash(HashBytes(key, seed_), HashBytes(value, seed_)) ^ kTagDomain;
}

uint64_t RuleSet::PrefixKey(const IpPrefix& prefix) const {
  return prefix.Hash(seed_) ^ kPrefixDomain;
}

bool RuleSet::ConditionsHold(const Conditions& conditions, const Walk& walk) const {
  const Identity& identity = *walk.subject.identity;
  if (conditions.level_depth != 0 &&
      (identity.depth() < conditions.level_depth ||
       identity.LevelHash(conditions.level_depth) != conditions.level_hash)) {
    return false;
  }
  if (conditions.has_segment) {
    int depth = 1;
    while (depth <= identity.depth() && identity.SegmentHash(depth) != conditions.segment_hash) {
      ++depth;
    }
    if (depth > identity.depth()) return false;
  }
  const auto tags_end = walk.tags.begin() + walk.tags_used;
  for (const uint64_t tag : conditions.tags) {
    if (std::find(walk.tags.begin(), tags_end, tag) == tags_end) return false;
  }
  if (conditions.prefix.has_value() &&
      (walk.subject.remote_address == nullptr ||
       !conditions.prefix->Contains(*walk.subject.remote_address))) {
    return false;
  }
  return conditions.schedule == nullptr || conditions.schedule->IsActive(walk.subject.wall_ns);
}

bool RuleSet::Holds(const Rule& rule, const Walk& walk) const {
  if (rule.target != kNone && rule.target != walk.subject.target) return false;
  if (walk.subject.wall_ns >= rule.expires_wall_ns) return false;
  return rule.conditions == kNone || ConditionsHold(conditions_[rule.conditions], walk);
}

void RuleSet::CollectRare(Walk& walk) const {
  const Identity& identity = *walk.subject.identity;
  for (int depth = identity.depth(); segments_ && depth >= 1; --depth) {
    Add(identity.SegmentHash(depth), walk);
  }
  if (tags_) {
    for (const Tag& tag : walk.subject.tags) {
      walk.tags[walk.tags_used++] = TagKey(tag.key, tag.value);
      Add(walk.tags[walk.tags_used - 1], walk);
    }
  }
  const IpAddress* const address = walk.subject.remote_address;
  if (prefixes_ && address != nullptr) {
    for (const int length : address->is_v4() ? v4_lengths_ : v6_lengths_) {
      Add(PrefixKey(IpPrefix::Of(*address, length)), walk);
    }
  }
  if (always_.count != 0) walk.ranges[walk.ranges_used++] = always_;
  if (!prefixes_ || address == nullptr) return;
  for (int i = 0; i < walk.ranges_used; ++i) {
    for (uint32_t r = 0; r < walk.ranges[i].count; ++r) {
      const Rule& rule = rules_[walk.ranges[i].first + r];
      if (rule.prefix_length > walk.longest_prefix && Holds(rule, walk)) {
        walk.longest_prefix = rule.prefix_length;
      }
    }
  }
}

template <typename Visitor>
void RuleSet::ForEachMatch(const Walk& walk, Visitor&& visit) const {
  for (int i = 0; i < walk.ranges_used; ++i) {
    const Rule* const first = rules_.data() + walk.ranges[i].first;
    for (const Rule& rule : absl::Span<const Rule>(first, walk.ranges[i].count)) {
      if (!rule.plain) {
        if (rule.prefix_length >= 0 && rule.prefix_length != walk.longest_prefix) continue;
        if (!Holds(rule, walk)) continue;
      }
      visit(rule);
    }
  }
}

// Perhaps charged already, or one too many.
void RuleSet::AddDoubtfulCharge(uint32_t budget, uint32_t rule, Match& match) {
  for (int i = 0; i < match.charges_used; ++i) {
    if (match.charges[i].budget == budget) return;
  }
  if (match.charges_used == kMaxBudgetsPerCheck) {
    match.overflow = true;
    return;
  }
  match.charges[match.charges_used++] = {budget, rule};
}

void RuleSet::Apply(const Rule& rule, int64_t wall_ns, Match& match) const {
  if (rule.kind != Kind::kCharge && rule.kind != Kind::kWeight) match.only_charges = false;
  switch (rule.kind) {
    case Kind::kCharge:
      AddCharges(rule, match);
      break;
    case Kind::kExempt:
      match.exempt = std::min(match.exempt, rule.id);
      break;
    case Kind::kResume:
      // The last one lifts whatever any of them does.
      if (match.resume == kNoRule || rule.id > match.resume) match.resume = rule.id;
      break;
    case Kind::kDeny:
      AddDeny(rule, wall_ns, match);
      break;
    case Kind::kReject:
      AddReject(rule, wall_ns, match);
      break;
    case Kind::kHealth:
      AddGate(rule, match);
      break;
    case Kind::kPriority:
      if (rule.selector_depth > match.priority_depth ||
          (rule.selector_depth == match.priority_depth && rule.value > match.priority)) {
        match.priority = rule.value;
        match.priority_depth = rule.selector_depth;
      }
      break;
    case Kind::kWeight:
      break;  // see FindWeights
  }
}

// Where several rules refuse alike, the one that applies longest says when to ask again. One that
// somebody may end any time does not last as long as one that nobody does.
bool RuleSet::Outlasts(const Rule& rule, uint32_t other, int64_t wall_ns) const {
  const absl::Time wall = absl::FromUnixNanos(wall_ns);
  const absl::Time until = AppliesUntil(rule.id, wall);
  const absl::Time others = AppliesUntil(other, wall);
  if (until != others) return until > others;
  return !rule.ends_by_hand && rules_[place_[other]].ends_by_hand;
}

void RuleSet::AddDeny(const Rule& rule, int64_t wall_ns, Match& match) const {
  if (match.deny == kNoRule || Outlasts(rule, match.deny, wall_ns)) match.deny = rule.id;
}

void RuleSet::AddReject(const Rule& rule, int64_t wall_ns, Match& match) const {
  const bool same = match.reject != kNoRule && rule.ratio == match.reject_ratio;
  if (match.reject == kNoRule || rule.ratio > match.reject_ratio ||
      (same && Outlasts(rule, match.reject, wall_ns))) {
    match.reject = rule.id;
    match.reject_ratio = rule.ratio;
  }
}

void RuleSet::AddGate(const Rule& rule, Match& match) {
  const auto profile = static_cast<uint32_t>(rule.value);
  for (int i = 0; i < match.gates_used; ++i) {
    if (match.gates[i].profile == profile) return;
  }
  if (match.gates_used == Match::kMaxGates) {
    match.overflow = true;
    return;
  }
  match.gates[match.gates_used++] = {profile, rule.id};
}

void RuleSet::Find(const Subject& subject, Match& match) const {
  match.Clear();
  Walk walk(subject);
  Collect(walk);
  ForEachMatch(walk, [&](const Rule& rule) {
    match.matched = true;
    if (rule.plain) {
      AddCharges(rule, match);
    } else {
      Apply(rule, subject.wall_ns, match);
    }
  });
  if (match.resume != kNoRule) [[unlikely]]
    Lift(walk, match);
}

// Leaves the refusals that the resume rule does not lift.
void RuleSet::Lift(const Walk& walk, Match& match) const {
  match.deny = match.reject = kNoRule;
  match.reject_ratio = 0;
  ForEachMatch(walk, [&](const Rule& rule) {
    if (IsLifted(rule, match.resume)) return;
    if (rule.kind == Kind::kDeny) AddDeny(rule, walk.subject.wall_ns, match);
    if (rule.kind == Kind::kReject) AddReject(rule, walk.subject.wall_ns, match);
  });
}

RuleSet::Weights RuleSet::FindWeights(const Subject& subject) const {
  Weights weights;
  weights.fill(1);
  bool root_has_selector = false;
  std::array<bool, Identity::kMaxSegments> found{};
  Walk walk(subject);
  Collect(walk);
  ForEachMatch(walk, [&](const Rule& rule) {
    if (rule.kind != Kind::kWeight) return;
    const size_t level = rule.selector_depth == 0 ? 0 : rule.selector_depth - size_t{1};
    const bool has_selector = rule.selector_depth > 0;
    if (level == 0 && root_has_selector && !has_selector) return;
    const bool replaces = !found[level] || (level == 0 && has_selector && !root_has_selector);
    weights[level] = replaces ? rule.ratio : std::max(weights[level], rule.ratio);
    found[level] = true;
    root_has_selector |= level == 0 && has_selector;
  });
  return weights;
}

std::vector<uint32_t> RuleSet::FindAll(const Subject& subject) const {
  std::vector<uint32_t> found;
  Walk walk(subject);
  Collect(walk);
  ForEachMatch(walk, [&](const Rule& rule) { found.push_back(rule.id); });
  // An identity may have a segment twice, and then meets the rule twice.
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<uint32_t> RuleSet::FindShorterPrefix(const Subject& subject) const {
  std::vector<uint32_t> found;
  Walk walk(subject);
  Collect(walk);
  for (int i = 0; i < walk.ranges_used; ++i) {
    const Rule* const first = rules_.data() + walk.ranges[i].first;
    for (const Rule& rule : absl::Span<const Rule>(first, walk.ranges[i].count)) {
      const bool shorter = rule.prefix_length >= 0 && rule.prefix_length < walk.longest_prefix;
      if (shorter && Holds(rule, walk)) found.push_back(rule.id);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

RuleSet::View RuleSet::ViewOf(uint32_t rule) const {
  const Rule& compiled = rules_[place_[rule]];
  View view;
  view.kind = compiled.kind;
  view.selector_depth = compiled.selector_depth;
  view.charges = absl::MakeSpan(charges_).subspan(compiled.charges_first, compiled.charges_count);
  if (compiled.kind == Kind::kHealth) view.profile = static_cast<uint32_t>(compiled.value);
  if (compiled.kind == Kind::kPriority) view.priority = compiled.value;
  if (compiled.kind == Kind::kReject) view.ratio = compiled.ratio;
  if (compiled.kind == Kind::kWeight) view.weight = compiled.ratio;
  if (compiled.kind == Kind::kDeny || compiled.kind == Kind::kReject) {
    view.lifted_by = static_cast<LiftedBy>(compiled.value);
  }
  if (compiled.expires_wall_ns != kNever) {
    view.expires_at = absl::FromUnixNanos(compiled.expires_wall_ns);
  }
  view.ends_by_hand = compiled.ends_by_hand;
  view.prefix_length = compiled.prefix_length;
  return view;
}

absl::Time RuleSet::NextChange(absl::Time wall) const {
  absl::Time next = absl::InfiniteFuture();
  for (const Rule& rule : rules_) {
    if (rule.expires_wall_ns != kNever) {
      const absl::Time expires = absl::FromUnixNanos(rule.expires_wall_ns);
      if (expires <= wall) continue;
      next = std::min(next, expires);
    }
    if (rule.conditions == kNone) continue;
    const auto& schedule = conditions_[rule.conditions].schedule;
    if (schedule != nullptr) next = std::min(next, schedule->schedule().NextChange(wall));
  }
  return next;
}

absl::Time RuleSet::AppliesUntil(uint32_t rule, absl::Time wall) const {
  const Rule& compiled = rules_[place_[rule]];
  absl::Time until = compiled.expires_wall_ns == kNever
                         ? absl::InfiniteFuture()
                         : absl::FromUnixNanos(compiled.expires_wall_ns);
  if (compiled.conditions == kNone) return until;
  const auto& schedule = conditions_[compiled.conditions].schedule;
  if (schedule == nullptr) return until;
  // NextChange may be early; a window that spans a week ends at most a few steps on.
  absl::Time end = wall;
  for (int step = 0; step < 64 && end < until; ++step) {
    end = schedule->schedule().NextChange(end);
    if (end == absl::InfiniteFuture() || !schedule->schedule().IsActive(end)) break;
  }
  return std::min(until, end);
}

}  // namespace headgate::engine
