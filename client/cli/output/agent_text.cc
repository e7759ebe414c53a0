#include "client/cli/output/agent_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "common/strings.h"

namespace headgate::cli {
namespace {

constexpr int kMostShown = 4;
constexpr double kLeastWork = 0.05;  // s: below it shares say nothing

std::string Line(std::string_view indent, const std::string& text) {
  return absl::StrCat(Sv(indent), text, "\n");
}

// "3 sessions yield the processor (SCHED_IDLE): pid 4711 etl-1, pid 4712 etl-2 and 1 more".
std::string YieldingText(const v1::AgentState& state) {
  const int64_t count = state.yielding();
  std::string text = count == 0   ? "no session yields the processor now"
                     : count == 1 ? "1 session yields the processor"
                                  : absl::StrCat(count, " sessions yield the processor");
  absl::StrAppend(&text, " (", Escaped(state.means()), ")");
  std::vector<std::string> shown;
  for (const v1::AgentSession& session : state.yielding_sessions()) {
    if (shown.size() < kMostShown) shown.push_back(SessionText(session));
  }
  if (shown.empty()) return text;
  const int64_t more = count - static_cast<int64_t>(shown.size());
  absl::StrAppend(&text, ": ", absl::StrJoin(shown, ", "));
  if (more > 0) absl::StrAppend(&text, " and ", more, " more");
  return text;
}

// "of late at work: 64 % processor, 30 % disk, 6 % locks"; empty: they had nothing to do.
std::string WorkText(const v1::WorkSeconds& work) {
  std::vector<std::pair<double, std::string>> parts = {{work.processor(), "processor"},
                                                       {work.disk(), "disk"},
                                                       {work.locks(), "locks"},
                                                       {work.standbys(), "standbys"},
                                                       {work.other(), "other waits"}};
  double all = 0;
  for (const auto& [seconds, name] : parts) all += seconds;
  if (all < kLeastWork) return "";
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> shown;
  for (const auto& [seconds, name] : parts) {
    const double percent = std::round(100 * seconds / all);
    if (percent >= 1) shown.push_back(absl::StrCat(percent, " % ", name));
  }
  return absl::StrCat("of late at work: ", absl::StrJoin(shown, ", "));
}

}  // namespace

std::string SessionText(const v1::AgentSession& session) {
  std::string text = absl::StrCat("pid ", session.pid());
  if (!session.application_name().empty()) {
    absl::StrAppend(&text, " ", Escaped(session.application_name()));
  }
  if (!session.role().empty()) absl::StrAppend(&text, " (role ", Escaped(session.role()), ")");
  return text;
}

std::string RaisedForText(const v1::RaisedSession& raised) {
  return raised.has_waiter() ? absl::StrCat("for ", SessionText(raised.waiter()))
                             : "as it got next to no processor";
}

std::string AgentText(const v1::TargetStatus& target, Colours colours, std::string_view indent) {
  if (!target.has_agent()) return "";
  const v1::AgentState& state = target.agent().state();
  if (!state.yields()) {
    return Line(indent, absl::StrCat(Painted("batch work does not yield:", Paint::kWarn, colours),
                                     " ", Escaped(state.means())));
  }
  std::string text = Line(indent, YieldingText(state));
  const int shown = std::min(state.raised_sessions_size(), kMostShown);
  for (int i = 0; i < shown; ++i) {
    const v1::RaisedSession& raised = state.raised_sessions(i);
    text += Line(indent, absl::StrCat(Painted("raised:", Paint::kWarn, colours), " ",
                                      SessionText(raised.session()), ", ", RaisedForText(raised)));
  }
  if (state.raised() > shown) {
    text += Line(indent, absl::StrCat(Painted("raised:", Paint::kWarn, colours), " ",
                                      state.raised() - shown, " more"));
  }
  if (const std::string work = WorkText(state.recent_work()); !work.empty()) {
    text += Line(indent, work);
  }
  text +=
      Line(indent, absl::StrCat("yielding they have had ", ShortNumber(state.processor_seconds()),
                                " s of processor time; raised ", state.raises(), " times"));
  return text;
}

}  // namespace headgate::cli
