#include "client/cli/top/scroll.h"

#include <algorithm>

namespace headgate::cli {

void Scroll::Fit(size_t lines, size_t rows) {
  lines_ = lines;
  rows_ = std::max<size_t>(rows, 1);
  MoveTo(first_);
}

bool Scroll::Take(Key key) {
  const size_t page = std::max<size_t>(rows_ - 1, 1);  // a line of the last page stays
  const auto is = [key](Key named, char letter) {
    return key == named || key == CharacterKey(letter);
  };
  if (is(Key::kUp, 'k')) {
    MoveTo(first_ - std::min<size_t>(first_, 1));
  } else if (is(Key::kDown, 'j')) {
    MoveTo(first_ + 1);
  } else if (is(Key::kPageUp, 'b')) {
    MoveTo(first_ - std::min(first_, page));
  } else if (is(Key::kPageDown, ' ')) {
    MoveTo(first_ + page);
  } else if (is(Key::kHome, 'g')) {
    MoveTo(0);
  } else if (is(Key::kEnd, 'G')) {
    MoveTo(lines_);
  } else {
    return false;
  }
  return true;
}

size_t Scroll::end() const { return std::min(first_ + rows_, lines_); }

void Scroll::MoveTo(size_t first) { first_ = std::min(first, lines_ - std::min(lines_, rows_)); }

}  // namespace headgate::cli
