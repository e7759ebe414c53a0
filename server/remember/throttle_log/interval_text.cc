#include "server/remember/throttle_log/interval_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/share_text.h"
#include "server/decide/engine/sentence_text.h"

namespace headgate::throttle_log {
namespace {

constexpr size_t kMaxCauses = 3;  // that are told; the others are counted

std::string WithCommas(int64_t count) { return engine::Grouped(static_cast<double>(count)); }

// Three digits that count, and all before the point.
std::string Number(double value) {
  return std::abs(value) < 1000 ? absl::StrFormat("%.3g", value) : absl::StrFormat("%.0f", value);
}

std::string Bytes(double value) {
  constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; std::abs(value) >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return absl::StrCat(Number(value), " ", kUnits[unit]);
}

// With the unit that the name of the signal ends in.
std::string InUnitOf(std::string_view signal, double value) {
  const std::string_view name = signal.substr(0, signal.find(" on "));
  if (name.ends_with("_seconds")) return absl::StrCat(Number(value), " s");
  if (name.ends_with("_bytes")) return Bytes(value);
  if (name.ends_with("_bytes_per_second")) return absl::StrCat(Bytes(value), "/s");
  return Number(value);
}

// ", 7.1 s over hard 5 s". An absent standby's lag is infinite; a limit of 0 is not known.
std::string Reading(const std::string& signal, const Counts& counts) {
  if (counts.limit == 0) return "";
  if (std::isinf(counts.peak)) return ", which was absent";
  return absl::StrCat(", ", InUnitOf(signal, counts.peak),
                      counts.peak >= counts.limit ? " over hard " : " below hard ",
                      InUnitOf(signal, counts.limit));
}

// What a budget's limit was, if no signal stands in its place.
std::string LimitOf(const Cause& cause, const Counts& counts) {
  const std::string peak = Number(counts.peak);
  const std::string limit = Number(counts.limit);
  const bool is_zero = counts.limit == 0;  // which refuses whatever the cost
  switch (cause.limit) {
    case engine::Limit::kBurst:
      if (is_zero) return ", whose burst is 0";
      return absl::StrCat(": debt would be ", peak, ", over its burst of ", limit);
    case engine::Limit::kMaxCost:
      if (is_zero) return ", whose max_cost is 0";
      return absl::StrCat(": cost ", peak, " over its max_cost of ", limit);
    case engine::Limit::kMaxConcurrency:
      if (is_zero) return ", whose max_concurrency is 0";
      return absl::StrCat(": ", peak, " permits outstanding of ", limit);
    case engine::Limit::kRule:
    case engine::Limit::kHealth:
    case engine::Limit::kRate:
    case engine::Limit::kProbe:
    case engine::Limit::kPermits:
    case engine::Limit::kLine:
    case engine::Limit::kLineFull:
    case engine::Limit::kApproximate:
      break;
  }
  return "";
}

std::string DescribeBudget(const Cause& cause, const Counts& counts) {
  const std::string budget = absl::StrCat("budget '", cause.budget, "'");
  if (cause.limit == engine::Limit::kRate) return absl::StrCat(budget, ", whose rate is 0");
  if (cause.limit == engine::Limit::kProbe) {
    return absl::StrCat(budget, ": the foreground was being measured without batch work");
  }
  if (cause.limit == engine::Limit::kLine) {
    return absl::StrCat(budget, ": others were waiting for it, and were before it");
  }
  if (cause.signal.empty()) return absl::StrCat(budget, LimitOf(cause, counts));
  return absl::StrCat(budget, ", slowed by ", cause.signal, Reading(cause.signal, counts));
}

// Of several limits that refuse, the log names the one with the longest wait. For a person, what
// health denied is one cause, whichever budget would have refused as well.
std::vector<CauseCount> ForAPerson(const std::vector<CauseCount>& causes) {
  std::vector<CauseCount> told;
  for (CauseCount count : causes) {
    Cause& cause = count.cause;
    if (cause.reason == engine::Reason::kHealth) {
      cause.limit = engine::Limit::kHealth;
      cause.budget.clear();
      cause.rule.clear();
    }
    const auto same = std::find_if(told.begin(), told.end(),
                                   [&](const CauseCount& known) { return known.cause == cause; });
    if (same == told.end()) {
      told.push_back(count);
    } else {
      same->counts.Add(count.counts);
    }
  }
  return told;
}

std::string Percent(int64_t part, int64_t all) {
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(all);
  if (part < all && percent > 99) return "over 99 %";
  if (percent < 1) return "under 1 %";
  return absl::StrFormat("%.0f %%", percent);
}

std::string TimesOf(const Tally& tally) {
  const absl::TimeZone utc = absl::UTCTimeZone();
  const absl::Time from = absl::FromUnixSeconds(tally.from_s);
  const absl::Time to = absl::FromUnixSeconds(tally.to_s);
  const bool whole_minutes = tally.from_s % 60 == 0 && tally.to_s % 60 == 0;
  const char* const clock = whole_minutes ? "%H:%M" : "%H:%M:%S";
  const bool one_day = absl::ToCivilDay(from, utc) == absl::ToCivilDay(to, utc);
  const std::string format = one_day ? clock : absl::StrCat("%Y-%m-%d ", clock);
  return absl::StrCat(absl::FormatTime(format, from, utc), "–", absl::FormatTime(format, to, utc),
                      " UTC");
}

// "0.3 s", "31 s", "25 min", "3.2 h".
std::string TimeText(int64_t ns) {
  const double s = static_cast<double>(ns) / 1e9;
  if (s < 10) return absl::StrFormat("%.2g s", s);
  if (s < 120) return absl::StrFormat("%.0f s", s);
  if (s < 7200) return absl::StrFormat("%.0f min", s / 60);
  return absl::StrFormat("%.1f h", s / 3600);
}

// "waited 82 % of the time (31 s a chunk)": of each Check that waited, in the mean.
std::string WaitedText(const Interval& interval) {
  const Waits& waits = interval.tally.waits.value();
  return absl::StrCat("waited ", absl::StrFormat("%.0f %%", 100 * interval.held_share),
                      " of the time (", TimeText(waits.waited_ns / waits.checks()), " a chunk)");
}

// What was more of it first; and only that, where the other is hardly anything.
std::string HowMuch(const Interval& interval) {
  const Tally& tally = interval.tally;
  const int64_t all = tally.allowed + tally.denied;
  std::string denied;
  double denied_share = 0;
  if (tally.denied > 0) {
    denied_share = static_cast<double>(tally.denied) / static_cast<double>(all);
    denied = absl::StrCat(Percent(tally.denied, all), " denied (", WithCommas(tally.denied), " of ",
                          WithCommas(all), ")");
  }
  constexpr double kHardly = 0.005;
  if (denied.empty()) return WaitedText(interval);
  if (interval.held_share < kHardly) return denied;
  if (denied_share < interval.held_share) return absl::StrCat(WaitedText(interval), ", ", denied);
  return absl::StrCat(denied, ", ", WaitedText(interval));
}

// How much of it was one cause's.
std::string PartOf(const Counts& counts) {
  std::string text = counts.checks > 0 ? WithCommas(counts.checks) : "";
  if (counts.waits.get() == nullptr) return text;
  return absl::StrCat(text, text.empty() ? "" : ", ", TimeText(counts.waits.get()->waited_ns));
}

}  // namespace

std::string Describe(const CauseCount& count) {
  const auto& [cause, counts] = count;
  switch (cause.reason) {
    case engine::Reason::kHealth:
      if (cause.signal.empty()) return "health: there was no recent sample";
      return absl::StrCat(cause.signal, Reading(cause.signal, counts));
    case engine::Reason::kRejectRatio:
      return absl::StrCat("rule '", cause.rule, "', which rejects ", ShareText(counts.limit));
    case engine::Reason::kDenyRule:
      return absl::StrCat("rule '", cause.rule, "'");
    case engine::Reason::kMaxCost:
    case engine::Reason::kMaxConcurrency:
    case engine::Reason::kCapacity:
    case engine::Reason::kLine:
      return DescribeBudget(cause, counts);
    case engine::Reason::kPermits:
      return absl::StrCat("permits: ", Number(counts.peak), " outstanding of the ",
                          Number(counts.limit), " that its caller may have");
    case engine::Reason::kLineFull:
      return absl::StrCat("line: ", Number(counts.peak), " Checks were waiting of ",
                          Number(counts.limit), " that may");
    case engine::Reason::kApproximate:
      return absl::StrCat("budget '", cause.budget, "', approximately: nobody decided");
    case engine::Reason::kNone:
    case engine::Reason::kExempt:
    case engine::Reason::kUnmatched:
      break;
  }
  return "an unknown cause";
}

std::string Sentence(const Interval& interval) {
  const Tally& tally = interval.tally;
  std::string text = absl::StrCat(TimesOf(tally), ", ", HowMuch(interval));
  const std::vector<CauseCount> causes = ForAPerson(tally.causes);
  const size_t told = std::min(causes.size(), kMaxCauses);
  for (size_t i = 0; i < told; ++i) {
    absl::StrAppend(&text, i == 0 ? ", by " : "; by ", Describe(causes[i]));
    if (causes.size() > 1) absl::StrAppend(&text, " (", PartOf(causes[i].counts), ")");
  }
  if (causes.size() > told) {
    absl::StrAppend(&text, "; and by ", causes.size() - told, " other causes");
  }
  return text;
}

}  // namespace headgate::throttle_log
