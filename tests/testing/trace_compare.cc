#include "tests/testing/trace_compare.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/strings.h"

namespace headgate::model {
namespace {

using engine::Limit;
using engine::Violation;

constexpr std::array<const char*, 11> kLimits = {
    "rule",  "health",  "rate", "burst",     "max_cost",   "max_concurrency",
    "probe", "permits", "line", "line_full", "approximate"};
static_assert(kLimits.size() == static_cast<size_t>(Limit::kApproximate) + 1);
constexpr std::array<const char*, 13> kReasons = {
    "none",     "exempt",          "deny rule",  "reject ratio", "health",
    "max cost", "max concurrency", "capacity",   "permits",      "unmatched",
    "line",     "line full",       "approximate"};

std::string Exact(double value) { return absl::StrFormat("%.17g", value); }

std::string Exact(absl::Duration duration) {
  if (duration == absl::InfiniteDuration()) return "never";
  return absl::StrCat(absl::ToInt64Nanoseconds(duration), " ns");
}

std::string Busy(const std::optional<absl::Duration>& busy_time) {
  return busy_time.has_value() ? Exact(absl::ToDoubleSeconds(*busy_time)) + " s" : "no busy time";
}

template <typename Set>
std::string AnyOf(const Set& set) {
  return absl::StrJoin(set, "|");
}

std::string Describe(const Violation& violation) {
  return absl::StrCat(violation.warn ? "warn " : "", kLimits[static_cast<size_t>(violation.limit)],
                      " budget ", violation.budget, " rule ", violation.rule, " profile ",
                      violation.profile, " level ", violation.level, " signal ", violation.signal,
                      " observed ", Exact(violation.observed), " limit ",
                      Exact(violation.limit_value), " retry ", Exact(violation.retry_after));
}

std::string Describe(const ExpectedViolation& violation) {
  return absl::StrCat(violation.warn ? "warn " : "", kLimits[static_cast<size_t>(violation.limit)],
                      " budget ", AnyOf(violation.budgets), " rule ", AnyOf(violation.rules),
                      " profile ", violation.profile, " level ", violation.level, " signal ",
                      violation.signal, " observed ", Exact(violation.observed), " limit ",
                      Exact(violation.limit_value), " retry ",
                      violation.retry_after.has_value() ? Exact(*violation.retry_after) : "any",
                      violation.may_be_missing ? " (or none)" : "");
}

bool Agrees(const ExpectedViolation& expected, const Violation& actual) {
  return expected.limit == actual.limit && expected.warn == actual.warn &&
         expected.budgets.contains(actual.budget) && expected.rules.contains(actual.rule) &&
         expected.profile == actual.profile && expected.level == actual.level &&
         expected.signal == actual.signal && expected.observed == actual.observed &&
         expected.limit_value == actual.limit_value && actual.retry_after > absl::ZeroDuration() &&
         (!expected.retry_after.has_value() || *expected.retry_after == actual.retry_after);
}

// Budgets that share a shut gate may each name it, or one for all.
bool AreViolationsRight(const ExpectedAnswer& expected, const engine::CheckAnswer& actual) {
  std::vector<bool> seen(expected.violations.size());
  for (const Violation& violation : actual.violations) {
    size_t at = 0;
    while (at < seen.size() && !Agrees(expected.violations[at], violation)) ++at;
    if (at == seen.size()) return false;
    if (seen[at] && violation.limit != Limit::kHealth) return false;
    seen[at] = true;
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i] && !expected.violations[i].may_be_missing) return false;
  }
  return true;
}

// The answer's wait is the longest of the limits that denied.
absl::Duration LongestWait(const engine::CheckAnswer& answer) {
  absl::Duration longest = absl::ZeroDuration();
  if (answer.verdict == engine::Verdict::kAllowed) return longest;
  for (const Violation& violation : answer.violations) {
    if (!violation.warn) longest = std::max(longest, violation.retry_after);
  }
  return longest;
}

bool IsHealthRight(const ExpectedAnswer& expected, const engine::HealthView& actual) {
  if (!expected.slowest_profiles.contains(actual.profile)) return false;
  return actual.profile == engine::kNoRule || expected.speed == actual.health.speed;
}

std::string Differing(std::string_view what, const std::string& expected,
                      const std::string& actual) {
  return absl::StrCat("  ", Sv(what), "\n    model:  ", expected, "\n    engine: ", actual, "\n");
}

