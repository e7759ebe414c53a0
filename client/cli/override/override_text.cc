#include "client/cli/override/override_text.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "common/share_text.h"

namespace headgate::cli {
namespace {

std::string KindText(v1::OverrideKind kind) {
  return v1::OverrideKind_Name(kind).substr(std::strlen("OVERRIDE_KIND_"));
}

std::string KindText(v1::OverrideEventKind kind) {
  return v1::OverrideEventKind_Name(kind).substr(std::strlen("OVERRIDE_EVENT_KIND_"));
}

bool Throttles(const v1::Override& override) {
  return override.kind() == v1::OVERRIDE_KIND_THROTTLE;
}

std::string What(const v1::Override& override) {
  return absl::StrCat(KindText(override.kind()), Throttles(override) ? " " : "",
                      Throttles(override) ? ShareText(override.ratio()) : "");
}

std::string ExpiryText(const v1::Override& override) {
  return override.has_expires_at() ? LocalTimeText(FromProto(override.expires_at())) : "never";
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
std::string UntilText(const v1::Override& override) {
  return override.has_expires_at() ? absl::StrCat("until ", ExpiryText(override))
                                   : "until it is deleted";
}

// "paused", "throttled by 80 %", ...
std::string DoneText(const v1::Override& override) {
  switch (override.kind()) {
    case v1::OVERRIDE_KIND_PAUSE:
      return "paused";
    case v1::OVERRIDE_KIND_THROTTLE:
      return absl::StrCat("throttled by ", ShareText(override.ratio()));
    case v1::OVERRIDE_KIND_EXEMPT:
      return "exempted";
    default:
      return "resumed";
  }
}

bool IsStop(const v1::Override& override) {
  return override.selector().everything() &&
         (override.kind() == v1::OVERRIDE_KIND_PAUSE || Throttles(override));
}

}  // namespace

std::string SelectorText(const v1::Selector& selector) {
  if (selector.everything()) {
    return absl::StrCat("everything", selector.target().empty() ? "" : " on ", selector.target());
  }
  return absl::StrCat(selector.has_segment() ? "segment " : "",
                      selector.has_segment() ? selector.segment() : selector.identity(),
                      selector.target().empty() ? "" : " on ", selector.target());
}

std::string Mention(const v1::Override& override) {
  return absl::StrCat("override ", override.id(), " on ", SelectorText(override.selector()), " (",
                      DoneText(override), " by ", override.actor(), ": ", override.reason(), ")");
}

std::string ChangesText(const v1::ListOverridesResponse& overrides, Change change) {
  std::string text;
  for (const v1::Override& override : overrides.overrides()) {
    const std::string line =
        change == Change::kEnded
            ? absl::StrCat("ended ", Mention(override))
            : absl::StrCat("override ", override.id(), ": ", DoneText(override), " ",
                           SelectorText(override.selector()), " ", UntilText(override));
    absl::StrAppend(&text, Escaped(line), "\n");
  }
  return text;
}

std::string StopText(const v1::CreateOverrideResponse& made) {
  const v1::Override& override = made.override();
  if (!IsStop(override)) return "";
  const std::string& target = override.selector().target();
  std::string text = "not stopped: what was let in before, until it asks again; ";
  if (made.exempt_rule_count() == 0) {
    absl::StrAppend(&text, "no rule exempts anybody");
  } else {
    absl::StrAppend(&text, "whom ", made.exempt_rule_count(),
                    made.exempt_rule_count() == 1 ? " rule exempts: " : " rules exempt: ",
                    absl::StrJoin(made.exempt_rules(), "; "),
                    made.exempt_rule_count() > made.exempt_rules_size() ? "; ..." : "");
  }
  return absl::StrCat(Escaped(text), "\n", "to end it: headgate resume --everything",
                      target.empty() ? "" : " --target ", Escaped(target),
                      " --reason 'what has changed'\n");
}

std::string NotReachedText(const google::protobuf::RepeatedPtrField<std::string>& servers) {
  if (servers.empty()) return "";
  return absl::StrCat("not reached: ", Escaped(absl::StrJoin(servers, ", ")),
                      "; it follows within a second of when it has the store again, and decides "
                      "for nothing without it\n");
}

Table OverridesTable(const v1::ListOverridesResponse& overrides) {
  Table table(Titles(">ID,WHAT,WHOM,UNTIL,BY,REASON,MADE"));
  for (const v1::Override& override : overrides.overrides()) {
    table.Add({{absl::StrCat(override.id())},
               {What(override)},
               {SelectorText(override.selector()), IsStop(override) ? Paint::kBad : Paint::kPlain},
               {ExpiryText(override)},
               {override.actor()},
               {override.reason()},
               {LocalTimeText(FromProto(override.created_at()))}});
  }
  return table;
}

Table OverridesCsv(const v1::ListOverridesResponse& overrides) {
  Table table(Titles(kTitles));
  for (const v1::Override& override : overrides.overrides()) table.Add(CsvCells(override));
  return table;
}

Table EventsTable(const v1::ListOverrideEventsResponse& events) {
  Table table(Titles("WHEN,EVENT,>ID,WHAT,WHOM,BY,REASON"));
  for (const v1::OverrideEvent& event : events.events()) {
    const bool of_override = event.has_override();
    table.Add({{LocalTimeText(FromProto(event.happened_at()))},
               {KindText(event.kind())},
               {of_override ? absl::StrCat(event.override().id()) : ""},
               {of_override ? What(event.override()) : event.change()},
               {of_override ? SelectorText(event.override().selector()) : ""},
               {event.actor()},
               {event.reason()}});
  }
  return table;
}

Table EventsCsv(const v1::ListOverrideEventsResponse& events) {
  Table table(Titles(absl::StrCat("event,happened_at,what,by,why,", kTitles, ",change")));
  for (const v1::OverrideEvent& event : events.events()) {
    std::vector<Cell> row = {{absl::StrCat(event.id())},
                             {Rfc3339(event.has_happened_at(), event.happened_at())},
                             {KindText(event.kind())},
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
