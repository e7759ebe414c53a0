#include "client/cli/top/held_back.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/output/lease_text.h"
#include "client/cli/output/line_text.h"
#include "client/cli/output/proto_text.h"

namespace headgate::cli {
namespace {

using Who = std::pair<std::string, std::string>;  // identity and target

// Of a sum, and of a cause in full.
template <typename Cause>
std::string CauseOf(const Cause& cause) {
  if (cause.reason() == v1::REASON_HEALTH) {
    return cause.signal().empty() ? "health" : cause.signal();
  }
  if (!cause.rule().empty() && cause.budget().empty()) return absl::StrCat("rule ", cause.rule());
  std::string text = absl::StrCat("budget ", cause.budget());
  if (cause.reason() == v1::REASON_MAX_COST) absl::StrAppend(&text, ": max cost");
  if (cause.reason() == v1::REASON_MAX_CONCURRENCY) absl::StrAppend(&text, ": permits");
  if (!cause.signal().empty()) absl::StrAppend(&text, ", slowed by ", cause.signal());
  return text;
}

void AddWaiters(const TopAnswers& answers, std::map<Who, HeldBack>& all) {
  for (const v1::LineStatus& line : answers.lines.lines()) {
    for (const v1::LineWaiter& waiter : line.next()) {
      HeldBack& held = all[{waiter.identity(), line.target()}];
      const absl::Duration waited = FromProto(waiter.waited());
      if (held.waiting == 0 || waited > held.longest) {
        held.longest = waited;
        held.by = WaitsFor(line);
      }
      ++held.waiting;
    }
  }
}

// What denied last leads: a pause that was made just now, not what denied most before it.
void AddDenied(const TopAnswers& answers, std::map<Who, HeldBack>& all) {
  std::map<Who, std::string> last;
  for (const v1::Denial& denial : answers.newest.denials()) {
    if (denial.outcome() != v1::OUTCOME_DENIED) continue;
    last.try_emplace({denial.identity(), denial.target()}, CauseOf(denial.cause()));
  }
  std::map<Who, int64_t> most;
  for (const v1::LogSum& sum : answers.denied.sums()) {
    if (sum.denied() == 0) continue;
    const Who who = {sum.identity(), sum.target()};
    HeldBack& held = all[who];
    held.denied += sum.denied();
    if (sum.denied() <= most[who]) continue;
    most[who] = sum.denied();
    const auto newest = last.find(who);
    if (held.waiting == 0) held.by = newest != last.end() ? newest->second : CauseOf(sum);
  }
  for (const v1::LogSum& sum : answers.checks.sums()) {
    const auto held = all.find({sum.identity(), sum.target()});
    if (held != all.end()) held->second.checks = Checks(sum);
  }
}

bool IsWorse(const HeldBack& a, const HeldBack& b, TopOrder order) {
  switch (order) {
    case TopOrder::kDenied:
      return std::tie(a.denied, a.longest) > std::tie(b.denied, b.longest);
    case TopOrder::kWaited:
      return std::tie(a.longest, a.denied) > std::tie(b.longest, b.denied);
    case TopOrder::kName:
      break;
  }
  return false;
}

}  // namespace

std::vector<HeldBack> WhoIsHeldBack(const TopAnswers& answers, TopOrder order) {
  std::map<Who, HeldBack> all;
  AddWaiters(answers, all);
  AddDenied(answers, all);
  for (const v1::LeaseHolder& holder : answers.leases.holders()) {
    const auto held = all.find({holder.identity(), holder.target()});
    if (held != all.end()) held->second.leases = HeldText(holder);
  }
  std::vector<HeldBack> sorted;
  for (auto& [who, held] : all) {
    std::tie(held.identity, held.target) = who;
    sorted.push_back(std::move(held));
  }
  // The map has sorted them by name.
  std::stable_sort(sorted.begin(), sorted.end(),
                   [order](const HeldBack& a, const HeldBack& b) { return IsWorse(a, b, order); });
  return sorted;
}

}  // namespace headgate::cli
