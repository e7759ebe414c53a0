#include "server/serve/rpc/rule_text.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/share_text.h"
#include "server/decide/engine/schedule.h"

namespace headgate::rpc {
namespace {

constexpr std::array<const char*, 7> kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
constexpr unsigned kEveryDay = 0b1111111;

// "mon to fri", "sat", "mon, wed"; empty: every day.
std::string DaysText(unsigned days) {
  if (days == kEveryDay) return "";
  std::vector<std::string> parts;
  for (size_t first = 0; first < kDays.size(); ++first) {
    if ((days >> first & 1U) == 0) continue;
    size_t last = first;
    while (last + 1 < kDays.size() && (days >> (last + 1) & 1U) != 0) ++last;
    if (last < first + 2) last = first;
    parts.push_back(last == first ? kDays[first] : absl::StrCat(kDays[first], " to ", kDays[last]));
    first = last;
  }
  return absl::StrCat(absl::StrJoin(parts, ", "), " ");
}

std::string ScheduleText(const engine::ScheduleSpec& schedule) {
  const auto append = [](std::string* out, const engine::ScheduleWindow& window) {
    absl::StrAppendFormat(out, "%s%02d:%02d to %02d:%02d", DaysText(window.days),
                          window.start_minute / 60, window.start_minute % 60,
                          window.end_minute / 60, window.end_minute % 60);
  };
  return absl::StrCat(absl::StrJoin(schedule.windows, ", ", append), " ",
                      schedule.time_zone.empty() ? "UTC" : schedule.time_zone);
}

struct ActionWords {
  std::string operator()(const engine::ChargeAction& action) const {
    return absl::StrCat("charges ", absl::StrJoin(action.budgets, ", "));
  }
  std::string operator()(const engine::ExemptAction&) const { return "exempts"; }
  std::string operator()(const engine::DenyAction&) const { return "denies"; }
  std::string operator()(const engine::RejectAction& action) const {
    return absl::StrCat("rejects ", ShareText(action.ratio), " by chance");
  }
  std::string operator()(const engine::ResumeAction&) const { return "resumes"; }
  std::string operator()(const engine::HealthAction& action) const {
    return absl::StrCat("gates by health profile ", action.profile);
  }
  std::string operator()(const engine::PriorityAction& action) const {
    return absl::StrCat("sets priority ", action.priority);
  }
  std::string operator()(const engine::WeightAction& action) const {
    return absl::StrCat("weighs ", action.weight);
  }
};

}  // namespace

std::string MatchText(const engine::MatchSpec& match) {
  std::vector<std::string> parts;
  if (!match.identity.empty()) {
    parts.push_back(absl::StrCat(match.identity, " and what is below it"));
  }
  if (!match.segment.empty()) parts.push_back(absl::StrCat("with the segment ", match.segment));
  for (const auto& [key, value] : match.tags) {
    parts.push_back(absl::StrCat("tag ", key, " is ", value));
  }
  if (!match.remote_address.empty()) parts.push_back(absl::StrCat("from ", match.remote_address));
  if (!match.target.empty()) parts.push_back(absl::StrCat("on target ", match.target));
  if (match.schedule.has_value()) parts.push_back(ScheduleText(*match.schedule));
  return absl::StrJoin(parts, "; ");
}

std::string ActionText(const engine::ActionSpec& action) {
  return std::visit(ActionWords(), action);
}

}  // namespace headgate::rpc
