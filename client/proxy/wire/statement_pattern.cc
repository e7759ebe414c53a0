#include "client/proxy/wire/statement_pattern.h"

#include <xxhash.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/proxy/wire/sql_scan.h"
#include "common/strings.h"
#include "common/utf8.h"

namespace headgate::proxy {
namespace {

using Kind = SqlToken::Kind;

constexpr size_t kHashBytes = 17;  // a '#' and 16 digits

bool IsConstant(Kind kind) {
  return kind == Kind::kString || kind == Kind::kNumber || kind == Kind::kParameter;
}

// Writes tokens one after another, with one space where there was any, and lists of constants, and
// of rows of them, as one.
class PatternText {
 public:
  void Add(const SqlToken& token) {
    if (token.kind == Kind::kSpace || token.kind == Kind::kComment) {
      has_space_ = true;
      return;
    }
    const std::string before = Text(token);
    // "?, ?" is "?", and a sign before a constant is its own.
    if (before == "?" && EndsWithListOfConstants()) {
      has_space_ = false;
      text_.resize(text_.find_last_of('?') + 1);
      return;
    }
    const bool joins =
        before == "," || before == ")" || before == ";" || text_.empty() || text_.back() == '(';
    if (has_space_ && !joins) text_.push_back(' ');
    has_space_ = false;
    text_.append(before);
    if (before == ")") JoinRows();
  }

  std::string Take() {
    while (!text_.empty() && (text_.back() == ';' || text_.back() == ' ')) text_.pop_back();
    return std::move(text_);
  }

 private:
  static std::string Text(const SqlToken& token) {
    if (IsConstant(token.kind)) return "?";
    if (token.kind == Kind::kWord) return absl::AsciiStrToLower(Sv(token.text));
    return std::string(token.text);
  }

  void JoinRows() {
    constexpr std::string_view kRow = "(?)";
    for (const std::string_view two : {"(?), (?)", "(?),(?)"}) {
      if (text_.ends_with(two)) text_.resize(text_.size() - two.size() + kRow.size());
    }
  }

  bool EndsWithListOfConstants() const {
    return text_.size() > 1 && text_.back() == ',' && text_[text_.size() - 2] == '?';
  }

  std::string text_;
  bool has_space_ = false;
};

}  // namespace

std::string PatternOf(std::string_view statement) {
  PatternText pattern;
  for (std::string_view rest = statement; !rest.empty();) {
    const SqlToken token = NextToken(rest);
    rest.remove_prefix(token.text.size());
    pattern.Add(token);
  }
  // What is sent has to be readable, whatever the encoding of the session.
  std::string text = EscapeHarmful(pattern.Take());
  if (text.size() <= kMaxPatternBytes) return text;
  const uint64_t hash = XXH3_64bits(text.data(), text.size());
  size_t size = kMaxPatternBytes - kHashBytes;
  // Not within a character.
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return absl::StrCat(text.substr(0, size), "#", absl::Hex(hash, absl::kZeroPad16));
}

}  // namespace headgate::proxy
