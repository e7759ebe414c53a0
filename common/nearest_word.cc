#include "common/nearest_word.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headgate {
namespace {

constexpr size_t kLongestWord = 64;
constexpr size_t kLettersForAMistake = 3;

size_t Distance(std::string_view a, std::string_view b) {
  // By how many letters of `a` are read: of two rows before, of the row before, and of this one.
  std::vector<size_t> earlier(b.size() + 1), before(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) now[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    earlier.swap(before);
    before.swap(now);
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool is_same = a[i - 1] == b[j - 1];
      now[j] = std::min({before[j] + 1, now[j - 1] + 1, before[j - 1] + (is_same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], earlier[j - 2] + 1);
      }
    }
  }
  return now[b.size()];
}

}  // namespace

std::optional<std::string> NearestWord(std::string_view word, absl::Span<const std::string> known) {
  if (word.size() > kLongestWord) return std::nullopt;
  const size_t most = (word.size() + kLettersForAMistake - 1) / kLettersForAMistake;
  std::optional<std::string> nearest;
  size_t least = most + 1;
  for (const std::string& one : known) {
    const size_t distance = Distance(word, one);
    if (distance < least) {
      least = distance;
      nearest = one;
    }
  }
  return nearest;
}

}  // namespace headgate
