#include "client/cli/top/top_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/agent_text.h"
#include "client/cli/output/console.h"
#include "client/cli/output/lease_text.h"
#include "client/cli/output/line_text.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/server_text.h"
#include "client/cli/output/servers_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "client/cli/output/zone_text.h"
#include "common/share_text.h"

namespace headgate::cli {
namespace {

constexpr int kNarrowBar = 10;     // columns, for a window of 80
constexpr int kHoldersShown = 10;  // of leases

Paint PaintOfFill(double share) {
  if (share >= 1) return Paint::kBad;
  return share >= 0.7 ? Paint::kWarn : Paint::kGood;
}

Cell Fill(const v1::BudgetStatus& budget, int columns = kWideBar) {
  if (!budget.has_burst()) return {""};
  if (budget.burst() <= 0) return {"blocked", Paint::kBad};
  const double share = budget.debt() / budget.burst();
  return {Bar(share, columns), PaintOfFill(share)};
}

std::string Rate(const v1::BudgetStatus& budget) {
  if (!budget.has_rate()) return "unlimited";
  return absl::StrCat(Amount(budget.rate(), budget.unit()), budget.auto_rate() ? " auto" : "");
}

std::string Permits(const v1::BudgetStatus& budget) {
  if (!budget.has_outstanding()) return "";
  return budget.has_max_concurrency()
             ? absl::StrCat(budget.outstanding(), " of ", budget.max_concurrency())
             : absl::StrCat(budget.outstanding());
}

Cell Speed(double speed) { return {ShortNumber(speed), speed < 1 ? Paint::kWarn : Paint::kPlain}; }

Table Budgets(const TopAnswers& answers) {
  Table table(
      Titles("BUDGET,TARGET,MODE,DEBT OF BURST,>DEBT,>BURST,>RATE/s,>SPEED,>PERMITS,SPLIT,>OWING,"
             ">OVERRUNS"));
  for (const v1::BudgetStatus& budget : answers.budgets.budgets()) {
    const bool enforced = budget.mode() == "ENFORCE";
    table.Add({{budget.budget()},
               {budget.target()},
               {budget.mode(), enforced ? Paint::kPlain : Paint::kDim},
               Fill(budget),
               {Amount(budget.debt(), budget.unit())},
               {budget.has_burst() ? Amount(budget.burst(), budget.unit()) : "unlimited"},
               {Rate(budget)},
               Speed(budget.speed()),
               {Permits(budget)},
               {budget.split()},
               {absl::StrCat(budget.buckets_owing())},
               {budget.overruns() == 0 ? "" : absl::StrCat(budget.overruns()), Paint::kWarn}});
  }
  return table;
}

Table Buckets(const TopAnswers& answers, int columns = kWideBar) {
  Table table(Titles("FULLEST BUCKETS,BUDGET,TARGET,DEBT OF BURST,>DEBT,>EMPTY IN"));
  for (const v1::BucketStatus& bucket : answers.buckets.buckets()) {
    table.Add({{bucket.bucket().empty() ? "?" : bucket.bucket()},
               {bucket.budget()},
               {bucket.target()},
               {Bar(bucket.fill(), columns), PaintOfFill(bucket.fill())},
               {Amount(bucket.debt(), bucket.unit())},
               {bucket.has_empty_in() ? ShortDuration(FromProto(bucket.empty_in())) : "never"}});
  }
  return table;
}

// Those who hold most.
Table MostOf(const v1::ListLeasesResponse& leases) {
  const auto& all = leases.holders();
  return Holders({all.begin(), all.begin() + std::min(kHoldersShown, all.size())});
}

std::string TargetText(const v1::TargetStatus& target, Colours colours) {
  std::string text;
  for (const Table& table : {Profiles(target), Controllers(target)}) {
    if (!table.empty()) absl::StrAppend(&text, table.Text(colours));
  }
  absl::StrAppend(&text, AgentText(target, colours, ""));
  if (text.empty()) return text;
  return absl::StrCat(
      Painted(Escaped(absl::StrCat("target ", target.name())), Paint::kBold, colours), "\n", text,
      "\n");
}

// The budgets that are fullest first, unless they come by name.
std::vector<v1::BudgetStatus> Sorted(const TopAnswers& answers, TopOrder order) {
  std::vector<v1::BudgetStatus> budgets(answers.budgets.budgets().begin(),
                                        answers.budgets.budgets().end());
  const auto fill = [](const v1::BudgetStatus& budget) {
    return budget.burst() > 0 ? budget.debt() / budget.burst() : budget.has_burst() ? 1.0 : 0.0;
  };
  std::stable_sort(
      budgets.begin(), budgets.end(), [&](const v1::BudgetStatus& a, const v1::BudgetStatus& b) {
        return order == TopOrder::kName
                   ? std::tie(a.budget(), a.target()) < std::tie(b.budget(), b.target())
                   : fill(a) > fill(b);
      });
  return budgets;
}

Table NarrowBudgets(const TopAnswers& answers, TopOrder order) {
  Table table(Titles("BUDGET,TARGET,DEBT OF BURST,>DEBT,>RATE/s,>SPEED,>PERMITS"));
  for (const v1::BudgetStatus& budget : Sorted(answers, order)) {
    table.Add({{budget.budget()},
               {budget.target()},
               Fill(budget, kNarrowBar),
               {Amount(budget.debt(), budget.unit())},
               {Rate(budget)},
               Speed(budget.speed()),
               {Permits(budget)}});
  }
  return table;
}

Table NarrowHealth(const TopAnswers& answers) {
  Table table(Titles("HEALTH,TARGET,STATE,>SPEED,>PRESSURE,BINDING SIGNAL"));
  for (const v1::TargetStatus& target : answers.status.targets()) {
    for (const v1::Health& health : target.profiles()) {
      const Paint paint = PaintOf(health.condition());
      table.Add({{health.profile()},
                 {target.name()},
                 {Word(health.condition()), paint},
                 {ShortNumber(health.speed()), paint},
                 {ShortNumber(health.pressure()), paint},
                 {health.signal()}});
    }
  }
  return table;
}

Table NarrowLines(const TopAnswers& answers) {
  Table table(Titles("NEXT IN LINE,WAITS FOR,TARGET,>WAITED,>TURN IN,>GIVES UP IN"));
  for (const v1::LineStatus& line : answers.lines.lines()) {
    for (const v1::LineWaiter& waiter : line.next()) {
      table.Add({{waiter.identity()},
                 {WaitsFor(line)},
                 {line.target()},
                 {ShortDuration(FromProto(waiter.waited()))},
                 {TurnIn(waiter.has_expected_turn(), waiter.expected_turn())},
                 {ShortDuration(FromProto(waiter.max_wait_left()))}});
    }
  }
  return table;
}

Table NarrowAuto(const TopAnswers& answers) {
  Table table(Titles("AUTO BUDGET,TARGET,PHASE,>RATE/s,BECAUSE"));
  for (const v1::TargetStatus& target : answers.status.targets()) {
    for (const v1::ControllerStatus& controller : target.controllers()) {
      table.Add({{controller.budget()},
                 {target.name()},
                 {controller.phase()},
                 {Amount(controller.rate(), v1::BUDGET_UNIT_BUSY_TIME)},
                 {controller.explanation()}});
    }
  }
  return table;
}

// The columns of a line come after those that budgets and buckets have.
void AddLine(const v1::LineStatus& line, Table& table) {
  constexpr size_t kUnit = 12;
  constexpr size_t kWaitsFor = 14;
  const auto row = [&](const char* kind) {
    std::vector<Cell> cells = {{kind}, {line.target()}, {line.budget()}, {line.bucket()}};
    cells.resize(kWaitsFor);
    cells[kUnit] = {Word(line.unit())};
    cells.push_back({WaitsFor(line)});
    return cells;
  };
  std::vector<Cell> cells = row("line");
  for (Cell& cell : std::vector<Cell>{{absl::StrCat(line.waiting())},
                                      {Seconds(line.has_longest_waited(), line.longest_waited())},
                                      {Seconds(line.has_expected_turn(), line.expected_turn())},
                                      {},
                                      {ExactNumber(line.cost())}}) {
    cells.push_back(std::move(cell));
  }
  table.Add(std::move(cells));
  for (const v1::LineWaiter& waiter : line.next()) {
    cells = row("waiter");
    for (Cell& cell :
         std::vector<Cell>{{},
                           {},
                           {Seconds(waiter.has_expected_turn(), waiter.expected_turn())},
                           {waiter.identity()},
                           {ExactNumber(waiter.cost())},
                           {Seconds(waiter.has_waited(), waiter.waited())},
                           {absl::StrCat(waiter.position())},
                           {Seconds(waiter.has_max_wait_left(), waiter.max_wait_left())},
                           {absl::StrCat(waiter.priority())}}) {
      cells.push_back(std::move(cell));
    }
    table.Add(std::move(cells));
  }
}

// Likewise, after those of lines.
void AddHolder(const v1::LeaseHolder& holder, Table& table) {
  constexpr size_t kIdentity = 18;
  constexpr size_t kLeases = 24;
  std::vector<Cell> cells = {{"lease_holder"}, {holder.target()}};
  cells.resize(kLeases);
  cells[kIdentity] = {holder.identity()};
  cells.push_back({absl::StrCat(holder.leases())});
  cells.push_back({ExactNumber(holder.amount())});
  cells.push_back({Seconds(holder.has_ends_in(), holder.ends_in())});
  cells.push_back({absl::StrCat(holder.overdue())});
  table.Add(std::move(cells));
}

}  // namespace

std::string Bar(double share, int columns) {
  const double within = std::clamp(share, 0.0, 1.0);
  // Any debt shows at least one sign, and only a full bucket looks full.
  const auto filled = static_cast<size_t>(
      share >= 1 ? columns : std::min(std::ceil(within * columns), columns - 1.0));
  std::string percent = RoundShareText(std::max(share, 0.0));
  std::erase(percent, ' ');  // there is no room
  return absl::StrFormat("%s%s %4s", std::string(filled, '#'),
                         std::string(static_cast<size_t>(columns) - filled, '.'), percent);
}

std::string TopText(const TopAnswers& answers, const TopLook& look) {
  const v1::GetStatusResponse& status = answers.status;
  const Colours colours = look.colours;
  std::string text = absl::StrCat(
      "headgated ", Escaped(status.version()), " at ", look.address, "; permits outstanding ",
      status.permits_outstanding(), "; buckets owing ", status.buckets_owing(), " of ",
      status.buckets_capacity(), "; times are ", ZoneText(look.zone, {answers.at}), "\n",
      WaitingText(status, colours), StopsText(status.overrides(), look.zone, colours),
      ConfigText(status.config(), look.zone, colours), "\n");
  for (const auto& lines :
       {TroubleLines(answers, look), HeldBackLines(answers, look), InForceLines(answers, look)}) {
    if (!lines.empty()) absl::StrAppend(&text, absl::StrJoin(lines, "\n"), "\n\n");
  }
  if (status.has_cluster()) absl::StrAppend(&text, ServersText(status.cluster(), colours), "\n");
  for (const v1::TargetStatus& target : status.targets()) {
    absl::StrAppend(&text, TargetText(target, colours));
  }
  const Table budgets = Budgets(answers);
  absl::StrAppend(&text, budgets.empty() ? "there are no budgets\n" : budgets.Text(colours));
  if (!answers.budgets.next_page_token().empty()) absl::StrAppend(&text, "and more budgets\n");
  const Table lines = Lines(answers.lines.lines());
  if (!lines.empty()) absl::StrAppend(&text, "\n", lines.Text(colours));
  const int64_t left_out = answers.lines.lines_in_all() - answers.lines.lines_size();
  if (left_out > 0) absl::StrAppend(&text, "and ", left_out, " more lines\n");
  const Table leases = MostOf(answers.leases);
  if (!leases.empty()) absl::StrAppend(&text, "\n", leases.Text(colours));
  const int64_t more =
      answers.leases.holders_in_all() - std::min(kHoldersShown, answers.leases.holders_size());
  if (more > 0) absl::StrAppend(&text, "and ", more, " more hold leases\n");
  const Table buckets = Buckets(answers);
  if (!buckets.empty()) absl::StrAppend(&text, "\n", buckets.Text(colours));
  return text;
}

std::vector<std::string> TopBody(const TopAnswers& answers, const TopLook& look) {
  std::vector<std::string> body;
  const auto add = [&body](const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    if (!body.empty()) body.emplace_back();
    body.insert(body.end(), lines.begin(), lines.end());
  };
  add(TroubleLines(answers, look));
  add(HeldBackLines(answers, look));
  add(InForceLines(answers, look));
  for (const Table& table :
       {NarrowHealth(answers), NarrowBudgets(answers, look.order), NarrowAuto(answers),
        Buckets(answers, kNarrowBar), NarrowLines(answers), MostOf(answers.leases)}) {
    if (!table.empty()) add(LinesOf(table.TextWithin(look.columns, look.colours)));
  }
  for (const v1::TargetStatus& target : answers.status.targets()) {
    add(LinesOf(AgentText(target, look.colours, "")));
  }
  if (answers.status.has_cluster()) {
    add(LinesOf(ServersText(answers.status.cluster(), look.colours)));
  }
  add(LinesOf(ConfigText(answers.status.config(), look.zone, look.colours)));
  return body;
}

Table TopCsv(const TopAnswers& answers) {
  Table table(Titles(
      "kind,target,budget,bucket,mode,debt,burst,rate,speed,outstanding,fill,empty_in_s,unit,"
      "overruns,waits_for,waiting,longest_waited_s,expected_turn_s,identity,cost,waited_s,"
      "position,max_wait_left_s,priority,leases,leased,ends_in_s,overdue"));
  for (const v1::BudgetStatus& budget : answers.budgets.budgets()) {
    table.Add({{"budget"},
               {budget.target()},
               {budget.budget()},
               {},
               {budget.mode()},
               {ExactNumber(budget.debt())},
               {budget.has_burst() ? ExactNumber(budget.burst()) : ""},
               {budget.has_rate() ? ExactNumber(budget.rate()) : ""},
               {ExactNumber(budget.speed())},
               {budget.has_outstanding() ? absl::StrCat(budget.outstanding()) : ""},
               {},
               {},
               {Word(budget.unit())},
               {absl::StrCat(budget.overruns())}});
  }
  for (const v1::BucketStatus& bucket : answers.buckets.buckets()) {
    table.Add({{"bucket"},
               {bucket.target()},
               {bucket.budget()},
               {bucket.bucket()},
               {},
               {ExactNumber(bucket.debt())},
               {},
               {},
               {},
               {},
               {ExactNumber(bucket.fill())},
               {Seconds(bucket.has_empty_in(), bucket.empty_in())},
               {Word(bucket.unit())}});
  }
  for (const v1::LineStatus& line : answers.lines.lines()) AddLine(line, table);
  for (const v1::LeaseHolder& holder : answers.leases.holders()) AddHolder(holder, table);
  return table;
}

std::string TopJson(const TopAnswers& answers) {
  return absl::StrCat(
      "{\"status\": ", Json(answers.status), ", \"budgets\": ", Json(answers.budgets),
      ", \"buckets\": ", Json(answers.buckets), ", \"lines\": ", Json(answers.lines),
      ", \"leases\": ", Json(answers.leases), ", \"overrides\": ", Json(answers.overrides),
      ", \"denied\": ", Json(answers.denied), "}\n");
}

}  // namespace headgate::cli
