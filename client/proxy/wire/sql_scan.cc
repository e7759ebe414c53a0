#include "client/proxy/wire/sql_scan.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"

namespace headgate::proxy {
namespace {

using Kind = SqlToken::Kind;

// Bytes above 127 are letters, whatever the encoding.
bool BeginsWord(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
bool GoesOnWord(char c) { return BeginsWord(c) || IsDigit(c) || c == '$'; }

template <typename Is>
size_t CountWhile(std::string_view text, size_t from, const Is& is) {
  size_t end = from;
  while (end < text.size() && is(text[end])) ++end;
  return end;
}

// Up to where a quoted text ends that begins at `from` with its quote. A doubled quote is one.
size_t EndOfQuoted(std::string_view text, size_t from, bool has_escapes) {
  const char quote = text[from];
  for (size_t i = from + 1; i < text.size(); ++i) {
    if (has_escapes && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      if (i + 1 < text.size() && text[i + 1] == quote) {
        ++i;
      } else {
        return i + 1;
      }
    }
  }
  return text.size();
}

size_t EndOfBlockComment(std::string_view text) {
  size_t depth = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    const std::string_view two = text.substr(i, 2);
    if (two == "/*") {
      ++depth;
      ++i;
    } else if (two == "*/") {
      ++i;
      if (--depth == 0) return i + 1;
    }
  }
  return text.size();
}

// $tag$ ... $tag$, or 0: it is none.
size_t EndOfDollarQuoted(std::string_view text) {
  const size_t tag_end = CountWhile(text, 1, [](char c) { return GoesOnWord(c) && c != '$'; });
  if (tag_end >= text.size() || text[tag_end] != '$') return 0;
  if (tag_end > 1 && IsDigit(text[1])) return 0;
  const std::string_view tag = text.substr(0, tag_end + 1);
  const size_t end = text.find(tag, tag.size());
  return end == std::string_view::npos ? text.size() : end + tag.size();
}

// 12, 1.5e-3, .5, 0x1F, 1_000
size_t EndOfNumber(std::string_view text) {
  size_t end = CountWhile(text, 0, [](char c) { return GoesOnWord(c) || c == '.'; });
  const bool has_exponent = end < text.size() && (text[end] == '+' || text[end] == '-') &&
                            (text[end - 1] == 'e' || text[end - 1] == 'E') &&
                            text.substr(0, 2) != "0x" && text.substr(0, 2) != "0X";
  if (has_exponent) end = CountWhile(text, end + 1, IsDigit);
  // 1..2 is a range of two numbers.
  const size_t range = text.substr(0, end).find("..");
  return range == std::string_view::npos || range == 0 ? end : range;
}

// The prefix of a constant, as in E'': how long it is; 0: there is none.
size_t PrefixOfString(std::string_view text) {
  const char first = absl::ascii_tolower(static_cast<unsigned char>(text[0]));
  const bool is_short = first == 'e' || first == 'b' || first == 'x' || first == 'n';
  if (is_short && text.size() > 1 && text[1] == '\'') return 1;
  if (first == 'u' && text.size() > 2 && text[1] == '&' && text[2] == '\'') return 2;
  return 0;
}

SqlToken Token(Kind kind, std::string_view text, size_t size) {
  return {kind, text.substr(0, size)};
}

}  // namespace

SqlToken NextToken(std::string_view text) {
  const char first = text[0];
  const char second = text.size() > 1 ? text[1] : '\0';
  if (IsSpace(first)) return Token(Kind::kSpace, text, CountWhile(text, 0, IsSpace));
  if (first == '-' && second == '-') {
    return Token(Kind::kComment, text, std::min(text.find('\n'), text.size()));
  }
  if (first == '/' && second == '*') return Token(Kind::kComment, text, EndOfBlockComment(text));
  if (first == '\'') return Token(Kind::kString, text, EndOfQuoted(text, 0, false));
  if (first == '"') return Token(Kind::kIdentifier, text, EndOfQuoted(text, 0, false));
  if (first == '$') {
    if (IsDigit(second)) return Token(Kind::kParameter, text, CountWhile(text, 1, IsDigit));
    if (const size_t end = EndOfDollarQuoted(text); end > 0) return Token(Kind::kString, text, end);
    return Token(Kind::kOther, text, 1);
  }
  if (first == '.' && second == '.') return Token(Kind::kOther, text, 2);
  if (IsDigit(first) || (first == '.' && IsDigit(second))) {
    return Token(Kind::kNumber, text, EndOfNumber(text));
  }
  if (BeginsWord(first)) {
    if (const size_t prefix = PrefixOfString(text); prefix > 0) {
      const bool has_escapes = first == 'e' || first == 'E';
      return Token(Kind::kString, text, EndOfQuoted(text, prefix, has_escapes));
    }
    return Token(Kind::kWord, text, CountWhile(text, 0, GoesOnWord));
  }
  return Token(Kind::kOther, text, 1);
}

}  // namespace headgate::proxy