std::string Describe(const engine::BucketView& view) {
  const auto maybe = [](const auto& value) {
    return value.has_value() ? Exact(static_cast<double>(*value)) : "none";
  };
  return absl::StrCat("budget ", view.budget, " rule ", view.rule, " level ", view.level, " '",
                      view.bucket, "' cost ", Exact(view.cost), " debt ", Exact(view.debt),
                      " burst ", maybe(view.burst), " rate ", maybe(view.rate), " permits ",
                      view.outstanding, " speed ", Exact(view.speed), " room in ",
                      Exact(view.room_in), view.ask_again ? " (ask again)" : "", " most permits ",
                      maybe(view.max_concurrency), " most cost ", maybe(view.max_cost));
}

std::string Describe(const ExpectedBucket& bucket) {
  const auto maybe = [](const std::optional<double>& value) {
    return value.has_value() ? Exact(*value) : "none";
  };
  return absl::StrCat("budget ", bucket.budget, " rule ", AnyOf(bucket.rules), " level ",
                      bucket.level, " '", bucket.shown, "' cost ", Exact(bucket.cost), " debt ",
                      Exact(bucket.debt), " burst ", maybe(bucket.burst), " rate ",
                      maybe(bucket.rate), " permits ", bucket.outstanding, "+", bucket.overdue,
                      " speed ", Exact(bucket.speed), " room in ", Exact(bucket.room_in),
                      bucket.ask_again ? " (ask again)" : "");
}

// A permit past its time may still be counted where there is room: nobody looks before there is
// none.
bool Agrees(const ExpectedBucket& expected, const engine::BucketView& actual) {
  return expected.budget == actual.budget && expected.rules.contains(actual.rule) &&
         expected.level == actual.level && expected.shown == actual.bucket &&
         expected.cost == actual.cost && expected.debt == actual.debt &&
         expected.burst == actual.burst && expected.rate == actual.rate &&
         expected.speed == actual.speed && expected.room_in == actual.room_in &&
         expected.ask_again == actual.ask_again && actual.outstanding >= expected.outstanding &&
         actual.outstanding <= expected.outstanding + expected.overdue;
}

}  // namespace

std::string Describe(const engine::CheckAnswer& answer) {
  std::string text = absl::StrCat(
      answer.verdict == engine::Verdict::kAllowed ? "allowed" : "denied", ", reason ",
      kReasons[static_cast<size_t>(answer.reason)], ", priority ", answer.priority, ", predicted ",
      Exact(answer.predicted_cost), " and ", Busy(answer.predicted_busy_time),
      answer.probe ? ", a probe" : "", ", profile ", answer.health.profile, " at speed ",
      Exact(answer.health.health.speed), ", granted ", Exact(answer.grant.amount), " for ",
      Exact(answer.grant.time), ", then ", Exact(answer.grant.safe_rate), " a second, retry ",
      Exact(answer.retry_after));
  for (const Violation& violation : answer.violations) {
    absl::StrAppend(&text, "\n      ", Describe(violation));
  }
  return text;
}

std::string Describe(const ExpectedAnswer& answer) {
  std::string text = absl::StrCat(
      answer.verdict == engine::Verdict::kAllowed ? "allowed" : "denied", ", reason ",
      kReasons[static_cast<size_t>(answer.reason)], ", priority ", answer.priority, ", predicted ",
      Exact(answer.predicted_cost), " and ", Busy(answer.predicted_busy_time),
      answer.probe ? ", a probe" : "", ", profile ", AnyOf(answer.slowest_profiles), " at speed ",
      Exact(answer.speed), ", granted ", Exact(answer.granted), " for ", Exact(answer.lasts),
      ", then ", Exact(answer.safe_rate), " a second");
  for (const ExpectedViolation& violation : answer.violations) {
    absl::StrAppend(&text, "\n      ", Describe(violation));
  }
  return text;
}

