#include "server/serve/rpc/explain_hints.h"

#include <algorithm>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/decide/engine/policy.h"
#include "server/serve/rpc/proto_time.h"

namespace headgate::rpc {
namespace {

bool HasTag(const engine::CheckRequest& check, std::string_view key) {
  return std::any_of(check.tags.begin(), check.tags.end(),
                     [&](const engine::Tag& tag) { return tag.key == key; });
}

// "acme", where the job's newest Check has that tag; else empty.
std::string LastValueOf(const std::string& key, const std::vector<throttle_log::LastCheck>& last) {
  for (const throttle_log::LastCheck& check : last) {
    for (const auto& [tag, value] : check.tags) {
      if (tag == key) return value;
    }
  }
  return "";
}

void FillLast(const throttle_log::LastCheck& from, v1::LastCheck& to) {
  SetTimestamp(from.at, *to.mutable_at());
  to.set_verdict(from.allowed ? v1::VERDICT_ALLOWED : v1::VERDICT_DENIED);
  if (from.estimated_cost.has_value()) to.set_estimated_cost(*from.estimated_cost);
  to.set_predicted_cost(from.predicted_cost);
  to.set_pattern(from.pattern);
  for (const auto& [key, value] : from.tags) (*to.mutable_tags())[key] = value;
}

}  // namespace

void FillHints(const engine::Explanation& explanation, const engine::CheckRequest& check,
               const std::vector<throttle_log::LastCheck>& last, v1::ExplainResponse& response) {
  const engine::Policy& policy = *explanation.answer.policy;
  for (const engine::BucketView& bucket : explanation.buckets) {
    const engine::BudgetSpec& budget = policy.budget_specs[bucket.budget];
    const auto* const split = std::get_if<engine::SplitByTag>(&budget.split);
    if (split == nullptr || HasTag(check, split->key)) continue;
    const std::string value = LastValueOf(split->key, last);
    response.add_warnings(absl::StrCat(
        "budget '", budget.name, "' has a bucket for each value of the tag '", split->key,
        "', which is not given: this answer is about Checks without it",
        value.empty() ? ""
                      : absl::StrCat("; the job's newest Check has ", split->key, "=", value)));
  }
  for (const throttle_log::LastCheck& each : last) FillLast(each, *response.add_last_checks());
}

}  // namespace headgate::rpc
