#include "client/cli/log/cause_text.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/value_text.h"
#include "common/share_text.h"

namespace headgate::cli {
namespace {

std::string Bytes(double bytes) {
  for (const auto& [size, unit] : {std::pair(1e12, " TB"), {1e9, " GB"}, {1e6, " MB"}}) {
    if (bytes >= size) return absl::StrCat(ShortNumber(bytes / size), unit);
  }
  return absl::StrCat(ShortNumber(bytes), " B");
}

// The value in the unit that the signal's name ends with.
std::string SignalAmount(double value, std::string_view signal) {
  const std::string_view name = signal.substr(0, signal.find(' '));
  if (name.ends_with("_seconds")) return absl::StrCat(ShortNumber(value), " s");
  if (name.ends_with("_bytes")) return Bytes(value);
  if (name.ends_with("_bytes_per_second")) return absl::StrCat(Bytes(value), "/s");
  return ShortNumber(value);
}

// A limit of 0 means that it is unknown, as it is without a recent sample. An infinite peak means
// that the signal was absent.
std::string Reading(const v1::DenialCause& cause) {
  if (cause.limit() == 0) return "";
  if (std::isinf(cause.peak())) return "absent";
  return absl::StrCat(SignalAmount(cause.peak(), cause.signal()),
                      cause.peak() >= cause.limit() ? " over hard " : " below hard ",
                      SignalAmount(cause.limit(), cause.signal()));
}

std::string OfBudget(const v1::DenialCause& cause) {
  std::string text = Word(cause.limit_kind());
  if (cause.limit_kind() == v1::LIMIT_KIND_RATE) text = "a rate of 0";
  if (cause.limit_kind() == v1::LIMIT_KIND_PROBE) text = "measuring";
  if (!cause.signal().empty()) absl::StrAppend(&text, ", slowed by ", cause.signal());
  return cause.budget().empty() ? text : absl::StrCat("budget '", cause.budget(), "': ", text);
}

}  // namespace

std::string CauseText(const v1::DenialCause& cause) {
  // A denial by health has one cause, even where a budget would have refused as well.
  if (cause.reason() == v1::REASON_HEALTH) {
    return cause.signal().empty() ? "health" : cause.signal();
  }
  if (cause.limit_kind() == v1::LIMIT_KIND_RULE) {
    return absl::StrCat("rule '", cause.rule(), "'",
                        cause.reason() == v1::REASON_REJECT_RATIO ? ", by chance" : "");
  }
  if (cause.limit_kind() == v1::LIMIT_KIND_PERMITS) return "its share of permits";
  if (cause.limit_kind() == v1::LIMIT_KIND_LINE_FULL) return "too many waited already";
  return OfBudget(cause);
}

std::string PeakText(const v1::DenialCause& cause) {
  if (!cause.signal().empty()) return Reading(cause);
  if (cause.reason() == v1::REASON_HEALTH) return "";
  const std::string peak = ShortNumber(cause.peak());
  const std::string limit = ShortNumber(cause.limit());
  switch (cause.limit_kind()) {
    case v1::LIMIT_KIND_RULE:
      if (cause.reason() != v1::REASON_REJECT_RATIO) return "";
      return absl::StrCat("rejects ", ShareText(cause.limit()));
    case v1::LIMIT_KIND_BURST:
      return absl::StrCat("debt ", peak, " over ", limit);
    case v1::LIMIT_KIND_MAX_COST:
      return absl::StrCat("cost ", peak, " over ", limit);
    case v1::LIMIT_KIND_PERMITS:
    case v1::LIMIT_KIND_MAX_CONCURRENCY:
      return absl::StrCat(peak, " of ", limit, " permits");
    default:
      return "";
  }
}

}  // namespace headgate::cli
