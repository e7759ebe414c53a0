#include "client/proxy/wire/statement_tags.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "client/proxy/wire/sql_scan.h"
#include "common/url_text.h"

namespace headgate::proxy {
namespace {

using Tags = std::map<std::string, std::string>;

// 'value', with \' for a quote in it; takes it from the text. None: there is none.
std::optional<std::string> TakeValue(std::string_view& text) {
  if (!text.starts_with('\'')) return std::nullopt;
  text.remove_prefix(1);
  std::string value;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      value.push_back(text[++i]);
    } else if (text[i] == '\'') {
      text.remove_prefix(i + 1);
      return value;
    } else {
      value.push_back(text[i]);
    }
  }
  return std::nullopt;
}

bool IsBlank(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

std::string_view WithoutSpaceBefore(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  return text;
}
std::string_view WithoutSpaceAfter(std::string_view text) {
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

// key='value', ...; none: the comment says something else.
std::optional<Tags> ReadTags(std::string_view text) {
  Tags tags;
  for (text = WithoutSpaceBefore(text); !text.empty(); text = WithoutSpaceBefore(text)) {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::optional<std::string> key = DecodeUrl(WithoutSpaceAfter(text.substr(0, equals)));
    text = WithoutSpaceBefore(text.substr(equals + 1));
    const std::optional<std::string> quoted = TakeValue(text);
    if (!key.has_value() || key->empty() || !quoted.has_value()) return std::nullopt;
    const std::optional<std::string> value = DecodeUrl(*quoted);
    if (!value.has_value()) return std::nullopt;
    if (tags.size() < kMaxTags && key->size() + value->size() <= kMaxTagBytes) {
      tags.insert_or_assign(*key, *value);
    }
    text = WithoutSpaceBefore(text);
    if (text.empty()) break;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
  return tags;
}

}  // namespace

Tags TagsOf(std::string_view statement) {
  Tags tags;
  for (std::string_view rest = statement; !rest.empty();) {
    const SqlToken token = NextToken(rest);
    rest.remove_prefix(token.text.size());
    // Of one that was cut nothing is known.
    const std::string_view comment = token.text;
    if (!comment.starts_with("/*") || !comment.ends_with("*/") || comment.size() < 4) continue;
    std::optional<Tags> found = ReadTags(comment.substr(2, comment.size() - 4));
    if (found.has_value() && !found->empty()) tags = *std::move(found);
  }
  return tags;
}

}  // namespace headgate::proxy
