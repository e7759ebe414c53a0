#include "server/govern/config/suggest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/strings.h"

namespace headgate::config {
namespace {

// Longer names are not compared: the work is the product of both lengths.
constexpr size_t kMaxCompared = 64;
constexpr size_t kMaxListed = 24;

// How many letters to replace, add, drop or swap with their neighbour: optimal string alignment, of
// whose table only the last three rows are kept.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Nearest(std::string_view name, const std::vector<std::string>& known) {
  if (name.empty() || name.size() > kMaxCompared) return "";
  const std::string lower = absl::AsciiStrToLower(Sv(name));
  // A name of two letters resembles too many others.
  size_t least = 1 + (name.size() < 3 ? 0 : name.size() / 3);
  std::string nearest;
  for (const std::string& candidate : known) {
    if (candidate.size() > kMaxCompared) continue;
    const size_t distance = Distance(lower, absl::AsciiStrToLower(candidate));
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string Suggestion(std::string_view name, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(name, known);
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
