#include "server/govern/config/scalar.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <type_traits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/nearest_word.h"
#include "common/strings.h"
#include "common/utf8.h"
#include "server/govern/config/suggest.h"

namespace headgate::config {
namespace {

using Kind = YamlNode::Kind;

// What YAML 1.1 reads as a truth value.
bool IsTruthWord(std::string_view text) {
  static const std::vector<std::string> kWords = {"y", "yes", "true",  "on",
                                                  "n", "no",  "false", "off"};
  return std::find(kWords.begin(), kWords.end(), absl::AsciiStrToLower(Sv(text))) != kWords.end();
}

std::string Describe(const YamlNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kList:
      return "a list";
    case Kind::kMapping:
      return "a mapping";
    case Kind::kScalar:
      break;
  }
  return node.quoted ? absl::StrCat("the text ", Quoted(node.text)) : Quoted(node.text);
}

bool IsPlain(const YamlNode& node) { return node.kind == Kind::kScalar && !node.quoted; }

template <typename Number>
std::from_chars_result Convert(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  std::from_chars_result result = std::from_chars(text.data(), end, value);
  if (result.ptr != end) result.ec = std::errc::invalid_argument;
  if constexpr (std::is_floating_point_v<Number>) {
    // Too small for a double, such as 1e-400: the nearest that it has is 0, or next to it.
    const bool is_tiny = result.ec == std::errc::result_out_of_range &&
                         absl::SimpleAtod(Sv(text), &value) && std::abs(value) < 1;
    if (is_tiny) result.ec = std::errc();
  }
  return result;
}

template <typename Number>
bool Parse(std::string_view text, Number& value) {
  return Convert(text, value).ec == std::errc();
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Beyond what a double holds, or YAML's words for what is no number (.inf, -.Inf, .nan), or C's.
bool IsNotFinite(std::string_view text) {
  double value = 0;
  if (Convert(text, value).ec == std::errc::result_out_of_range) return true;
  std::string lower = absl::AsciiStrToLower(Sv(text));
  lower.erase(0, lower.find_first_not_of("+-."));
  return lower == "inf" || lower == "infinity" || lower == "nan";
}

bool IsDecimal(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
  return digits && (text.size() == 1 || text.front() != '0');
}

// MODE_ for an enum whose zero is MODE_UNSPECIFIED.
std::string_view PrefixOf(const google::protobuf::EnumDescriptor& descriptor) {
  std::string_view zero = descriptor.FindValueByNumber(0)->name();
  zero.remove_suffix(std::string_view("UNSPECIFIED").size());
  return zero;
}

}  // namespace

absl::Status Expected(std::string_view what, const YamlNode& got) {
  return absl::InvalidArgumentError(absl::StrCat("expected ", Sv(what), ", got ", Describe(got)));
}

absl::Status ExpectedNotShown(std::string_view what, const YamlNode& got) {
  if (got.kind != Kind::kScalar) return Expected(what, got);
  return absl::InvalidArgumentError(absl::StrCat("expected ", Sv(what), ", got a plain value"));
}

absl::StatusOr<std::string> ReadText(const YamlNode& node, Empty empty) {
  if (node.kind != Kind::kScalar) return Expected("text", node);
  if (node.text.empty() && empty == Empty::kRefused) {
    return absl::InvalidArgumentError("must not be empty; leave the key out instead");
  }
  if (FindBadByte(node.text).has_value()) {
    return absl::InvalidArgumentError("must not hold control characters");
  }
  return node.text;
}

absl::StatusOr<bool> ReadBool(const YamlNode& node) {
  if (IsPlain(node) && (node.text == "true" || node.text == "false")) return node.text == "true";
  const absl::Status wrong = Expected("true or false", node);
  if (!IsPlain(node) || !IsTruthWord(node.text)) return wrong;
  return absl::InvalidArgumentError(
      absl::StrCat(wrong.message(), ", which not every reader of YAML takes for a truth value"));
}

absl::StatusOr<int64_t> ReadInteger(const YamlNode& node, int64_t least, int64_t most) {
  if (!IsPlain(node) || !IsDecimal(node.text)) {
    return Expected("a whole number in decimal digits", node);
  }
  int64_t value = 0;
  if (!Parse(node.text, value) || value < least || value > most) {
    return Expected(absl::StrCat("a number from ", least, " to ", most), node);
  }
  return value;
}

bool LooksLikeNumber(const YamlNode& node) {
  double value = 0;
  return IsPlain(node) && (Parse(node.text, value) || IsNotFinite(node.text));
}

absl::StatusOr<double> ReadNumber(const YamlNode& node) {
  double value = 0;
  if (IsPlain(node) && IsNotFinite(node.text)) return Expected("a finite number", node);
  if (!IsPlain(node) || !Parse(node.text, value)) {
    return Expected("a number without a unit", node);
  }
  return value;
}

absl::StatusOr<absl::Duration> ReadDuration(const YamlNode& node) {
  constexpr std::string_view kWhat = "a duration such as 250ms, 5s or 1h30m";
  if (node.kind != Kind::kScalar) return Expected(kWhat, node);
  double number = 0;
  if (Parse(node.text, number) && std::isfinite(number)) {
    return absl::InvalidArgumentError(absl::StrCat("a duration needs a unit: write ", node.text,
                                                   "s for seconds, or use ns, us, ms, m or h"));
  }
  absl::Duration duration;
  // Abseil's parser knows "inf" as well, which has no digit.
  const bool has_digit = std::any_of(node.text.begin(), node.text.end(), IsDigit);
  if (!has_digit || !absl::ParseDuration(node.text, &duration)) return Expected(kWhat, node);
  if (duration < absl::ZeroDuration()) return Expected("a duration of 0s or more", node);
  if (duration > absl::Hours(24 * 36525)) return Expected("a duration of at most 100 years", node);
  return duration;
}

absl::StatusOr<absl::Time> ReadTime(const YamlNode& node) {
  constexpr std::string_view kWhat = "a time with its zone such as 2027-01-31T18:00:00Z";
  if (node.kind != Kind::kScalar) return Expected(kWhat, node);
  // Abseil's parser also takes white space around it, and words for infinity.
  const bool framed = node.text.size() >= 20 && IsDigit(node.text.front()) &&
                      !absl::ascii_isspace(static_cast<unsigned char>(node.text.back()));
  absl::Time time;
  std::string error;
  if (!framed || !absl::ParseTime(absl::RFC3339_full, node.text, &time, &error)) {
    return Expected(kWhat, node);
  }
  const absl::Time end = absl::FromCivil(absl::CivilYear(2262), absl::UTCTimeZone());
  if (time < absl::UnixEpoch() || time >= end) {
    return Expected("a time from the years 1970 to 2261", node);
  }
  return time;
}

absl::StatusOr<int> ReadEnum(const YamlNode& node,
                             const google::protobuf::EnumDescriptor& descriptor) {
  const std::string_view prefix = PrefixOf(descriptor);
  std::vector<std::string> names;
  for (int i = 0; i < descriptor.value_count(); ++i) {
    const google::protobuf::EnumValueDescriptor& value = *descriptor.value(i);
    if (value.number() == 0) continue;
    names.push_back(value.name().substr(prefix.size()));
    if (node.kind == Kind::kScalar && node.text == names.back()) return value.number();
  }
  const absl::Status wrong = Expected(Alternatives(names), node);
  if (node.kind != Kind::kScalar) return wrong;
  if (IsPlain(node) && IsTruthWord(node.text)) {
    return absl::InvalidArgumentError(
        absl::StrCat(wrong.message(), ", which YAML may read as a truth value"));
  }
  std::string_view text = node.text;
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  const std::string nearest = NearestWord(text, names);
  if (nearest.empty()) return wrong;
  return absl::InvalidArgumentError(absl::StrCat(wrong.message(), "; did you mean ", nearest, "?"));
}

}  // namespace headgate::config
