#include "client/cli/output/proto_text.h"

#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "client/cli/output/zone_text.h"
#include "common/waited_checks.h"

namespace headgate::cli {
namespace {

// A value that this build does not know has no name.
std::string Short(const std::string& name, std::string_view prefix, int value) {
  if (name.empty()) return absl::StrCat(value);
  return name.substr(name.starts_with(prefix) ? prefix.size() : 0);
}

}  // namespace

absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

absl::Time FromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

void SetTimestamp(absl::Time time, google::protobuf::Timestamp& to) {
  absl::Duration rest;
  to.set_seconds(absl::IDivDuration(time - absl::UnixEpoch(), absl::Seconds(1), &rest));
  to.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
}

void SetDuration(absl::Duration duration, google::protobuf::Duration& to) {
  absl::Duration rest;
  to.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  to.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
}

std::string Word(v1::Verdict verdict) {
  return Short(v1::Verdict_Name(verdict), "VERDICT_", verdict);
}

std::string Word(v1::Reason reason) {
  if (reason == v1::REASON_UNSPECIFIED) return "";
  return Short(v1::Reason_Name(reason), "REASON_", reason);
}

std::string Word(v1::HealthState state) {
  return Short(v1::HealthState_Name(state), "HEALTH_STATE_", state);
}

std::string Word(v1::ReportOutcome outcome) {
  return Short(v1::ReportOutcome_Name(outcome), "REPORT_OUTCOME_", outcome);
}

std::string Word(v1::Outcome outcome) {
  if (outcome == v1::OUTCOME_UNSPECIFIED) return "";
  return Short(v1::Outcome_Name(outcome), "OUTCOME_", outcome);
}

std::string Word(v1::LimitKind kind) {
  std::string word = absl::AsciiStrToLower(Short(v1::LimitKind_Name(kind), "LIMIT_KIND_", kind));
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

Paint PaintOf(v1::Verdict verdict) {
  return verdict == v1::VERDICT_ALLOWED ? Paint::kGood : Paint::kBad;
}

Paint PaintOf(v1::ConditionKind condition) {
  switch (condition) {
    case v1::CONDITION_KIND_HEALTHY:
    case v1::CONDITION_KIND_UNMEASURED:
      return Paint::kGood;
    case v1::CONDITION_KIND_SHUT:
      return Paint::kBad;
    default:
      return Paint::kWarn;
  }
}

std::string Word(v1::ConditionKind condition) {
  std::string word = Short(v1::ConditionKind_Name(condition), "CONDITION_KIND_", condition);
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

std::string ConditionText(const v1::Condition& condition, Colours colours) {
  const std::string since =
      condition.has_since() ? absl::StrCat(", for ", ShortDuration(FromProto(condition.since())))
                            : "";
  return absl::StrCat(Painted(Word(condition.kind()), PaintOf(condition.kind()), colours), ": ",
                      Escaped(condition.message()), since);
}

Paint PaintOfShare(double share) {
  if (share <= 0) return Paint::kGood;
  return share < 0.5 ? Paint::kWarn : Paint::kBad;
}

Paint PaintOfDenied(int64_t denied, int64_t whole) {
  return PaintOfShare(whole == 0 ? 0 : static_cast<double>(denied) / static_cast<double>(whole));
}

std::string Sentence(const v1::Health& health) {
  std::string text =
      absl::StrCat(health.profile(), ": ", Word(health.condition()), ", speed ",
                   ShortNumber(health.speed()), ", pressure ", ShortNumber(health.pressure()));
  if (!health.signal().empty()) absl::StrAppend(&text, " (", health.signal(), ")");
  absl::StrAppend(
      &text, health.has_sample_age()
                 ? absl::StrCat(", sampled ", ShortDuration(FromProto(health.sample_age())), " ago")
                 : ", never sampled");
  return text;
}

std::string Amount(double value, v1::BudgetUnit unit) {
  return absl::StrCat(ShortNumber(value), unit == v1::BUDGET_UNIT_BUSY_TIME ? " s" : "");
}

std::string Word(v1::BudgetUnit unit) {
  if (unit == v1::BUDGET_UNIT_UNSPECIFIED) return "";
  return Short(v1::BudgetUnit_Name(unit), "BUDGET_UNIT_", unit);
}

std::string Sentence(const v1::ReportedDebt& debt, v1::BudgetUnit unit, absl::TimeZone zone) {
  return absl::StrCat(ZonedTimeText(FromProto(debt.reported_at()), zone), ", a Report of ",
                      Amount(debt.reported(), unit), ", for ",
                      ShortDuration(FromProto(debt.owed_for())));
}

int64_t Checks(const v1::LogSum& sum) {
  return sum.allowed() + sum.would_be_denied() + sum.denied();
}

int64_t ChecksThatWaited(const v1::Waiting& waiting) {
  return WaitedChecks({.began = waiting.began(),
                       .ended = waiting.admitted() + waiting.denied() + waiting.left(),
                       .waited_ns = absl::ToInt64Nanoseconds(FromProto(waiting.waited())),
                       .longest_ns = absl::ToInt64Nanoseconds(FromProto(waiting.longest()))});
}

std::string Seconds(bool present, const google::protobuf::Duration& duration) {
  return present ? ExactNumber(absl::ToDoubleSeconds(FromProto(duration))) : "";
}

std::string Rfc3339(bool present, const google::protobuf::Timestamp& time) {
  return present ? absl::FormatTime(absl::RFC3339_full, FromProto(time), absl::UTCTimeZone()) : "";
}

}  // namespace headgate::cli
