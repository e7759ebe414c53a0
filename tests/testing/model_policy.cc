#include "tests/testing/model_policy.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace headgate::model {

using engine::CheckRequest;
using engine::kNoRule;
using engine::MatchSpec;
using engine::RuleSpec;

std::vector<std::string> ParseIdentity(std::string_view text) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.@/";
  std::vector<std::string> segments;
  if (text.size() > 512) return segments;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(':', begin), text.size());
    segments.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  const bool valid = segments.size() <= 8 &&
                     std::all_of(segments.begin(), segments.end(), [&](const std::string& segment) {
                       return !segment.empty() && segment.size() <= 128 &&
                              segment.find_first_not_of(kAllowed) == std::string::npos;
                     });
  return valid ? segments : std::vector<std::string>();
}

std::string LevelOf(const std::vector<std::string>& segments, int depth) {
  std::string level;
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments.size() - i > static_cast<size_t>(depth)) continue;
    level += (level.empty() ? "" : ":") + segments[i];
  }
  return level;
}

ModelPolicy::ModelPolicy(const engine::PolicySpec& spec, uint64_t version)
    : spec_(spec), version_(version) {
  if (spec_.targets.empty()) spec_.targets.emplace_back();
  for (const RuleSpec& rule : spec_.rules) {
    auto& schedule = schedules_.emplace_back();
    if (rule.match.schedule.has_value()) {
      schedule = *engine::Schedule::Create(*rule.match.schedule);
    }
    auto& prefix = prefixes_.emplace_back();
    if (!rule.match.remote_address.empty()) {
      prefix = *engine::IpPrefix::Parse(rule.match.remote_address);
    }
  }
}

absl::StatusCode ModelPolicy::FindTarget(std::string_view name, uint32_t& target) const {
  target = 0;
  if (name.empty()) {
    return spec_.targets.size() == 1 ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument;
  }
  for (; target < spec_.targets.size(); ++target) {
    if (spec_.targets[target].name == name) return absl::StatusCode::kOk;
  }
  return absl::StatusCode::kNotFound;
}

uint32_t ModelPolicy::FindProfile(std::string_view name) const {
  for (uint32_t i = 0; i < spec_.profiles.size(); ++i) {
    if (spec_.profiles[i].name == name) return i;
  }
  return kNoRule;
}

uint32_t ModelPolicy::DefaultProfile(uint32_t target) const {
  return FindProfile(spec_.targets[target].default_health);
}

uint32_t ModelPolicy::ProfileOf(uint32_t target, uint32_t budget) const {
  const std::string& own = spec_.budgets[budget].health;
  return own.empty() ? DefaultProfile(target) : FindProfile(own);
}

std::optional<double> ModelPolicy::RateOf(uint32_t target, uint32_t budget) const {
  const engine::RateSpec& rate = *spec_.budgets[budget].rate;
  if (const auto* fixed = std::get_if<engine::UnitsPerSecond>(&rate)) return fixed->value;
  if (const auto* share = std::get_if<engine::ServerShare>(&rate)) {
    return share->percent / 100 * *spec_.targets[target].capacity;
  }
  return std::nullopt;
}

double ModelPolicy::BurstOf(uint32_t target, uint32_t budget) const {
  const engine::BurstSpec& burst = *spec_.budgets[budget].burst;
  if (const auto* units = std::get_if<double>(&burst)) return *units;
  const double seconds = absl::ToDoubleSeconds(std::get<absl::Duration>(burst));
  return std::min(seconds * *RateOf(target, budget), engine::kMaxAmount);
}

bool ModelPolicy::HoldsAt(uint32_t rule, absl::Time wall) const {
  if (wall >= spec_.rules[rule].expires_at) return false;
  return !schedules_[rule].has_value() || schedules_[rule]->IsActive(wall);
}

bool ModelPolicy::Holds(uint32_t rule, const CheckRequest& request, uint32_t target,
                        Now now) const {
  const MatchSpec& match = spec_.rules[rule].match;
  if (!match.target.empty() && match.target != spec_.targets[target].name) return false;
  if (!match.identity.empty() && request.identity != match.identity &&
      !request.identity.ends_with(":" + match.identity)) {
    return false;
  }
  if (!match.segment.empty()) {
    const std::vector<std::string> segments = ParseIdentity(request.identity);
    if (std::find(segments.begin(), segments.end(), match.segment) == segments.end()) return false;
  }
  for (const auto& [key, value] : match.tags) {
    const bool has =
        std::any_of(request.tags.begin(), request.tags.end(),
                    [&, k = std::string_view(key), v = std::string_view(value)](
                        const engine::Tag& tag) { return tag.key == k && tag.value == v; });
    if (!has) return false;
  }
  if (prefixes_[rule].has_value() &&
      (request.remote_address == nullptr || !prefixes_[rule]->Contains(*request.remote_address))) {
    return false;
  }
  return HoldsAt(rule, now.wall());
}

