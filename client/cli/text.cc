#include "client/cli/text.h"

#include <algorithm>
#include <array>
#include <clocale>
#include <cwchar>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace headgate::cli {
namespace {

struct Character {
  char32_t code = 0;
  size_t bytes = 0;  // 0: no UTF-8
};

// The first character of a text that is not empty, as RFC 3629 has it: neither overlong forms nor
// surrogates.
Character Decode(std::string_view text) {
  constexpr Character kInvalid;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {.code = lead, .bytes = 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return kInvalid;
  char32_t code = lead & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return kInvalid;
    code = code << 6 | (next & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    return kInvalid;
  }
  return {.code = code, .bytes = bytes};
}

bool IsHarmful(char32_t code) {
  using Range = std::pair<char32_t, char32_t>;
  constexpr std::array<Range, 9> kRanges = {{
      {0x00, 0x1f},        // C0
      {0x7f, 0x9f},        // DEL and C1, which has a control sequence introducer of its own
      {0x061c, 0x061c},    // direction marks
      {0x200b, 0x200f},    // zero width, and more direction marks
      {0x2028, 0x202e},    // line separators, direction embeddings and overrides
      {0x2060, 0x206f},    // invisible operators, direction isolates
      {0xfeff, 0xfeff},    // byte order mark
      {0xfff9, 0xfffb},    // interlinear annotations
      {0xe0000, 0xe007f},  // tags
  }};
  for (const auto& [first, last] : kRanges) {
    if (code >= first && code <= last) return true;
  }
  return false;
}

void AppendEscape(char32_t code, std::string& out) {
  switch (code) {
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      if (code < 0x100) {
        absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned>(code));
      } else {
        absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(code));
      }
  }
}

// wcwidth() asks the thread's locale, which need not be a UTF-8 one.
size_t WidthOf(char32_t code) {
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return 1;
  const locale_t before = uselocale(utf8);
  const int width = wcwidth(static_cast<wchar_t>(code));
  uselocale(before);
  return width < 0 ? 1 : static_cast<size_t>(width);
}

// Bytes of the colour sequence that the text begins with; 0: none.
size_t ColourSequence(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find('m');
  return end == std::string_view::npos ? 0 : end + 1;
}

// The bytes of `text` that fit into so many columns, and how many columns they take.
struct Measured {
  std::string kept;
  size_t columns = 0;
};
Measured Measure(std::string_view text, size_t most) {
  Measured result;
  bool full = false;
  while (!text.empty()) {
    size_t bytes = ColourSequence(text);
    if (bytes == 0) {
      const Character character = Decode(text);
      bytes = character.bytes == 0 ? 1 : character.bytes;
      const size_t width = character.bytes == 0 ? 1 : WidthOf(character.code);
      full = full || result.columns + width > most;
      if (full) {
        text.remove_prefix(bytes);
        continue;
      }
      result.columns += width;
    }
    result.kept += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = Decode(text);
    if (character.bytes == 0) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (IsHarmful(character.code)) {
      AppendEscape(character.code, out);
    } else {
      out += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = Decode(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string Squeezed(std::string_view text) {
  std::string squeezed(text);
  absl::RemoveExtraAsciiWhitespace(&squeezed);
  std::replace_if(squeezed.begin(), squeezed.end(), absl::ascii_isspace, ' ');
  return squeezed;
}

size_t DisplayWidth(std::string_view text) { return Measure(text, std::string::npos).columns; }

std::string Fitted(std::string_view line, size_t columns) { return Measure(line, columns).kept; }

}  // namespace headgate::cli
