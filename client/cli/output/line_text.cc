#include "client/cli/output/line_text.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/value_text.h"

namespace headgate::cli {
namespace {

std::string Who(const v1::LineWaiter& waiter) {
  if (waiter.caller().empty()) return waiter.identity();
  return absl::StrCat(waiter.identity(), " (", waiter.caller(), ")");
}

}  // namespace

// Nobody can know while a permit has to be reported, health to recover, or a pause to end.
std::string TurnIn(bool known, const google::protobuf::Duration& turn) {
  if (!known) return "unknown";
  const absl::Duration in = FromProto(turn);
  return in <= absl::ZeroDuration() ? "now" : ShortDuration(in);
}

std::string WaitsFor(const v1::LineStatus& line) {
  switch (line.limit_case()) {
    case v1::LineStatus::kProfile:
      return absl::StrCat("the gate of health profile ", line.profile());
    case v1::LineStatus::kRule:
      return absl::StrCat("rule ", line.rule());
    default:
      return absl::StrCat("budget ", line.budget(), line.bucket().empty() ? "" : ", bucket ",
                          line.bucket());
  }
}

std::string WaitingText(const v1::GetStatusResponse& status, Colours colours) {
  const v1::WaitingStatus& waiting = status.waiting();
  std::string text;
  if (waiting.waiting() > 0) {
    absl::StrAppend(&text, "waiting ", waiting.waiting(), " of ", waiting.max_waiting(), "; lines ",
                    waiting.lines(), "; longest ",
                    ShortDuration(FromProto(waiting.longest_waited())), "\n");
  }
  if (waiting.admitted() + waiting.timed_out() + waiting.left() > 0) {
    absl::StrAppend(&text, "waited since the start: admitted ", waiting.admitted(),
                    ", time was up ", waiting.timed_out(), ", went away ", waiting.left(), "\n");
  }
  if (waiting.turned_away() > 0) {
    absl::StrAppend(&text, Painted("not let into a line:", Paint::kBad, colours), " ",
                    waiting.turned_away(), " Checks, because too many waited\n");
  }
  return text;
}

Table Lines(const google::protobuf::RepeatedPtrField<v1::LineStatus>& lines) {
  Table table(
      Titles("WAIT FOR,TARGET,>WAITING,>LONGEST,>PLACE,WHO IS NEXT,>PRIORITY,>COST,>WAITED,>TURN "
             "IN,>GIVES UP IN"));
  for (const v1::LineStatus& line : lines) {
    std::vector<Cell> row = {{WaitsFor(line)},
                             {line.target()},
                             {absl::StrCat(line.waiting())},
                             {ShortDuration(FromProto(line.longest_waited()))}};
    const size_t of_line = row.size();
    for (const v1::LineWaiter& waiter : line.next()) {
      row.resize(of_line);
      row.push_back({absl::StrCat(waiter.position())});
      row.push_back({Who(waiter)});
      row.push_back({absl::StrCat(waiter.priority())});
      // At a gate or a pause nobody takes room.
      const bool takes_room = line.unit() != v1::BUDGET_UNIT_UNSPECIFIED;
      row.push_back({takes_room ? Amount(waiter.cost(), line.unit()) : ""});
      row.push_back({ShortDuration(FromProto(waiter.waited()))});
      row.push_back({TurnIn(waiter.has_expected_turn(), waiter.expected_turn())});
      row.push_back({ShortDuration(FromProto(waiter.max_wait_left()))});
      table.Add(row);
      // The next rows are of the same line.
      row.assign(of_line, Cell());
    }
    if (line.next().empty()) table.Add(std::move(row));
  }
  return table;
}

}  // namespace headgate::cli
