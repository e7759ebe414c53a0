#include "server/serve/json/scalar_text.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "common/strings.h"

namespace headgate::json {
namespace {

constexpr std::string_view kNan = "NaN";
constexpr std::string_view kInfinity = "Infinity";
constexpr std::string_view kMinusInfinity = "-Infinity";

size_t TakeDigits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[count]))) {
    ++count;
  }
  text.remove_prefix(count);
  return count;
}

template <typename Number>
bool ReadWhole(std::string_view text, Number& value) {
  const std::from_chars_result read =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

// What is too small for a double, or a float, is the nearest that it has, 0 or next to it. Of what
// is too large there is none.
template <typename Number>
bool ReadTiny(std::string_view text, Number& value) {
  double wide = 0;
  if (!absl::SimpleAtod(Sv(text), &wide) || std::abs(wide) >= 1) return false;
  value = static_cast<Number>(wide) + Number{0};  // no -0
  return true;
}

template <typename Number>
bool ReadReal(std::string_view text, Number& value) {
  const std::from_chars_result read =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ptr != text.data() + text.size()) return false;
  if (read.ec == std::errc::result_out_of_range) return ReadTiny(text, value);
  return read.ec == std::errc();
}

}  // namespace

bool IsNumber(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool leads_with_zero = text.starts_with('0');
  const size_t whole = TakeDigits(text);
  if (whole == 0 || (leads_with_zero && whole > 1)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (TakeDigits(text) == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (TakeDigits(text) == 0) return false;
  }
  return text.empty();
}

std::string_view WordOrNumber(std::string_view text) {
  const bool is_one = text == kNan || text == kInfinity || text == kMinusInfinity || IsNumber(text);
  return is_one ? text : std::string_view();
}

template <typename Number>
bool ReadNumber(std::string_view text, Number& value) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (text == kNan) {
      value = std::numeric_limits<Number>::quiet_NaN();
    } else if (text == kInfinity || text == kMinusInfinity) {
      value = std::numeric_limits<Number>::infinity() * (text == kInfinity ? 1 : -1);
    } else if (text == "-0") {
      value = 0;  // a whole number, as protobuf has it
    } else {
      return ReadReal(text, value);
    }
    return true;
  } else {
    if (ReadWhole(text, value)) return true;
    // "1.0" and "1e3" are whole numbers as well. 2^63 and 2^64 are doubles, and one too large.
    double wide = 0;
    if (!ReadWhole(text, wide) || wide != std::trunc(wide)) return false;
    const double end = std::ldexp(1.0, std::numeric_limits<Number>::digits);
    if (wide >= end || wide < static_cast<double>(std::numeric_limits<Number>::min())) return false;
    value = static_cast<Number>(wide);
    return true;
  }
}

template bool ReadNumber(std::string_view, int32_t&);
template bool ReadNumber(std::string_view, uint32_t&);
template bool ReadNumber(std::string_view, int64_t&);
template bool ReadNumber(std::string_view, uint64_t&);
template bool ReadNumber(std::string_view, float&);
template bool ReadNumber(std::string_view, double&);

}  // namespace headgate::json
