#include "tests/demo/report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/demo/text.h"

namespace headgate::demo {
namespace {

constexpr char kHead[] =
    "                               ------- foreground -------   --------- backfill ---------\n"
    "                                  TPS  ratio  p99 ms  ratio     rows/s  chunk ms  busy s/s\n";

std::string Row(const std::string& name, const PhaseResult& result) {
  std::string row =
      absl::StrFormat("%-27s %9s  %5.2f %7s  %5.1f", name, Whole(result.foreground.per_second),
                      result.tps_ratio, Millis(result.foreground.p99), result.p99_ratio);
  if (result.batch.rows_per_second > 0) {
    absl::StrAppendFormat(&row, "  %9s %9s %9.2f", Whole(result.batch.rows_per_second),
                          Millis(result.batch.mean_chunk), result.batch.in_flight);
  }
  return row + "\n";
}

std::string Checks(const CheckCounts& checks) {
  std::vector<std::pair<int64_t, std::string>> denied;
  int64_t denials = 0;
  for (const auto& [what, count] : checks.denied) {
    denied.emplace_back(count, what);
    denials += count;
  }
  std::sort(denied.rbegin(), denied.rend());
  const auto number = [](int64_t count) { return Whole(static_cast<double>(count)); };
  std::string text = absl::StrCat("Checks: ", number(checks.allowed), " allowed, ", number(denials),
                                  " denied and asked again", denied.empty() ? "" : ":", "\n");
  for (const auto& [count, what] : denied) {
    absl::StrAppendFormat(&text, "%9s  %s\n", number(count), what);
  }
  return text;
}

bool HasYielded(const Results& results) { return results.yielding.foreground.count > 0; }

std::string WithSettling(const std::string& name, const PhaseResult& result,
                         const PhaseResult& settling) {
  std::string rows = Row(name, result);
  if (settling.foreground.count > 0) {
    absl::StrAppend(&rows, Row("  before, knowing nothing", settling));
  }
  return rows;
}

// A paragraph, where there is something to say.
std::string Yielding(const Results& results) {
  if (!results.yields_not.empty()) return NothingYields(results.yields_not) + "\n\n";
  if (!HasYielded(results)) return "";
  return absl::StrFormat(
      "With sessions that yield, %.0f of them by %s, the backfill did %.1f times the rows of the "
      "rate alone.\n\n",
      results.yielding_sessions, results.yields_by, results.yield_gain);
}

double BatchShare(const Results& results) {
  if (results.best_fixed <= 0) return 0;
  return results.throttled.batch.rows_per_second / results.best_fixed;
}

}  // namespace

std::string Table(const Results& results, const CheckCounts& checks) {
  PhaseResult alone;
  alone.foreground = results.alone;
  alone.tps_ratio = alone.p99_ratio = 1;
  std::string text = kHead;
  absl::StrAppend(&text, Row("foreground alone", alone), Row("greedy backfill", results.greedy),
                  WithSettling("rate alone", results.throttled, results.settling));
  if (HasYielded(results)) {
    absl::StrAppend(&text,
                    WithSettling("yield and rate", results.yielding, results.yield_settling));
  } else if (!results.yields_not.empty()) {
    absl::StrAppendFormat(&text, "%-27s left out: nothing yields here\n", "yield and rate");
  }
  for (const PhaseResult& fixed : results.fixed) {
    absl::StrAppend(&text,
                    Row(absl::StrCat("backfill, ", Whole(fixed.fixed_rate), " rows/s"), fixed));
  }
  absl::StrAppendFormat(&text,
                        "Ratios are to the foreground alone before and after each phase.\n\n"
                        "%sBest fixed rate, leaving the foreground %.2f: %s%s rows/s. Nobody told "
                        "Headgate, and the backfill went at %.2f of that.\n\n",
                        Yielding(results), kToleratedRatio,
                        results.best_fixed_is_higher ? "above " : "", Whole(results.best_fixed),
                        BatchShare(results));
  return absl::StrCat(text, Checks(checks));
}

std::string NothingYields(const std::string& reason) {
  return absl::StrCat("Nothing yields here, so that part is left out; the agent says: ", reason);
}

std::string LastLine(const Results& results) {
  std::string line = absl::StrFormat(
      "demo: alone_tps=%.0f greedy_ratio=%.3f throttled_ratio=%.3f throttled_p99_ratio=%.2f "
      "backfill_rows_per_s=%.0f best_fixed_rows_per_s=%.0f batch_share=%.2f",
      results.alone.per_second, results.greedy.tps_ratio, results.throttled.tps_ratio,
      results.throttled.p99_ratio, results.throttled.batch.rows_per_second, results.best_fixed,
      BatchShare(results));
  if (!HasYielded(results)) {
    return line + " yield_ratio=n/a yield_p99_ratio=n/a yield_rows_per_s=n/a yield_gain=n/a";
  }
  absl::StrAppendFormat(
      &line, " yield_ratio=%.3f yield_p99_ratio=%.2f yield_rows_per_s=%.0f yield_gain=%.1f",
      results.yielding.tps_ratio, results.yielding.p99_ratio,
      results.yielding.batch.rows_per_second, results.yield_gain);
  return line;
}

}  // namespace headgate::demo
