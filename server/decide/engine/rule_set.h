// Which rules apply to a Check: an immutable index over all rules, asked in time that does not
// depend on how many there are.
//
// Every rule stands under one of its conditions, the one that fewest rules share: its selector, its
// segment, one of its tags or its prefix. A Check looks up each of its levels, segments and tags
// and its address at each prefix length in use; what it finds is narrowed down by the other
// conditions. Three things cost more, each in proportion to itself only: rules that share *all*
// their conditions with many others, rules with no such condition (they are candidates always), and
// prefix lengths.
//
// Every rule that matches applies, but of the rules with a prefix only those whose prefix is the
// longest that matched.
//
// Immutable and thread-safe once compiled.
// Source: the rule sets of PlanetScale's Traffic Control; standing under the rarest condition is
// ours.

#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/identity.h"
#include "server/decide/engine/ip_prefix.h"
#include "server/decide/engine/schedule.h"
#include "server/decide/engine/selector_index.h"
#include "server/decide/engine/spec.h"

namespace headgate::engine {

struct Tag {
  std::string_view key;
  std::string_view value;
};

// What is matched. Views: the caller keeps them alive.
struct Subject {
  const Identity* identity = nullptr;
  absl::Span<const Tag> tags;
  const IpAddress* remote_address = nullptr;  // null: unknown, no prefix matches
  uint32_t target = 0;
  int64_t wall_ns = 0;
};

inline constexpr uint32_t kNoRule = 0xffffffff;

// The rules that decide a Check, strongest first. Rules and budgets are named by their places in
// the PolicySpec.
struct Match {
  static constexpr int kMaxGates = 8;
  struct Charge {
    uint32_t budget;
    uint32_t rule;
  };
  struct Gate {
    uint32_t profile;
    uint32_t rule;
  };

  Match() {}  // NOLINT(modernize-use-equals-default): unset until RuleSet::Find, which clears it
  void Clear() {
    charges_used = gates_used = 0;
    charged = 0;
    matched = false;
    only_charges = true;
    overflow = false;
    exempt = resume = deny = reject = kNoRule;
    reject_ratio = 0;
    priority = 0;
    priority_depth = -1;
  }

  int charges_used;
  int gates_used;
  uint64_t charged;   // bit b % 64 is set where budget b is among the charges
  bool matched;       // some rule does
  bool only_charges;  // no other action applies
  bool overflow;      // more budgets or profiles than one Check may have
  uint32_t exempt;
  uint32_t resume;  // the last rule that lifts deny and reject rules; see RuleSet::Lifts
  uint32_t deny;
  uint32_t reject;  // the one with the highest ratio
  double reject_ratio;
  int priority;
  int priority_depth;  // of its selector; deeper wins, then the higher number
  std::array<Charge, kMaxBudgetsPerCheck> charges;  // each budget once, deepest level first
  std::array<Gate, kMaxGates> gates;
};

class RuleSet {
 public:
  enum class Kind : uint8_t {
    kCharge,
    kExempt,
    kResume,
    kDeny,
    kReject,
    kHealth,
    kPriority,
    kWeight
  };

  // What one rule does. Only the fields that its kind has mean anything.
  struct View {
    Kind kind = Kind::kCharge;
    int selector_depth = 0;              // 0: no selector
    absl::Span<const uint32_t> charges;  // budgets, by their place in the PolicySpec
    uint32_t profile = 0;                // likewise
    int priority = 0;
    double ratio = 0;
    double weight = 1;
    LiftedBy lifted_by = LiftedBy::kAnyResume;
    absl::Time expires_at = absl::InfiniteFuture();
    bool ends_by_hand = false;
    int prefix_length = -1;  // of its remote_address; -1: it has none
  };

  // Compiles valid rules (see Validate in policy.h). Budgets that are DISABLED are left out.
  static RuleSet Compile(const PolicySpec& spec, uint64_t seed);

  // Fills `match` anew.
  void Find(const Subject& subject, Match& match) const;
  // What the rules that apply weigh each level with, the root first; 1 where none does. For lines:
  // a Check that meets none does not ask.
  using Weights = std::array<double, Identity::kMaxSegments>;
  Weights FindWeights(const Subject& subject) const;
  // All rules that apply, in no order. For explanations.
  std::vector<uint32_t> FindAll(const Subject& subject) const;
  // Those that would be among them if no rule had a longer prefix. For explanations.
  std::vector<uint32_t> FindShorterPrefix(const Subject& subject) const;

  // For explanations.
  View ViewOf(uint32_t rule) const;
  // Whether `rule` is one that refuses, and this resume rule lifts it where both apply.
  bool Lifts(uint32_t resume, uint32_t rule) const {
    return IsLifted(rules_[place_[rule]], resume);
  }

  // After `wall`, when a rule may begin or stop to apply for no other reason than the time; the
  // infinite future: never. It looks at all rules.
  absl::Time NextChange(absl::Time wall) const;

  // When a rule that applies at `wall` may stop applying: its expiry or the end of its window.
  absl::Time AppliesUntil(uint32_t rule, absl::Time wall) const;

