#include "server/remember/overrides/rules.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "common/share_text.h"

namespace headgate::overrides {
namespace {

constexpr size_t kMaxReasonBytes = 80;

std::string Clip(const std::string& text) {
  if (text.size() <= kMaxReasonBytes) return text;
  size_t end = kMaxReasonBytes;
  while (end > 0 && (text[end] & 0xc0) == 0x80) --end;  // inside a UTF-8 character
  return absl::StrCat(text.substr(0, end), "...");
}

std::string What(const Override& override) {
  switch (override.kind) {
    case Kind::kPause:
      return "paused";
    case Kind::kThrottle:
      return absl::StrCat("throttled by ", ShareText(override.ratio));
    case Kind::kExempt:
      return "exempted";
    case Kind::kResume:
      return "resumed";
  }
  return "";
}

engine::ActionSpec ActionOf(const Override& override) {
  const engine::LiftedBy lifted_by =
      override.IsStop() ? engine::LiftedBy::kLaterResume : engine::LiftedBy::kAnyResume;
  switch (override.kind) {
    case Kind::kPause:
      return engine::DenyAction{.lifted_by = lifted_by};
    case Kind::kThrottle:
      return engine::RejectAction{.ratio = override.ratio, .lifted_by = lifted_by};
    case Kind::kExempt:
      return engine::ExemptAction{};
    case Kind::kResume:
      return engine::ResumeAction{};
  }
  return engine::DenyAction{};
}

}  // namespace

std::string RuleName(const Override& override) {
  const std::string by = override.kind == Kind::kThrottle ? ", by " : " by ";
  const std::string& target = override.selector.target;
  std::string whom;
  if (override.selector.everything) {
    whom = target.empty() ? "everything " : absl::StrCat("everything on ", target, " ");
  }
  return absl::StrCat("override ", override.id, ": ", whom, What(override), by, override.actor,
                      " (", Clip(override.reason), ")");
}

engine::RuleSpec RuleOf(const Override& override) {
  engine::RuleSpec rule;
  rule.name = RuleName(override);
  rule.match.identity = override.selector.identity;
  rule.match.segment = override.selector.segment;
  rule.match.target = override.selector.target;
  rule.action = ActionOf(override);
  rule.expires_at = override.expires_at;
  rule.ends_by_hand = true;
  return rule;
}

bool Overlap(const Selector& a, const Selector& b) {
  return a.target.empty() || b.target.empty() || a.target == b.target;
}

bool KnowsTarget(const engine::PolicySpec& spec, const Selector& selector) {
  return selector.target.empty() ||
         std::any_of(spec.targets.begin(), spec.targets.end(),
                     [&](const auto& target) { return target.name == selector.target; });
}

}  // namespace headgate::overrides