std::string CompareAnswers(const Decision& expected, const absl::Status& status,
                           const engine::CheckAnswer& actual) {
  if (!expected.faults.empty() || !status.ok()) {
    if (expected.faults.contains(status.code())) return "";
    std::string faults;
    for (const absl::StatusCode code : expected.faults) {
      absl::StrAppend(&faults, absl::StatusCodeToString(code), " ");
    }
    return Differing("status", expected.faults.empty() ? Describe(expected.answer) : faults,
                     status.ToString());
  }
  const ExpectedAnswer& answer = expected.answer;
  std::string differs;
  if (answer.verdict != actual.verdict) differs += " verdict";
  if (answer.reason != actual.reason) differs += " reason";
  if (answer.priority != actual.priority) differs += " priority";
  if (!answer.any_budgets) {
    if (answer.predicted_cost != actual.predicted_cost) differs += " predicted_cost";
    if (answer.predicted_busy_time != actual.predicted_busy_time) differs += " predicted_busy_time";
  }
  if (answer.probe != static_cast<bool>(actual.probe)) differs += " probe";
  if (answer.chunk_scale != actual.chunk_scale) differs += " chunk_scale";
  if (expected.is_lease && answer.granted != actual.grant.amount) differs += " granted";
  if (expected.is_lease && expected.repeats == 0 && answer.lasts != actual.grant.time) {
    differs += " time of the lease";
  }
  // Sums of what is reserved are added up in another order.
  const double safe_error = std::abs(answer.safe_rate - actual.grant.safe_rate);
  if (expected.is_lease && safe_error > 1e-9 * std::max(answer.safe_rate, 1e-3)) {
    differs += " safe rate";
  }
  if (!AreViolationsRight(answer, actual)) differs += " violations";
  if (!IsHealthRight(answer, actual.health)) differs += " health";
  if (LongestWait(actual) != actual.retry_after) differs += " retry_after";
  if (expected.repeats != 0 && actual.permit != expected.repeats) differs += " permit";
  if (differs.empty()) return "";
  return Differing(absl::StrCat("answers differ in", differs), Describe(answer), Describe(actual));
}

std::string CompareExplanations(const Decision& expected, const engine::Explanation& actual) {
  std::string differs = CompareAnswers(expected, absl::OkStatus(), actual.answer);
  if (actual.answer.permit != 0) differs += "  an explanation has a permit\n";
  if (!std::equal(expected.rules.begin(), expected.rules.end(), actual.rules.begin(),
                  actual.rules.end())) {
    differs += Differing("rules", AnyOf(expected.rules), absl::StrJoin(actual.rules, "|"));
  }
  if (!expected.resumed_by.contains(actual.resumed_by) ||
      !std::equal(expected.lifted.begin(), expected.lifted.end(), actual.lifted.begin(),
                  actual.lifted.end())) {
    differs += Differing(
        "lifted", absl::StrCat(AnyOf(expected.lifted), " by ", AnyOf(expected.resumed_by)),
        absl::StrCat(absl::StrJoin(actual.lifted, "|"), " by ", actual.resumed_by));
  }
  if (expected.reject_ratio != actual.reject_ratio) differs += "  reject ratios differ\n";
  std::vector<engine::BucketView> views = actual.buckets;
  std::sort(views.begin(), views.end(),
            [](const auto& a, const auto& b) { return a.budget < b.budget; });
  std::vector<ExpectedBucket> buckets = expected.buckets;
  if (expected.answer.any_budgets && views.size() == engine::kMaxBudgetsPerCheck) {
    std::erase_if(buckets, [&](const ExpectedBucket& bucket) {
      return std::none_of(views.begin(), views.end(),
                          [&](const auto& view) { return view.budget == bucket.budget; });
    });
  }
  for (size_t i = 0; i < std::max(views.size(), buckets.size()); ++i) {
    const bool both = i < views.size() && i < buckets.size();
    if (both && Agrees(buckets[i], views[i])) continue;
    differs += Differing("buckets", i < buckets.size() ? Describe(buckets[i]) : "none",
                         i < views.size() ? Describe(views[i]) : "none");
  }
  return differs;
}

std::string Describe(const engine::Explanation& explanation) {
  std::string text =
      absl::StrCat(Describe(explanation.answer), " ratio ", explanation.reject_ratio, " rules ",
                   absl::StrJoin(explanation.rules, "|"), " lifted ",
                   absl::StrJoin(explanation.lifted, "|"), " by ", explanation.resumed_by);
  for (const engine::BucketView& view : explanation.buckets) {
    absl::StrAppend(&text, "\n      ", Describe(view));
  }
  return text;
}

std::string Describe(const engine::CheckRequest& request) {
  std::string text = absl::StrCat(
      "'", Sv(request.identity.substr(0, 40)), "' on '", Sv(request.target), "' cost ",
      request.estimated_cost.has_value() ? Exact(*request.estimated_cost) : std::string("absent"));
  for (const engine::Tag& tag : request.tags) {
    absl::StrAppend(&text, " ", Sv(tag.key), "=", Sv(tag.value.substr(0, 20)));
  }
  if (request.remote_address != nullptr) {
    absl::StrAppend(&text, " from ", request.remote_address->ToString());
  }
  if (!request.pattern.empty()) {
    absl::StrAppend(&text, " pattern ", Sv(request.pattern.substr(0, 10)));
  }
  if (!request.caller.empty()) absl::StrAppend(&text, " caller ", Sv(request.caller));
  if (!request.request_id.empty()) {
    absl::StrAppend(&text, " id ", Sv(request.request_id.substr(0, 10)));
  }
  return text;
}

}  // namespace headgate::model
