// Compiling a rule set: names are resolved, each rule is put under the condition that fewest rules
// share, and rules under one key are laid side by side.

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "server/decide/engine/rule_set.h"

namespace headgate::engine {

class RuleSet::Compiler {
 public:
  Compiler(const PolicySpec& spec, RuleSet& out) : spec_(spec), out_(out) {
    for (size_t i = 0; i < spec.targets.size(); ++i) targets_[spec.targets[i].name] = Place(i);
    for (size_t i = 0; i < spec.profiles.size(); ++i) profiles_[spec.profiles[i].name] = Place(i);
    for (size_t i = 0; i < spec.budgets.size(); ++i) {
      const bool disabled = spec.budgets[i].mode == Mode::kDisabled;
      budgets_[spec.budgets[i].name] = disabled ? kNone : Place(i);
    }
  }

  void Run() {
    drafts_.reserve(spec_.rules.size());
    for (size_t i = 0; i < spec_.rules.size(); ++i) Draft(Place(i));
    for (DraftRule& draft : drafts_) ChooseKey(draft);
    std::stable_sort(drafts_.begin(), drafts_.end(), [](const DraftRule& a, const DraftRule& b) {
      return std::pair(a.has_key, a.key.key) < std::pair(b.has_key, b.key.key);
    });
    LayOut();
  }

 private:
  enum class KeyKind : uint8_t { kLevel, kSegment, kTag, kPrefix };
  struct Key {
    uint64_t key = 0;
    KeyKind kind = KeyKind::kLevel;
  };
  struct DraftRule {
    Rule rule;
    Conditions conditions;
    std::vector<Key> keys;
    bool has_key = false;
    Key key;
  };

  static uint32_t Place(size_t i) { return static_cast<uint32_t>(i); }

  void Draft(uint32_t id) {
    const RuleSpec& spec = spec_.rules[id];
    DraftRule draft;
    draft.rule.id = id;
    draft.rule.ends_by_hand = spec.ends_by_hand;
    if (spec.expires_at < absl::FromUnixNanos(kNever)) {
      draft.rule.expires_wall_ns = absl::ToUnixNanos(spec.expires_at);
    }
    if (!spec.match.target.empty()) draft.rule.target = targets_.at(spec.match.target);
    DraftConditions(spec.match, draft);
    std::visit([&](const auto& action) { DraftAction(action, draft.rule); }, spec.action);
    for (const Key& key : draft.keys) ++shared_by_[key.key];
    drafts_.push_back(std::move(draft));
  }

  void DraftConditions(const MatchSpec& match, DraftRule& draft) {
    Conditions& conditions = draft.conditions;
    if (!match.identity.empty()) {
      Identity selector;
      Identity::Parse(match.identity, out_.seed_, selector).IgnoreError();  // validated
      conditions.level_depth = selector.depth();
      conditions.level_hash = selector.LevelHash(selector.depth());
      draft.rule.selector_depth = static_cast<uint8_t>(selector.depth());
      draft.keys.push_back({conditions.level_hash, KeyKind::kLevel});
    }
    if (!match.segment.empty()) {
      Identity segment;
      Identity::Parse(match.segment, out_.seed_, segment).IgnoreError();
      conditions.has_segment = true;
      conditions.segment_hash = segment.SegmentHash(1);
      draft.keys.push_back({conditions.segment_hash, KeyKind::kSegment});
    }
    for (const auto& [key, value] : match.tags) {
      conditions.tags.push_back(out_.TagKey(key, value));
      draft.keys.push_back({conditions.tags.back(), KeyKind::kTag});
      out_.tags_ = true;
    }
    if (!match.remote_address.empty()) {
      conditions.prefix = *IpPrefix::Parse(match.remote_address);
      draft.rule.prefix_length = static_cast<int16_t>(conditions.prefix->length());
      draft.keys.push_back({out_.PrefixKey(*conditions.prefix), KeyKind::kPrefix});
      out_.prefixes_ = true;
    }
    if (match.schedule.has_value()) {
      conditions.schedule = std::make_unique<CachedSchedule>(*Schedule::Create(*match.schedule));
    }
  }