void ModelPolicy::AddReject(uint32_t rule, double ratio, Match& match) {
  if (ratio > match.reject_ratio) match.reject.clear();
  if (ratio >= match.reject_ratio) match.reject.insert(rule);
  match.reject_ratio = std::max(match.reject_ratio, ratio);
}

void ModelPolicy::Apply(uint32_t rule, Match& match, int& priority_depth) const {
  const RuleSpec& spec = spec_.rules[rule];
  match.all.insert(rule);
  if (std::holds_alternative<engine::ExemptAction>(spec.action)) match.exempt.insert(rule);
  if (std::holds_alternative<engine::ResumeAction>(spec.action)) match.resume.insert(rule);
  if (std::holds_alternative<engine::DenyAction>(spec.action)) match.deny.insert(rule);
  if (const auto* charge = std::get_if<engine::ChargeAction>(&spec.action)) {
    for (uint32_t i = 0; i < spec_.budgets.size(); ++i) {
      const engine::BudgetSpec& budget = spec_.budgets[i];
      const auto& names = charge->budgets;
      if (budget.mode == engine::Mode::kDisabled ||
          std::find(names.begin(), names.end(), budget.name) == names.end()) {
        continue;
      }
      match.charges[i].insert(rule);
    }
  }
  if (const auto* reject = std::get_if<engine::RejectAction>(&spec.action)) {
    AddReject(rule, reject->ratio, match);
  }
  if (const auto* health = std::get_if<engine::HealthAction>(&spec.action)) {
    match.gates[FindProfile(health->profile)].insert(rule);
  }
  if (const auto* priority = std::get_if<engine::PriorityAction>(&spec.action)) {
    const int depth = spec.match.identity.empty()
                          ? 0
                          : static_cast<int>(ParseIdentity(spec.match.identity).size());
    const std::pair<int, int> best =
        std::max(std::pair(priority_depth, match.priority), std::pair(depth, priority->priority));
    priority_depth = best.first;
    match.priority = best.second;
  }
}

ModelPolicy::Match ModelPolicy::Find(const CheckRequest& request, uint32_t target, Now now) const {
  std::vector<uint32_t> holding;
  int longest_prefix = -1;
  for (uint32_t rule = 0; rule < spec_.rules.size(); ++rule) {
    if (!Holds(rule, request, target, now)) continue;
    holding.push_back(rule);
    if (prefixes_[rule].has_value()) {
      longest_prefix = std::max(longest_prefix, prefixes_[rule]->length());
    }
  }
  Match match;
  int priority_depth = -1;
  for (const uint32_t rule : holding) {
    if (prefixes_[rule].has_value() && prefixes_[rule]->length() < longest_prefix) continue;
    Apply(rule, match, priority_depth);
  }
  if (match.resume.empty()) return match;
  match.deny.clear();
  match.reject.clear();
  match.reject_ratio = 0;
  const uint32_t last = *match.resume.rbegin();
  for (const uint32_t rule : match.all) {
    const engine::ActionSpec& action = spec_.rules[rule].action;
    const auto* const deny = std::get_if<engine::DenyAction>(&action);
    const auto* const reject = std::get_if<engine::RejectAction>(&action);
    if (deny == nullptr && reject == nullptr) continue;
    const engine::LiftedBy by = deny != nullptr ? deny->lifted_by : reject->lifted_by;
    if (by == engine::LiftedBy::kAnyResume || rule < last) {
      match.lifted.insert(rule);
    } else if (deny != nullptr) {
      match.deny.insert(rule);
    } else {
      AddReject(rule, reject->ratio, match);
    }
  }
  // What lifts is the last one: it lifts whatever any other does.
  match.resume = {last};
  return match;
}

absl::Duration ModelPolicy::AppliesFor(uint32_t rule, Now now) const {
  const absl::Time wall = now.wall();
  const absl::Duration until_expiry = spec_.rules[rule].expires_at - wall;
  if (!schedules_[rule].has_value()) return until_expiry;
  // Schedules change on whole minutes; a week without a change is none at all.
  absl::Time at = absl::FromUnixSeconds(absl::ToUnixSeconds(wall) / 60 * 60);
  for (int minutes = 0; minutes <= 7 * 24 * 60; ++minutes) {
    at += absl::Minutes(1);
    if (!schedules_[rule]->IsActive(at)) return std::min(until_expiry, at - wall);
  }
  return until_expiry;
}

}  // namespace headgate::model
