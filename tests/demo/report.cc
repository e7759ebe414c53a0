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
                  Row("backfill asks Headgate", results.throttled));
  if (results.settling.foreground.count > 0) {
    absl::StrAppend(&text, Row("  before, knowing nothing", results.settling));
  }
  for (const PhaseResult& fixed : results.fixed) {
    absl::StrAppend(&text,
                    Row(absl::StrCat("backfill, ", Whole(fixed.fixed_rate), " rows/s"), fixed));
  }
  absl::StrAppendFormat(&text,
                        "Ratios are to the foreground alone before and after each phase.\n\n"
                        "Best fixed rate, leaving the foreground %.2f: %s%s rows/s. Nobody told "
                        "Headgate, and the backfill went at %.2f of that.\n\n",
                        kToleratedRatio, results.best_fixed_is_higher ? "above " : "",
                        Whole(results.best_fixed), BatchShare(results));
  return absl::StrCat(text, Checks(checks));
}

std::string LastLine(const Results& results) {
  return absl::StrFormat(
      "demo: alone_tps=%.0f greedy_ratio=%.3f throttled_ratio=%.3f throttled_p99_ratio=%.2f "
      "backfill_rows_per_s=%.0f best_fixed_rows_per_s=%.0f batch_share=%.2f",
      results.alone.per_second, results.greedy.tps_ratio, results.throttled.tps_ratio,
      results.throttled.p99_ratio, results.throttled.batch.rows_per_second, results.best_fixed,
      BatchShare(results));
}

}  // namespace headgate::demo
