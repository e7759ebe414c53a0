#include "client/cli/top/top_lead.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/output/override_words.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "client/cli/output/zone_text.h"

namespace headgate::cli {
namespace {

std::string OnTarget(const std::string& target) {
  return target.empty() ? "" : absl::StrCat(" on ", target);
}

// "31 over hard 10" of the signal that binds; empty where that is not known.
std::string Reading(const v1::TargetStatus& target, const v1::Health& health) {
  for (const v1::SignalStatus& signal : target.signals()) {
    if (signal.name() != health.signal() || !signal.has_value()) continue;
    for (const v1::SignalThresholds& limits : signal.thresholds()) {
      if (limits.profile() != health.profile()) continue;
      const std::string value = std::isinf(signal.value()) ? "absent" : ShortNumber(signal.value());
      return absl::StrCat(", ", value, " over hard ", ShortNumber(limits.hard()));
    }
  }
  return "";
}

// What binds comes first: a narrow window cuts off the end.
std::string GateText(const v1::TargetStatus& target, const v1::Health& health) {
  std::string text = absl::StrCat("GATE SHUT", OnTarget(target.name()));
  if (!health.signal().empty()) {
    absl::StrAppend(&text, ": ", health.signal(), Reading(target, health));
  }
  const bool has_no_sample =
      health.state() == v1::HEALTH_STATE_STALE || health.state() == v1::HEALTH_STATE_WARMING;
  if (has_no_sample) {
    absl::StrAppend(
        &text, ": ", Word(health.state()),
        health.has_sample_age()
            ? absl::StrCat(", sampled ", ShortDuration(FromProto(health.sample_age())), " ago")
            : ", never sampled");
  }
  return absl::StrCat(text, " (profile ", health.profile(), ")");
}

// A shell takes a command of several lines. Options of connecting begin with two dashes.
std::vector<std::string> CommandLines(const std::string& command, size_t columns,
                                      const std::string& indent) {
  constexpr std::string_view kGoesOn = " \\";
  std::vector<std::string> lines = {indent};
  for (const auto part : absl::StrSplit(command, " --")) {
    const bool first = lines.size() == 1 && lines[0] == indent;
    const std::string next = absl::StrCat(first ? "" : " --", part);
    if (!first && DisplayWidth(lines.back()) + DisplayWidth(next) + kGoesOn.size() > columns) {
      lines.back() += kGoesOn;
      lines.push_back(indent + " ");
    }
    lines.back() += next;
  }
  return lines;
}

std::string InForceText(const v1::Override& override, const TopLook& look) {
  const std::string until =
      override.has_expires_at()
          ? absl::StrCat("until ", TimeText(FromProto(override.expires_at()), look.zone))
          : "until it is ended";
  return Escaped(absl::StrCat(What(override), " ", SelectorText(override.selector()), ", ", until,
                              ", by ", override.actor(), ": ", override.reason()));
}

bool IsShown(const v1::Override& override, const TopLook& look) {
  const std::string& target = override.selector().target();
  return look.target.empty() || target.empty() || target == look.target;
}

}  // namespace

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string> TroubleLines(const TopAnswers& answers, const TopLook& look) {
  std::vector<std::string> lines;
  const auto add = [&](Paint paint, const std::string& text) {
    lines.push_back(Painted(Escaped(text), paint, look.colours));
  };
  for (const v1::TargetStatus& target : answers.status.targets()) {
    for (const v1::Health& health : target.profiles()) {
      if (health.condition() == v1::CONDITION_KIND_SHUT) add(Paint::kBad, GateText(target, health));
    }
  }
  for (const v1::TargetStatus& target : answers.status.targets()) {
    for (const v1::ServerStatus& server : target.servers()) {
      if (server.reachable() || server.has_set_aside_until()) continue;
      add(Paint::kBad, absl::StrCat("UNREACHABLE: ", server.name(), OnTarget(target.name()),
                                    server.error().empty() ? "" : ": ", server.error()));
    }
  }
  for (const std::string& missing : answers.missing) {
    add(Paint::kWarn, absl::StrCat("not shown is ", missing));
  }
  return lines;
}

std::vector<std::string> HeldBackLines(const TopAnswers& answers, const TopLook& look) {
  const std::vector<HeldBack> all = WhoIsHeldBack(answers, look.order);
  const std::string since = absl::StrCat(absl::ToInt64Minutes(TopFetch::kRecent), " minutes");
  if (all.empty()) {
    return {absl::StrCat("nobody waits, and nobody was denied in the last ", since)};
  }
  bool targets = false, leases = false;
  for (const HeldBack& held : all) {
    targets = targets || held.target != all[0].target;
    leases = leases || !held.leases.empty();
  }
  Table table(Titles(absl::StrCat("HELD BACK,BY,>WAIT,>LONGEST,>DENIED,>OF", leases ? ",HOLDS" : "",
                                  targets ? ",TARGET" : "")));
  int64_t named = 0;
  for (const HeldBack& held : all) {
    named += held.waiting;
    std::vector<Cell> row = {
        {held.identity},
        {held.by},
        {held.waiting == 0 ? "" : absl::StrCat(held.waiting), Paint::kWarn},
        {held.waiting == 0 ? "" : ShortDuration(held.longest), Paint::kWarn},
        {held.denied == 0 ? "" : absl::StrCat(held.denied),
         PaintOfDenied(held.denied, held.checks)},
        {held.denied == 0 || held.checks == 0 ? "" : absl::StrCat(held.checks)}};
    if (leases) row.push_back({held.leases});
    if (targets) row.push_back({held.target});
    table.Add(std::move(row));
  }
  std::vector<std::string> lines = LinesOf(table.TextWithin(look.columns, look.colours));
  const int64_t others = answers.lines.waiting() - named;
  if (others > 0) lines.push_back(absl::StrCat("and ", others, " more wait"));
  return lines;
}

std::vector<std::string> InForceLines(const TopAnswers& answers, const TopLook& look) {
  std::vector<const v1::Override*> shown;
  for (const v1::Override& override : answers.overrides.overrides()) {
    if (IsShown(override, look)) shown.push_back(&override);
  }
  std::stable_partition(shown.begin(), shown.end(),
                        [](const v1::Override* override) { return IsStop(*override); });
  std::vector<std::string> lines;
  for (const v1::Override* override : shown) {
    const Paint paint = IsStop(*override) ? Paint::kBad : Paint::kWarn;
    lines.push_back(Painted(InForceText(*override, look), paint, look.colours));
    for (std::string& line :
         CommandLines(Escaped(UndoText(*override, look.connection)), look.columns, "  ")) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace headgate::cli