  size_t size() const { return names_.size(); }
  const std::string& name(uint32_t rule) const { return names_[rule]; }

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // One rule as a Check reads it, in one cache line. Rules under one key lie side by side.
  struct alignas(64) Rule {
    Kind kind = Kind::kCharge;
    bool plain = false;  // charges, and nothing but its key has to hold
    uint8_t selector_depth = 0;
    int16_t prefix_length = -1;
    uint32_t id = 0;  // place in the PolicySpec
    uint32_t charges_first = 0;
    uint32_t charges_count = 0;
    uint32_t conditions = kNone;  // those that the index does not vouch for
    uint32_t target = kNone;
    int32_t value = 0;  // priority, the profile's place, or LiftedBy
    double ratio = 0;   // or the weight
    int64_t expires_wall_ns = kNever;
    bool ends_by_hand = false;
  };
  struct Conditions {
    uint64_t level_hash = 0;
    uint64_t segment_hash = 0;
    int level_depth = 0;  // 0: any level
    bool has_segment = false;
    std::vector<uint64_t> tags;
    std::optional<IpPrefix> prefix;
    std::unique_ptr<CachedSchedule> schedule;
  };
  class Compiler;

  // A subject with what is found for it: the hashes of its tags, and where its candidates lie.
  struct Walk {
    static constexpr int kMaxRanges = 2 * Identity::kMaxSegments + kMaxTags + 129 + 1;

    explicit Walk(const Subject& what)
        : subject(what) {}  // leaves the arrays unset: clearing costs

    const Subject& subject;
    int tags_used = 0;
    int ranges_used = 0;
    int longest_prefix = -1;
    std::array<uint64_t, kMaxTags> tags;
    std::array<SelectorIndex::Range, kMaxRanges> ranges;
  };

  uint64_t TagKey(std::string_view key, std::string_view value) const;
  uint64_t PrefixKey(const IpPrefix& prefix) const;
  bool Holds(const Rule& rule, const Walk& walk) const;
  bool ConditionsHold(const Conditions& conditions, const Walk& walk) const;
  void Collect(Walk& walk) const {
    const Identity& identity = *walk.subject.identity;
    // Deepest first: what the fewest Checks share is charged first and contended last.
    for (int depth = identity.depth(); depth >= 1; --depth) {
      if ((depths_ >> (depth - 1) & 1) != 0) Add(identity.LevelHash(depth), walk);
    }
    if (rare_) CollectRare(walk);
  }
  void CollectRare(Walk& walk) const;
  void Add(uint64_t key, Walk& walk) const {
    const SelectorIndex::Range* const range = index_.Find(key);
    if (range != nullptr) walk.ranges[walk.ranges_used++] = *range;
  }
  template <typename Visitor>
  void ForEachMatch(const Walk& walk, Visitor&& visit) const;
  void AddCharges(const Rule& rule, Match& match) const {
    const uint32_t* const budgets = charges_.data() + rule.charges_first;
    for (uint32_t i = 0; i < rule.charges_count; ++i) {
      const uint64_t bit = uint64_t{1} << (budgets[i] % 64);
      if ((match.charged & bit) == 0 && match.charges_used < kMaxBudgetsPerCheck) [[likely]] {
        match.charged |= bit;
        match.charges[match.charges_used++] = {budgets[i], rule.id};
      } else {
        AddDoubtfulCharge(budgets[i], rule.id, match);
      }
    }
  }
  static void AddDoubtfulCharge(uint32_t budget, uint32_t rule, Match& match);
  static void AddGate(const Rule& rule, Match& match);
  void Apply(const Rule& rule, int64_t wall_ns, Match& match) const;
  bool Outlasts(const Rule& rule, uint32_t other, int64_t wall_ns) const;
  void AddDeny(const Rule& rule, int64_t wall_ns, Match& match) const;
  void AddReject(const Rule& rule, int64_t wall_ns, Match& match) const;
  static bool IsLifted(const Rule& rule, uint32_t resume) {
    if (rule.kind != Kind::kDeny && rule.kind != Kind::kReject) return false;
    return rule.value != static_cast<int32_t>(LiftedBy::kLaterResume) || resume > rule.id;
  }
  void Lift(const Walk& walk, Match& match) const;

  uint64_t seed_ = 0;
  SelectorIndex index_;
  SelectorIndex::Range always_{0, 0};
  std::vector<Rule> rules_;
  std::vector<Conditions> conditions_;
  std::vector<uint32_t> charges_;
  std::vector<uint32_t> place_;  // from a rule's id to its place in rules_
  std::vector<std::string> names_;
  uint32_t depths_ = 0;  // bit d - 1: some rule stands under a selector of d segments
  bool rare_ = false;    // some rule stands under something else than a selector
  bool segments_ = false;
  bool tags_ = false;
  bool prefixes_ = false;
  std::vector<int> v4_lengths_;  // of prefixes that rules stand under, longest first
  std::vector<int> v6_lengths_;
};

}  // namespace headgate::engine
