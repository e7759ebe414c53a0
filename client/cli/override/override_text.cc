#include "client/cli/override/override_text.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/override_words.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "client/cli/output/zone_text.h"

namespace headgate::cli {
namespace {

std::string EventText(v1::OverrideEventKind kind) {
  return v1::OverrideEventKind_Name(kind).substr(std::strlen("OVERRIDE_EVENT_KIND_"));
}

constexpr char kTitles[] =
    "id,kind,identity,segment,target,ratio,actor,reason,created_at,expires_at,everything";

std::vector<Cell> CsvCells(const v1::Override& override) {
  const v1::Selector& selector = override.selector();
  return {{absl::StrCat(override.id())},
          {KindText(override.kind())},
          {selector.identity()},
          {selector.segment()},
          {selector.target()},
          {Throttles(override) ? ExactNumber(override.ratio()) : ""},
          {override.actor()},
          {override.reason()},
          {Rfc3339(override.has_created_at(), override.created_at())},
          {Rfc3339(override.has_expires_at(), override.expires_at())},
          {selector.everything() ? "true" : "false"}};
}

// "until 2026-01-01 02:00:00 UTC", "until it is deleted".
std::string UntilText(const v1::Override& override, absl::TimeZone zone) {
  if (!override.has_expires_at()) return "until it is deleted";
  return absl::StrCat("until ", ZonedTimeText(FromProto(override.expires_at()), zone));
}

// Whom an emergency stop does not stop, in a line. Empty: it is no stop.
std::string StopText(const v1::CreateOverrideResponse& made) {
  const v1::Override& override = made.override();
  if (!IsStop(override)) return "";
  std::string text = "not stopped: what was let in before, until it asks again; ";
  if (made.exempt_rule_count() == 0) {
    absl::StrAppend(&text, "no rule exempts anybody");
  } else {
    absl::StrAppend(&text, "whom ", made.exempt_rule_count(),
                    made.exempt_rule_count() == 1 ? " rule exempts: " : " rules exempt: ",
                    absl::StrJoin(made.exempt_rules(), "; "),
                    made.exempt_rule_count() > made.exempt_rules_size() ? "; ..." : "");
  }
  return absl::StrCat(Escaped(text), "\n");
}

}  // namespace

std::string EndedText(const v1::ListOverridesResponse& overrides) {
  std::string text;
  for (const v1::Override& override : overrides.overrides()) {
    absl::StrAppend(&text, Escaped(absl::StrCat("ended ", Mention(override))), "\n");
  }
  return text;
}

std::string MadeText(const v1::CreateOverrideResponse& made, absl::TimeZone zone,
                     const std::string& connection) {
  const v1::Override& override = made.override();
  return absl::StrCat(
      Escaped(absl::StrCat("override ", override.id(), ": ", DoneText(override), " ",
                           SelectorText(override.selector()), " ", UntilText(override, zone))),
      "\n", StopText(made), "to end it: ", Escaped(UndoText(override, connection)), "\n");
}

std::string NotReachedText(const google::protobuf::RepeatedPtrField<std::string>& servers) {
  if (servers.empty()) return "";
  return absl::StrCat("not reached: ", Escaped(absl::StrJoin(servers, ", ")),
                      "; it follows within a second of when it has the store again, and decides "
                      "for nothing without it\n");
}

std::string OverridesText(const v1::ListOverridesResponse& overrides, absl::TimeZone zone,
                          Colours colours) {
  Table table(Titles(">ID,WHAT,WHOM,UNTIL,BY,REASON,MADE"));
  std::vector<absl::Time> times;
  for (const v1::Override& override : overrides.overrides()) {
    table.Add(
        {{absl::StrCat(override.id())},
         {What(override)},
         {SelectorText(override.selector()), IsStop(override) ? Paint::kBad : Paint::kPlain},
         {override.has_expires_at() ? TimeText(FromProto(override.expires_at()), zone) : "never"},
         {override.actor()},
         {override.reason()},
         {TimeText(FromProto(override.created_at()), zone)}});
    times.push_back(FromProto(override.created_at()));
    if (override.has_expires_at()) times.push_back(FromProto(override.expires_at()));
  }
  return TimesAre(zone, times) + table.Text(colours);
}

Table OverridesCsv(const v1::ListOverridesResponse& overrides) {
  Table table(Titles(kTitles));
  for (const v1::Override& override : overrides.overrides()) table.Add(CsvCells(override));
  return table;
}

std::string EventsText(const v1::ListOverrideEventsResponse& events, absl::TimeZone zone,
                       Colours colours) {
  Table table(Titles("WHEN,EVENT,>ID,WHAT,WHOM,BY,REASON"));
  std::vector<absl::Time> times;
  for (const v1::OverrideEvent& event : events.events()) {
    const bool of_override = event.has_override();
    times.push_back(FromProto(event.happened_at()));
    table.Add({{TimeText(times.back(), zone)},
               {EventText(event.kind())},
               {of_override ? absl::StrCat(event.override().id()) : ""},
               {of_override ? What(event.override()) : event.change()},
               {of_override ? SelectorText(event.override().selector()) : ""},
               {event.actor()},
               {event.reason()}});
  }
  return TimesAre(zone, times) + table.Text(colours);
}

Table EventsCsv(const v1::ListOverrideEventsResponse& events) {
  Table table(Titles(absl::StrCat("event,happened_at,what,by,why,", kTitles, ",change")));
  for (const v1::OverrideEvent& event : events.events()) {
    std::vector<Cell> row = {{absl::StrCat(event.id())},
                             {Rfc3339(event.has_happened_at(), event.happened_at())},
                             {EventText(event.kind())},
                             {event.actor()},
                             {event.reason()}};
    std::vector<Cell> cells = CsvCells(event.override());
    if (!event.has_override()) std::fill(cells.begin(), cells.end(), Cell());
    for (Cell& cell : cells) row.push_back(std::move(cell));
    row.push_back({event.change()});
    table.Add(std::move(row));
  }
  return table;
}

}  // namespace headgate::cli
