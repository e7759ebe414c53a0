#include "client/cli/override/override_text.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"

namespace headgate::cli {
namespace {

std::string RatioText(double ratio) { return absl::StrCat(ShortNumber(100 * ratio), " %"); }

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
                      Throttles(override) ? RatioText(override.ratio()) : "");
}

std::string ExpiryText(const v1::Override& override) {
  return override.has_expires_at() ? LocalTimeText(FromProto(override.expires_at())) : "never";
}

constexpr char kTitles[] =
    "id,kind,identity,segment,target,ratio,actor,reason,created_at,expires_at";

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
          {Rfc3339(override.has_expires_at(), override.expires_at())}};
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
      return absl::StrCat("throttled by ", RatioText(override.ratio()));
    case v1::OVERRIDE_KIND_EXEMPT:
      return "exempted";
    default:
      return "resumed";
  }
}

}  // namespace

std::string SelectorText(const v1::Selector& selector) {
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

Table OverridesTable(const v1::ListOverridesResponse& overrides) {
  Table table(Titles(">ID,WHAT,WHOM,UNTIL,BY,REASON,MADE"));
  for (const v1::Override& override : overrides.overrides()) {
    table.Add({{absl::StrCat(override.id())},
               {What(override)},
               {SelectorText(override.selector())},
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
    table.Add({{LocalTimeText(FromProto(event.happened_at()))},
               {KindText(event.kind())},
               {absl::StrCat(event.override().id())},
               {What(event.override())},
               {SelectorText(event.override().selector())},
               {event.actor()},
               {event.reason()}});
  }
  return table;
}

Table EventsCsv(const v1::ListOverrideEventsResponse& events) {
  Table table(Titles(absl::StrCat("event,happened_at,what,by,why,", kTitles)));
  for (const v1::OverrideEvent& event : events.events()) {
    std::vector<Cell> row = {{absl::StrCat(event.id())},
                             {Rfc3339(event.has_happened_at(), event.happened_at())},
                             {KindText(event.kind())},
                             {event.actor()},
                             {event.reason()}};
    for (Cell& cell : CsvCells(event.override())) row.push_back(std::move(cell));
    table.Add(std::move(row));
  }
  return table;
}

}  // namespace headgate::cli
