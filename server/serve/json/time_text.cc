#include "server/serve/json/time_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "common/strings.h"

namespace headgate::json {
namespace {

constexpr int64_t kMaxDurationSeconds = 315'576'000'000;  // 10,000 years, as duration.proto says
constexpr size_t kNanoDigits = 9;

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

// What stands at the front becomes `value`, if it is so many digits.
bool TakeDigits(std::string_view& text, size_t count, int& value) {
  if (text.size() < count || !IsDigits(text.substr(0, count))) return false;
  if (!absl::SimpleAtoi(Sv(text.substr(0, count)), &value)) return false;
  text.remove_prefix(count);
  return true;
}

bool Take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// Of ".25", or of nothing.
bool TakeFraction(std::string_view& text, int32_t& nanos) {
  nanos = 0;
  if (!Take(text, '.')) return true;
  size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[digits]))) {
    ++digits;
  }
  if (digits == 0 || digits > kNanoDigits) return false;
  for (size_t i = 0; i < kNanoDigits; ++i) nanos = nanos * 10 + (i < digits ? text[i] - '0' : 0);
  text.remove_prefix(digits);
  return true;
}

// "Z", "+02:00" or "-00:30", which is all that is left.
bool ReadOffset(std::string_view text, int64_t& seconds) {
  seconds = 0;
  if (text == "Z") return true;
  const bool east = text.starts_with('+');
  if (!east && !text.starts_with('-')) return false;
  text.remove_prefix(1);
  int hours = 0, minutes = 0;
  if (!TakeDigits(text, 2, hours) || !Take(text, ':') || !TakeDigits(text, 2, minutes))
    return false;
  seconds = (hours * 60 + minutes) * 60 * (east ? 1 : -1);
  return text.empty() && hours < 24 && minutes < 60;
}

std::string FractionText(int64_t nanos) {
  if (nanos == 0) return "";
  if (nanos % 1'000'000 == 0) return absl::StrFormat(".%03d", nanos / 1'000'000);
  if (nanos % 1'000 == 0) return absl::StrFormat(".%06d", nanos / 1'000);
  return absl::StrFormat(".%09d", nanos);
}

}  // namespace

bool ReadDuration(std::string_view text, google::protobuf::Duration& duration) {
  const bool negative = Take(text, '-');
  if (!text.ends_with('s')) return false;
  text.remove_suffix(1);
  const std::string_view whole = text.substr(0, text.find('.'));
  text.remove_prefix(whole.size());
  int64_t seconds = 0;
  int32_t nanos = 0;
  if (!IsDigits(whole) || !absl::SimpleAtoi(Sv(whole), &seconds)) return false;
  if (!TakeFraction(text, nanos) || !text.empty() || seconds > kMaxDurationSeconds) return false;
  duration.set_seconds(negative ? -seconds : seconds);
  duration.set_nanos(negative ? -nanos : nanos);
  return true;
}

bool ReadTimestamp(std::string_view text, google::protobuf::Timestamp& timestamp) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  const bool has_form = TakeDigits(text, 4, year) && Take(text, '-') &&
                        TakeDigits(text, 2, month) && Take(text, '-') && TakeDigits(text, 2, day) &&
                        Take(text, 'T') && TakeDigits(text, 2, hour) && Take(text, ':') &&
                        TakeDigits(text, 2, minute) && Take(text, ':') &&
                        TakeDigits(text, 2, second);
  int32_t nanos = 0;
  int64_t offset = 0;
  if (!has_form || !TakeFraction(text, nanos) || !ReadOffset(text, offset)) return false;
  const absl::CivilSecond civil(year, month, day, hour, minute, second);
  // One that does not exist, such as February 30, is another day by now.
  if (year < 1 || civil.month() != month || civil.day() != day || civil.hour() != hour ||
      civil.minute() != minute || civil.second() != second) {
    return false;
  }
  const int64_t seconds = civil - absl::CivilSecond(1970) - offset;
  const auto in_range = [&] {
    return seconds >= absl::CivilSecond(1) - absl::CivilSecond(1970) &&
           seconds < absl::CivilSecond(10'000) - absl::CivilSecond(1970);
  };
  if (!in_range()) return false;
  timestamp.set_seconds(seconds);
  timestamp.set_nanos(nanos);
  return true;
}

std::string DurationText(const google::protobuf::Duration& duration) {
  const bool negative = duration.seconds() < 0 || duration.nanos() < 0;
  return absl::StrCat(negative ? "-" : "", std::abs(duration.seconds()),
                      FractionText(std::abs(static_cast<int64_t>(duration.nanos()))), "s");
}

std::string TimestampText(const google::protobuf::Timestamp& timestamp) {
  const absl::CivilSecond civil = absl::CivilSecond(1970) + timestamp.seconds();
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d%sZ", civil.year(), civil.month(),
                         civil.day(), civil.hour(), civil.minute(), civil.second(),
                         FractionText(timestamp.nanos()));
}

}  // namespace headgate::json
