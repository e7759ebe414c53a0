// Any text as a time, a duration and a cost on the command line: what is taken is finite, within
// what the text can mean, and reads back from what is printed of it; what is refused is told in one
// line.
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/output/value_text.h"
#include "tests/fuzz/require.h"

namespace {

using headgate::fuzz::Require;
using headgate::fuzz::RequireReadable;

// Any day that has no clock change within a day of it.
const absl::Time kNow = absl::FromUnixSeconds(1'767'268'800);

bool IsFinite(absl::Time time) {
  return time > absl::InfinitePast() && time < absl::InfiniteFuture();
}

void RequireReadsBack(absl::Time time, absl::TimeZone zone) {
  const std::string text = absl::FormatTime(absl::RFC3339_full, time, zone);
  const absl::CivilSecond civil = absl::ToCivilSecond(time, zone);
  if (civil.year() < 0 || civil.year() > 9999) return;  // no RFC 3339
  for (const auto parse : {headgate::cli::TimeFromText, headgate::cli::ComingTimeFromText}) {
    const absl::StatusOr<absl::Time> again = parse(text, kNow, zone);
    Require(again.ok() && *again == time, "written out it is another: ", text);
  }
}

void Times(const std::string& text, absl::TimeZone zone) {
  const absl::StatusOr<absl::Time> past = headgate::cli::TimeFromText(text, kNow, zone);
  const absl::StatusOr<absl::Time> coming = headgate::cli::ComingTimeFromText(text, kNow, zone);
  for (const auto* read : {&past, &coming}) {
    if (!read->ok()) {
      RequireReadable(read->status());
      continue;
    }
    Require(IsFinite(**read), "a time without end");
    RequireReadsBack(**read, zone);
  }
  // A moment without a day: today's, and the next.
  if (past.ok() && coming.ok() && *past != *coming) {
    Require(*coming > kNow && *coming - *past <= absl::Hours(25), "another day: ", text);
  }
}

void Durations(const std::string& text) {
  const absl::StatusOr<absl::Duration> read = headgate::cli::DurationFromText(text);
  const absl::StatusOr<absl::Duration> positive = headgate::cli::PositiveDurationFromText(text);
  if (!positive.ok()) RequireReadable(positive.status());
  if (!read.ok()) {
    RequireReadable(read.status());
    Require(!positive.ok(), "positive, but no duration: ", text);
    return;
  }
  Require(*read >= absl::ZeroDuration() && *read < absl::InfiniteDuration(), "out of bounds");
  Require(positive.ok() == (*read > absl::ZeroDuration()), "positive or not: ", text);
  const auto again = headgate::cli::DurationFromText(absl::FormatDuration(*read));
  Require(again.ok() && *again == *read, "written out it is another: ", text);
  const auto rounded = headgate::cli::DurationFromText(headgate::cli::ShortDuration(*read));
  Require(rounded.ok() && *rounded >= *read, "rounded down: ", text);
}

void Cost(const std::string& text) {
  const absl::StatusOr<double> read = headgate::cli::CostFromText(text);
  if (!read.ok()) return RequireReadable(read.status());
  Require(std::isfinite(*read) && *read >= 0, "no cost: ", text);
  const auto again = headgate::cli::CostFromText(headgate::cli::ExactNumber(*read));
  Require(again.ok() && *again == *read, "written out it is another: ", text);
  Require(!headgate::cli::ShortNumber(*read).empty(), "nothing is shown");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Times(text, absl::UTCTimeZone());
  Times(text, absl::FixedTimeZone(-11 * 3600 - 1800));
  Durations(text);
  Cost(text);
  return 0;
}
