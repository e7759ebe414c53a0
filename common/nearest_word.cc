#include "common/nearest_word.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "absl/strings/ascii.h"
#include "common/strings.h"

namespace headgate {
namespace {

// Longer words are not compared: the work is the product of both lengths.
constexpr size_t kMaxCompared = 64;

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

std::string NearestWord(std::string_view word, absl::Span<const std::string> known) {
  if (word.empty() || word.size() > kMaxCompared) return "";
  const std::string lower = absl::AsciiStrToLower(Sv(word));
  // A word of two letters resembles too many others.
  size_t least = 1 + (word.size() < 3 ? 0 : word.size() / 3);
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

}  // namespace headgate