  void DraftAction(const ChargeAction& action, Rule& rule) {
    rule.kind = Kind::kCharge;
    rule.charges_first = Place(out_.charges_.size());
    for (const std::string& name : action.budgets) {
      const uint32_t budget = budgets_.at(name);
      if (budget != kNone) out_.charges_.push_back(budget);
    }
    rule.charges_count = Place(out_.charges_.size()) - rule.charges_first;
  }
  void DraftAction(const ExemptAction&, Rule& rule) { rule.kind = Kind::kExempt; }
  void DraftAction(const DenyAction& action, Rule& rule) {
    rule.kind = Kind::kDeny;
    rule.value = static_cast<int32_t>(action.lifted_by);
  }
  void DraftAction(const ResumeAction&, Rule& rule) { rule.kind = Kind::kResume; }
  void DraftAction(const RejectAction& action, Rule& rule) {
    rule.kind = Kind::kReject;
    rule.ratio = action.ratio;
    rule.value = static_cast<int32_t>(action.lifted_by);
  }
  void DraftAction(const HealthAction& action, Rule& rule) {
    rule.kind = Kind::kHealth;
    rule.value = static_cast<int32_t>(profiles_.at(action.profile));
  }
  void DraftAction(const PriorityAction& action, Rule& rule) {
    rule.kind = Kind::kPriority;
    rule.value = action.priority;
  }
  void DraftAction(const WeightAction& action, Rule& rule) {
    rule.kind = Kind::kWeight;
    rule.ratio = action.weight;
  }

  // The key that fewest rules share, and the conditions that remain to be checked.
  void ChooseKey(DraftRule& draft) {
    for (const Key& key : draft.keys) {
      if (draft.has_key && shared_by_[key.key] >= shared_by_[draft.key.key]) continue;
      draft.has_key = true;
      draft.key = key;
    }
    if (!draft.has_key) return;
    Conditions& conditions = draft.conditions;
    switch (draft.key.kind) {
      case KeyKind::kLevel:
        out_.depths_ |= 1U << (conditions.level_depth - 1);
        conditions.level_depth = 0;
        break;
      case KeyKind::kSegment:
        out_.segments_ = true;
        conditions.has_segment = false;
        break;
      case KeyKind::kTag:
        conditions.tags.erase(
            std::find(conditions.tags.begin(), conditions.tags.end(), draft.key.key));
        break;
      case KeyKind::kPrefix:
        (conditions.prefix->is_v4() ? v4_ : v6_).insert(conditions.prefix->length());
        conditions.prefix.reset();
        break;
    }
  }

  void LayOut() {
    out_.place_.resize(drafts_.size());
    out_.names_.reserve(drafts_.size());
    for (const RuleSpec& rule : spec_.rules) out_.names_.push_back(rule.name);
    out_.index_ = SelectorIndex(shared_by_.size());
    for (size_t i = 0; i < drafts_.size();) {
      size_t end = i;
      while (end < drafts_.size() && drafts_[end].has_key == drafts_[i].has_key &&
             drafts_[end].key.key == drafts_[i].key.key) {
        Place(drafts_[end++]);
      }
      const SelectorIndex::Range range{Place(i), Place(end - i)};
      if (drafts_[i].has_key) {
        out_.index_.Add(drafts_[i].key.key, range);
      } else {
        out_.always_ = range;
      }
      i = end;
    }
    out_.rare_ = out_.segments_ || out_.tags_ || out_.prefixes_ || out_.always_.count != 0;
    out_.v4_lengths_.assign(v4_.begin(), v4_.end());
    out_.v6_lengths_.assign(v6_.begin(), v6_.end());
  }

  void Place(DraftRule& draft) {
    const Conditions& left = draft.conditions;
    if (left.level_depth != 0 || left.has_segment || !left.tags.empty() ||
        left.prefix.has_value() || left.schedule != nullptr) {
      draft.rule.conditions = Place(out_.conditions_.size());
      out_.conditions_.push_back(std::move(draft.conditions));
    }
    draft.rule.plain = draft.rule.kind == Kind::kCharge && draft.rule.conditions == kNone &&
                       draft.rule.target == kNone && draft.rule.expires_wall_ns == kNever &&
                       draft.rule.prefix_length < 0;
    out_.place_[draft.rule.id] = Place(out_.rules_.size());
    out_.rules_.push_back(draft.rule);
  }

  const PolicySpec& spec_;
  RuleSet& out_;
  absl::flat_hash_map<std::string, uint32_t> targets_, profiles_, budgets_;
  absl::flat_hash_map<uint64_t, uint32_t> shared_by_;
  std::vector<DraftRule> drafts_;
  std::set<int, std::greater<int>> v4_, v6_;
};

RuleSet RuleSet::Compile(const PolicySpec& spec, uint64_t seed) {
  RuleSet rules;
  rules.seed_ = seed;
  Compiler(spec, rules).Run();
  return rules;
}

}  // namespace headgate::engine
