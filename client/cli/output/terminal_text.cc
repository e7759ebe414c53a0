#include "client/cli/output/terminal_text.h"

#include <clocale>
#include <cwchar>

#include "absl/strings/ascii.h"
#include "common/utf8.h"

namespace headgate::cli {
namespace {

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
      const Utf8Character character = DecodeUtf8(text);
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

std::string Escaped(std::string_view text) { return EscapeHarmful(text); }

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
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

std::string Shortened(std::string_view name, size_t columns) {
  if (DisplayWidth(name) <= columns) return std::string(name);
  if (columns == 0) return "";
  // A sentence has no root.
  const bool is_sentence = name.find(' ') != std::string_view::npos;
  const size_t colon = is_sentence ? std::string_view::npos : name.rfind(':');
  const std::string root(colon == std::string_view::npos ? "" : name.substr(colon));
  const size_t root_columns = DisplayWidth(root);
  constexpr size_t kLeast = 4;  // of the beginning, with the sign
  if (root.empty() || columns < kLeast) return Fitted(name, columns - 1) + "…";
  if (root_columns + kLeast <= columns) {
    return Fitted(name, columns - root_columns - 1) + "…" + root;
  }
  return "…" + Fitted(root, columns - 2) + "…";
}

std::string Fitted(std::string_view line, size_t columns) { return Measure(line, columns).kept; }

}  // namespace headgate::cli
