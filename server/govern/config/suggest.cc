#include "server/govern/config/suggest.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest_word.h"
#include "common/strings.h"

namespace headgate::config {
namespace {

constexpr size_t kMaxListed = 24;

}  // namespace

std::string Suggestion(std::string_view name, const std::vector<std::string>& known) {
  const std::string nearest = NearestWord(name, known);
  if (!nearest.empty()) return absl::StrCat("; did you mean ", Quoted(nearest), "?");
  if (known.empty()) return "";
  std::vector<std::string> listed(
      known.begin(),
      known.begin() + static_cast<std::ptrdiff_t>(std::min(known.size(), kMaxListed)));
  for (std::string& text : listed) text = Quoted(text);
  if (known.size() > kMaxListed) listed.push_back("...");
  return absl::StrCat("; known: ", absl::StrJoin(listed, ", "));
}

std::string Alternatives(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const char* const separator = i == 0 ? "" : i + 1 < names.size() ? ", " : " or ";
    absl::StrAppend(&text, separator, names[i]);
  }
  return text;
}

std::string Quoted(std::string_view text) {
  constexpr size_t kMaxBytes = 60;
  if (text.size() <= kMaxBytes) {
    return absl::StrCat("'", absl::Utf8SafeCHexEscape(Sv(text)), "'");
  }
  size_t end = kMaxBytes;  // not within a character
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat("'", absl::Utf8SafeCHexEscape(Sv(text.substr(0, end))), "...'");
}

}  // namespace headgate::config
