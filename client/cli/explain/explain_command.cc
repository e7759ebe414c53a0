// headgate explain: what a Check would answer now, and why.

#include <headgate/v1/throttler_service.grpc.pb.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments/check_request.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/connection/selector_use.h"
#include "client/cli/explain/explain_csv.h"
#include "client/cli/explain/job_text.h"
#include "client/cli/output/decision_text.h"
#include "client/cli/output/lease_text.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/table.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "client/cli/output/zone_text.h"
#include "common/share_text.h"
#include "common/system_clock.h"

namespace headgate::cli {
namespace {

std::string OrUnlimited(bool limited, double value, v1::BudgetUnit unit) {
  return limited ? Amount(value, unit) : "unlimited";
}

bool OwesSinceAReport(const v1::ExplainResponse& explanation) {
  return std::any_of(explanation.buckets().begin(), explanation.buckets().end(),
                     [](const v1::BucketState& bucket) { return bucket.has_reported_debt(); });
}

std::string Permits(const v1::BucketState& bucket) {
  if (!bucket.has_max_concurrency()) return "";
  return absl::StrCat(bucket.outstanding(), " of ", bucket.max_concurrency());
}

Cell RoomIn(const v1::BucketState& bucket) {
  if (!bucket.has_room_in()) return {"never", Paint::kBad};
  const absl::Duration room_in = FromProto(bucket.room_in());
  if (room_in <= absl::ZeroDuration()) return {"now", Paint::kGood};
  if (!bucket.ask_again()) return {ShortDuration(room_in), Paint::kWarn};
  const bool permits =
      bucket.has_max_concurrency() && bucket.outstanding() >= bucket.max_concurrency();
  return {permits ? "with the next Report"
                  : absl::StrCat("unknown: ask again in ", ShortDuration(room_in)),
          Paint::kWarn};
}

Table Buckets(const v1::ExplainResponse& explanation, absl::TimeZone zone) {
  constexpr char kTitles[] =
      "BUDGET,BUCKET,RULE,>COST,>DEBT,>BURST,>RATE/s,>SPEED,>MAX COST,>PERMITS,ROOM IN";
  Table table(Titles(absl::StrCat(kTitles, OwesSinceAReport(explanation) ? ",OWED SINCE" : ",")));
  for (const v1::BucketState& bucket : explanation.buckets()) {
    table.Add(
        {{bucket.budget()},
         {bucket.bucket()},
         {bucket.rule()},
         {Amount(bucket.cost(), bucket.unit())},
         {Amount(bucket.debt(), bucket.unit())},
         {OrUnlimited(bucket.has_burst(), bucket.burst(), bucket.unit())},
         {OrUnlimited(bucket.has_rate(), bucket.rate(), bucket.unit())},
         {ShortNumber(bucket.speed())},
         {bucket.has_max_cost() ? Amount(bucket.max_cost(), bucket.unit()) : ""},
         {Permits(bucket)},
         RoomIn(bucket),
         {bucket.has_reported_debt() ? Sentence(bucket.reported_debt(), bucket.unit(), zone) : "",
          Paint::kWarn}});
  }
  return table;
}

// Where others wait already, and where this Check would stand.
Table Lines(const v1::ExplainResponse& explanation) {
  Table table(
      Titles("OTHERS WAIT FOR,>WAITING,>LONGEST,>YOUR PLACE,>PRIORITY,>COST AHEAD,>YOUR TURN IN"));
  for (const v1::LineState& line : explanation.lines()) {
    table.Add(
        {{line.waits_for()},
         {absl::StrCat(line.waiting())},
         {ShortDuration(FromProto(line.longest_waited()))},
         {absl::StrCat(line.position())},
         {absl::StrCat(line.priority())},
         {line.unit() == v1::BUDGET_UNIT_UNSPECIFIED ? "" : Amount(line.cost_ahead(), line.unit())},
         {line.has_expected_turn() ? ShortDuration(FromProto(line.expected_turn())) : "unknown"}});
  }
  return table;
}

Cell Effect(const v1::MatchedRule& rule) {
  if (rule.effect() == v1::RULE_EFFECT_APPLIED) return {"applies", Paint::kGood};
  return {absl::StrCat("overruled by '", rule.overruled_by(), "': ", rule.overruled_because()),
          Paint::kDim};
}

Table Rules(const v1::ExplainResponse& explanation, absl::TimeZone zone) {
  Table table(Titles("RULE,WHAT IT DOES,EXPIRES,WHAT CAME OF IT"));
  for (const v1::MatchedRule& rule : explanation.matched_rules()) {
    table.Add(
        {{rule.name()},
         {rule.action()},
         {rule.has_expires_at() ? ZonedTimeText(FromProto(rule.expires_at()), zone) : "never"},
         Effect(rule)});
  }
  return table;
}

// What chance may make of it, for the headline.
std::string ByChance(const v1::ExplainResponse& explanation) {
  const bool allowed = explanation.decision().verdict() == v1::VERDICT_ALLOWED;
  if (!allowed || !(explanation.reject_ratio() > 0)) return "";
  return absl::StrCat(", but ", ShareText(explanation.reject_ratio()),
                      " of such Checks are rejected by chance");
}

std::string ExplanationText(const v1::ExplainResponse& explanation, absl::TimeZone zone,
                            Colours colours) {
  std::string text = DecisionText(explanation.decision(), zone, colours, ByChance(explanation));
  const Table rules = Rules(explanation, zone);
  absl::StrAppend(&text, "\n", rules.empty() ? "no rule matches\n" : rules.Text(colours));
  if (explanation.reject_ratio() > 0) {
    absl::StrAppend(&text, "rejected by chance: ", ShareText(explanation.reject_ratio()),
                    " of Checks\n");
  }
  if (explanation.buckets().empty()) {
    absl::StrAppend(&text, "it would be charged to no budget\n");
  } else {
    absl::StrAppend(&text, "\n", Buckets(explanation, zone).Text(colours));
  }
  for (const v1::BucketState& bucket : explanation.buckets()) {
    if (bucket.found().empty()) continue;
    absl::StrAppend(&text, "the rate of budget ", Escaped(bucket.budget()),
                    " is found: ", Escaped(bucket.found()), "\n");
  }
  absl::StrAppend(&text, LeasesText(explanation, colours));
  const Table lines = Lines(explanation);
  if (!lines.empty()) absl::StrAppend(&text, "\n", lines.Text(colours));
  if (!explanation.to_be_allowed().empty()) absl::StrAppend(&text, "\nto be allowed:\n");
  for (const std::string& sentence : explanation.to_be_allowed()) {
    absl::StrAppend(&text, "  - ", Escaped(sentence), "\n");
  }
  return text;
}

// Of a mistyped identity there is an answer too, and a friendly one.
void TellOfNearest(Connection& connection, const v1::CheckRequest& check, const Console& console) {
  v1::Selector selector;
  selector.set_identity(check.identity());
  selector.set_target(check.target());
  const SelectorUse use = FindUse(connection, selector, {.now = SystemClock::ReadKernel().wall()});
  if (!use.nearest.empty()) console.Complain(use.Sentence());
}

}  // namespace

int RunExplain(const Globals& globals, const ExplainArguments& arguments, const Console& console) {
  v1::ExplainRequest request;
  *request.mutable_check() = ToProto(globals, arguments.work);
  Connection connection(globals);
  const absl::StatusOr<v1::ExplainResponse> explanation =
      connection.Call(&v1::ThrottlerService::Stub::Explain, request);
  if (!explanation.ok()) return ToInt(console.Fail(explanation.status()));
  const absl::Time now = SystemClock::ReadKernel().wall();
  const auto text = [&] {
    const auto last_hour = FetchLastHour(connection, request.check(), now);
    return absl::StrCat(ExplanationText(*explanation, console.zone, console.colours),
                        JobText({*explanation, request.check(), last_hour, now}, console.colours));
  };
  console.Print(*explanation, text, [&] { return ExplanationCsv(*explanation); });
  if (console.format == Format::kTable) TellOfNearest(connection, request.check(), console);
  const bool allowed = explanation->decision().verdict() == v1::VERDICT_ALLOWED;
  return ToInt(allowed ? ExitStatus::kOk : ExitStatus::kDenied);
}

}  // namespace headgate::cli
