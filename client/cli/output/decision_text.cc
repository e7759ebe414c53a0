#include "client/cli/output/decision_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/value_text.h"

namespace headgate::cli {
namespace {

std::string RetryAfter(bool present, const google::protobuf::Duration& duration) {
  return present ? ShortDuration(FromProto(duration)) : "waiting will not help";
}

// With a limit of concurrency, or of permits, nobody knows when one comes back, so the text says
// so.
std::string RetryAfter(const v1::Decision& decision) {
  std::string text = RetryAfter(decision.has_retry_after(), decision.retry_after());
  for (const v1::Violation& violation : decision.violations()) {
    if (violation.warn() || !decision.has_retry_after()) continue;
    if (violation.limit_kind() == v1::LIMIT_KIND_MAX_CONCURRENCY ||
        violation.limit_kind() == v1::LIMIT_KIND_PERMITS) {
      return text + ", to ask again: room comes with the next Report";
    }
  }
  return text;
}

// Predictions are guesses: what is below a microsecond is 0.
std::string BusyTime(const google::protobuf::Duration& duration) {
  return ShortDuration(FromProto(duration));
}

// Of limits that are amounts of the budget; others count permits, or are a signal's.
std::string AmountOf(const v1::Violation& violation, double value) {
  const bool of_budget = violation.limit_kind() == v1::LIMIT_KIND_RATE ||
                         violation.limit_kind() == v1::LIMIT_KIND_BURST ||
                         violation.limit_kind() == v1::LIMIT_KIND_MAX_COST;
  return of_budget ? Amount(value, violation.unit()) : ShortNumber(value);
}

std::string OwedSince(const v1::Violation& violation, absl::TimeZone zone) {
  if (!violation.has_reported_debt()) return "";
  return Sentence(violation.reported_debt(), violation.unit(), zone);
}

bool OwesSinceAReport(const v1::Decision& decision) {
  return std::any_of(decision.violations().begin(), decision.violations().end(),
                     [](const v1::Violation& v) { return v.has_reported_debt(); });
}

Table Facts(const v1::Decision& decision) {
  Table facts({{""}, {""}});
  if (decision.has_permit_id()) facts.Add({{"permit"}, {absl::StrCat(decision.permit_id())}});
  facts.Add({{"predicted cost"}, {ShortNumber(decision.predicted_cost())}});
  if (decision.has_predicted_busy_time()) {
    facts.Add({{"predicted busy time"}, {BusyTime(decision.predicted_busy_time())}});
  }
  if (decision.probe()) {
    facts.Add(
        {{"probe"}, {"let through to be measured: report it, and later ones are predicted by it"}});
  }
  if (decision.has_waited()) {
    facts.Add({{"waited"}, {ShortDuration(FromProto(decision.waited()))}});
  }
  if (decision.verdict() == v1::VERDICT_DENIED) {
    facts.Add({{"retry after"}, {RetryAfter(decision)}});
  }
  if (decision.has_chunk_scale()) {
    facts.Add({{"next chunk"}, {absl::StrCat(ShortNumber(decision.chunk_scale()), " x as large")}});
  }
  if (decision.priority() != 0) facts.Add({{"priority"}, {absl::StrCat(decision.priority())}});
  if (decision.has_health()) {
    facts.Add({{"health"}, {Sentence(decision.health()), PaintOf(decision.health().condition())}});
  }
  facts.Add({{"message"}, {decision.message()}});
  return facts;
}

Table Violations(const v1::Decision& decision, absl::TimeZone zone) {
  constexpr char kTitles[] = "REFUSED BY,RULE,LIMIT,LEVEL,>OBSERVED,>AT MOST,SIGNAL,RETRY AFTER,";
  Table table(Titles(absl::StrCat(kTitles, OwesSinceAReport(decision) ? ",OWED SINCE" : ",")));
  for (const v1::Violation& violation : decision.violations()) {
    table.Add({{violation.budget()},
               {violation.rule()},
               {Word(violation.limit_kind())},
               {violation.level()},
               {AmountOf(violation, violation.observed())},
               {AmountOf(violation, violation.limit())},
               {violation.signal()},
               {RetryAfter(violation.has_retry_after(), violation.retry_after())},
               {violation.warn() ? "only a warning" : "", Paint::kWarn},
               {OwedSince(violation, zone), Paint::kWarn}});
  }
  return table;
}

std::string ViolationsField(const v1::Decision& decision) {
  std::string field;
  for (const v1::Violation& violation : decision.violations()) {
    absl::StrAppend(&field, field.empty() ? "" : ";",
                    violation.budget().empty() ? violation.rule() : violation.budget(), "/",
                    Word(violation.limit_kind()), violation.warn() ? " (warn)" : "");
  }
  return field;
}

}  // namespace

std::string DecisionText(const v1::Decision& decision, absl::TimeZone zone, Colours colours,
                         const std::string& qualified) {
  const Paint paint = PaintOf(decision.verdict());
  std::string text = Painted(Word(decision.verdict()), paint, colours);
  const std::string reason = Word(decision.reason());
  absl::StrAppend(&text, reason.empty() ? "" : absl::StrCat(" by ", reason), qualified, "\n",
                  Facts(decision).Text(colours, "  "));
  const Table violations = Violations(decision, zone);
  if (!violations.empty()) absl::StrAppend(&text, "\n", violations.Text(colours));
  return text;
}

Table DecisionCsv(const v1::Decision& decision) {
  Table table(
      Titles("verdict,reason,permit_id,predicted_cost,retry_after_s,priority,chunk_scale,"
             "violations,health_profile,health_state,health_speed,health_pressure,health_signal,"
             "sample_age_s,message,predicted_busy_time_s,probe,owed_since,owed_report,owed_for_s,"
             "waited_s"));
  const bool health = decision.has_health();
  const v1::Health& h = decision.health();
  const auto owes = std::find_if(decision.violations().begin(), decision.violations().end(),
                                 [](const v1::Violation& v) { return v.has_reported_debt(); });
  const bool owed = owes != decision.violations().end();
  const v1::ReportedDebt& debt =
      owed ? owes->reported_debt() : v1::ReportedDebt::default_instance();
  table.Add({{Word(decision.verdict())},
             {Word(decision.reason())},
             {decision.has_permit_id() ? absl::StrCat(decision.permit_id()) : ""},
             {ExactNumber(decision.predicted_cost())},
             {Seconds(decision.has_retry_after(), decision.retry_after())},
             {absl::StrCat(decision.priority())},
             {decision.has_chunk_scale() ? ExactNumber(decision.chunk_scale()) : ""},
             {ViolationsField(decision)},
             {h.profile()},
             {health ? Word(h.state()) : ""},
             {health ? ExactNumber(h.speed()) : ""},
             {health ? ExactNumber(h.pressure()) : ""},
             {h.signal()},
             {Seconds(h.has_sample_age(), h.sample_age())},
             {decision.message()},
             {Seconds(decision.has_predicted_busy_time(), decision.predicted_busy_time())},
             {decision.probe() ? "true" : "false"},
             {Rfc3339(owed, debt.reported_at())},
             {owed ? ExactNumber(debt.reported()) : ""},
             {Seconds(owed, debt.owed_for())},
             {Seconds(decision.has_waited(), decision.waited())}});
  return table;
}

}  // namespace headgate::cli
