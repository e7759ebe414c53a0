#include "client/cli/replay/replay_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/arguments/log_filter.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/time_style.h"
#include "client/cli/output/value_text.h"

namespace headgate::cli {
namespace {

// A replay of the configuration in force shows how inexact a replay is: what differs from that is
// the other configuration's doing.
int64_t ChangeOf(const v1::ReplayedIdentity& replayed) {
  return replayed.denied_after() -
         (replayed.has_denied_in_force() ? replayed.denied_in_force() : replayed.denied_before());
}

// The numbers before and after may differ: Checks that cannot be decided again are left out.
int64_t ChecksBefore(const v1::ReplayedIdentity& replayed) {
  return replayed.allowed_before() + replayed.denied_before();
}
int64_t ChecksAfter(const v1::ReplayedIdentity& replayed) {
  return replayed.allowed_after() + replayed.denied_after();
}

std::string Denied(int64_t denied, int64_t checks) {
  if (checks == 0) return "no Check was";
  return absl::StrCat(denied, " of ", checks, " Checks (", Percent(denied, checks), ")");
}

std::string Summary(const v1::ReplayThrottleLogResponse& response, const std::string& file) {
  v1::ReplayedIdentity all;
  for (const v1::ReplayedIdentity& replayed : response.identities()) {
    all.set_allowed_before(all.allowed_before() + replayed.allowed_before());
    all.set_denied_before(all.denied_before() + replayed.denied_before());
    all.set_allowed_after(all.allowed_after() + replayed.allowed_after());
    all.set_denied_after(all.denied_after() + replayed.denied_after());
    all.set_allowed_cost_before(all.allowed_cost_before() + replayed.allowed_cost_before());
    all.set_allowed_cost_after(all.allowed_cost_after() + replayed.allowed_cost_after());
    if (!replayed.has_denied_in_force()) continue;
    all.set_allowed_in_force(all.allowed_in_force() + replayed.allowed_in_force());
    all.set_denied_in_force(all.denied_in_force() + replayed.denied_in_force());
    all.set_allowed_cost_in_force(all.allowed_cost_in_force() + replayed.allowed_cost_in_force());
  }
  if (ChecksBefore(all) == 0) return "no such Check is in the log.";
  if (all.has_denied_in_force()) {
    const int64_t checks = all.allowed_in_force() + all.denied_in_force();
    return absl::StrCat(Denied(all.denied_before(), ChecksBefore(all)),
                        " were denied. Replayed, the ", "configuration in force denies ",
                        all.denied_in_force(), " (", Percent(all.denied_in_force(), checks),
                        ") and ", file, " ", all.denied_after(), " (",
                        Percent(all.denied_after(), ChecksAfter(all)),
                        "). Cost allowed: ", ShortNumber(all.allowed_cost_before()),
                        "; replayed: ", ShortNumber(all.allowed_cost_in_force()), " and ",
                        ShortNumber(all.allowed_cost_after()), ".");
  }
  return absl::StrCat(Denied(all.denied_before(), ChecksBefore(all)), " were denied; with ", file,
                      " ", Denied(all.denied_after(), ChecksAfter(all)),
                      " would be. Cost allowed: ", ShortNumber(all.allowed_cost_before()),
                      "; with it: ", ShortNumber(all.allowed_cost_after()), ".");
}

Cell Share(int64_t denied, int64_t checks) {
  if (checks == 0) return {""};
  return {Percent(denied, checks), PaintOfDenied(denied, checks)};
}

Table ChangedTable(const v1::ReplayThrottleLogResponse& response, int lines) {
  bool targets = false;
  for (const v1::ReplayedIdentity& replayed : response.identities()) {
    targets = targets || replayed.target() != response.identities(0).target();
  }
  const bool baseline = response.identities(0).has_denied_in_force();
  Table table(Titles(absl::StrCat("WHO,>CHECKS,>DENIED,>,", baseline ? ">REPLAYED," : "",
                                  ">WOULD BE,>,>CHANGE,>COST ALLOWED,>WOULD BE,",
                                  targets ? "TARGET" : "")));
  for (int i = 0; i < lines; ++i) {
    const v1::ReplayedIdentity& replayed = response.identities(i);
    const int64_t change = ChangeOf(replayed);
    std::vector<Cell> row = {{replayed.identity()},
                             {absl::StrCat(ChecksBefore(replayed))},
                             {absl::StrCat(replayed.denied_before())},
                             Share(replayed.denied_before(), ChecksBefore(replayed))};
    if (baseline) row.push_back({absl::StrCat(replayed.denied_in_force())});
    for (Cell cell : std::vector<Cell>{
             {absl::StrCat(replayed.denied_after())},
             Share(replayed.denied_after(), ChecksAfter(replayed)),
             {absl::StrFormat("%+d", change), change > 0 ? Paint::kBad : Paint::kGood},
             {ShortNumber(replayed.allowed_cost_before())},
             {ShortNumber(replayed.allowed_cost_after())},
             {targets ? replayed.target() : ""}}) {
      row.push_back(std::move(cell));
    }
    table.Add(std::move(row));
  }
  return table;
}

}  // namespace

void SortByChange(v1::ReplayThrottleLogResponse& replayed) {
  std::stable_sort(replayed.mutable_identities()->begin(), replayed.mutable_identities()->end(),
                   [](const v1::ReplayedIdentity& a, const v1::ReplayedIdentity& b) {
                     return std::abs(ChangeOf(a)) > std::abs(ChangeOf(b));
                   });
}

std::string ReplayText(const v1::ReplayThrottleLogResponse& response,
                       const ReplayArguments& arguments, Colours colours) {
  std::string text = absl::StrCat(
      SpanText(FromProto(response.from()), FromProto(response.to()), ZoneOf(arguments.past)), ": ",
      Escaped(Summary(response, arguments.config)), "\n");
  const auto changed = static_cast<int>(
      std::count_if(response.identities().begin(), response.identities().end(),
                    [](const v1::ReplayedIdentity& replayed) { return ChangeOf(replayed) != 0; }));
  const int lines = std::min(changed, arguments.past.limit.value_or(changed));
  if (lines > 0) {
    absl::StrAppend(&text, "\n", ChangedTable(response, lines).Text(colours));
  }
  if (lines < changed) absl::StrAppend(&text, "and ", changed - lines, " more that change\n");
  const int unchanged = response.identities_size() - changed;
  if (unchanged > 0) {
    absl::StrAppend(&text, changed > 0 ? "" : "\n", unchanged,
                    unchanged == 1 ? " identity does not change\n" : " identities do not change\n");
  }
  if (!response.caveats().empty()) absl::StrAppend(&text, "\nwhat makes this inexact:\n");
  for (const std::string& caveat : response.caveats()) {
    absl::StrAppend(&text, "  - ", Escaped(caveat), "\n");
  }
  return text;
}

Table ReplayCsv(const v1::ReplayThrottleLogResponse& response) {
  Table table(
      Titles("identity,target,allowed_before,denied_before,allowed_after,denied_after,allowed_cost_"
             "before,allowed_cost_after,allowed_in_force,denied_in_force,allowed_cost_in_force"));
  for (const v1::ReplayedIdentity& replayed : response.identities()) {
    table.Add({{replayed.identity()},
               {replayed.target()},
               {absl::StrCat(replayed.allowed_before())},
               {absl::StrCat(replayed.denied_before())},
               {absl::StrCat(replayed.allowed_after())},
               {absl::StrCat(replayed.denied_after())},
               {ExactNumber(replayed.allowed_cost_before())},
               {ExactNumber(replayed.allowed_cost_after())},
               {replayed.has_allowed_in_force() ? absl::StrCat(replayed.allowed_in_force()) : ""},
               {replayed.has_denied_in_force() ? absl::StrCat(replayed.denied_in_force()) : ""},
               {replayed.has_allowed_cost_in_force() ? ExactNumber(replayed.allowed_cost_in_force())
                                                     : ""}});
  }
  return table;
}

}  // namespace headgate::cli
