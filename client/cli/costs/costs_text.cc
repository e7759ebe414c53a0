#include "client/cli/costs/costs_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/value_text.h"
#include "client/cli/output/zone_text.h"

namespace headgate::cli {
namespace {

std::string Short(bool known, double value) { return known ? ShortNumber(value) : ""; }

std::string Exact(bool known, double value) { return known ? ExactNumber(value) : ""; }

Table CostsTable(const LearntCosts& costs, absl::TimeZone zone) {
  Table table(
      Titles("TARGET,ROOT,CALLER,PATTERN,>COST PER ESTIMATE,>MEAN COST,>BUSY s PER UNIT,"
             ">MEAN BUSY TIME,>REPORTS,LAST"));
  for (const v1::LearntCost& cost : costs) {
    const bool of_all = cost.pattern().empty();
    table.Add({{cost.target()},
               {cost.root()},
               {cost.caller()},
               {of_all ? "(all work)" : cost.pattern(), of_all ? Paint::kDim : Paint::kPlain},
               {Short(cost.has_cost_ratio(), cost.cost_ratio())},
               {Short(cost.has_mean_cost(), cost.mean_cost())},
               {Short(cost.has_busy_ratio(), cost.busy_ratio())},
               {cost.has_mean_busy_time() ? ShortDuration(FromProto(cost.mean_busy_time())) : ""},
               {absl::StrCat(cost.reports())},
               {TimeText(FromProto(cost.last_reported_at()), zone)}});
  }
  return table;
}

}  // namespace

std::string CostsText(const LearntCosts& costs, absl::TimeZone zone, Colours colours,
                      std::string_view indent) {
  std::vector<absl::Time> times;
  for (const v1::LearntCost& cost : costs) times.push_back(FromProto(cost.last_reported_at()));
  return TimesAre(zone, times) + CostsTable(costs, zone).Text(colours, indent);
}

Table CostsCsv(const LearntCosts& costs) {
  Table table(
      Titles("target,root,caller,pattern,cost_ratio,mean_cost,busy_ratio,mean_busy_time_s,reports,"
             "last_reported_at"));
  for (const v1::LearntCost& cost : costs) {
    table.Add({{cost.target()},
               {cost.root()},
               {cost.caller()},
               {cost.pattern()},
               {Exact(cost.has_cost_ratio(), cost.cost_ratio())},
               {Exact(cost.has_mean_cost(), cost.mean_cost())},
               {Exact(cost.has_busy_ratio(), cost.busy_ratio())},
               {Seconds(cost.has_mean_busy_time(), cost.mean_busy_time())},
               {absl::StrCat(cost.reports())},
               {Rfc3339(cost.has_last_reported_at(), cost.last_reported_at())}});
  }
  return table;
}

}  // namespace headgate::cli
