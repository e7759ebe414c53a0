#include "tests/demo/servers/results.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace headgate::demo {
namespace {

// From each Check on, whatever was asked later and answered by then.
double OverAdmitted(const DatabaseRecord& database, double rate, double burst) {
  double most = 0;
  for (const AskedCheck& first : database.checks) {
    if (first.cost <= 0) continue;
    double admitted = 0;
    for (const AskedCheck& check : database.checks) {
      if (check.asked_s < first.asked_s) continue;
      admitted += check.cost;
      most = std::max(most, admitted - burst - rate * (check.answered_s - first.asked_s));
    }
  }
  return most;
}

}  // namespace

ServersResults Evaluate(const ServersRecord& record) {
  ServersResults results;
  double admitted = 0;
  for (const DatabaseRecord& database : record.databases) {
    double last_s = 0;
    for (const AskedCheck& check : database.checks) {
      ++results.checks;
      admitted += check.cost;
      if (check.failed) {
        ++results.failed_checks;
        continue;
      }
      if (last_s > 0) {
        results.longest_gap_ms =
            std::max(results.longest_gap_ms, (check.answered_s - last_s) * 1e3);
      }
      last_s = check.answered_s;
    }
    if (last_s > 0) {
      results.longest_gap_ms = std::max(results.longest_gap_ms, (record.ended_s - last_s) * 1e3);
    }
    results.over_admitted += OverAdmitted(database, record.rate, record.burst);
  }
  const double due = static_cast<double>(record.databases.size()) * record.rate * record.ended_s;
  if (due > 0) results.share_of_due = admitted / due;
  return results;
}

std::string ServersLine(const ServersResults& results) {
  return absl::StrFormat(
      "servers: failed_checks=%d over_admitted=%.0f longest_gap_ms=%.0f checks=%d "
      "share_of_due=%.3f",
      results.failed_checks, results.over_admitted, results.longest_gap_ms, results.checks,
      results.share_of_due);
}

}  // namespace headgate::demo
