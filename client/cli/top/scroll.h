// Which lines of a list that is longer than the window are shown.
//
// Thread-compatible.
//
//   Scroll scroll;
//   scroll.Fit(body.size(), rows);  // before each frame: both may have changed
//   if (scroll.Take(key)) ...

#pragma once

#include <cstddef>

#include "client/cli/output/keys.h"

namespace headgate::cli {

class Scroll {
 public:
  // Of so many lines, so many are shown at a time.
  void Fit(size_t lines, size_t rows);
  // Whether the key is one that scrolls.
  bool Take(Key key);

  size_t first() const { return first_; }
  // The line behind the last one that is shown.
  size_t end() const;

 private:
  void MoveTo(size_t first);

  size_t lines_ = 0;
  size_t rows_ = 1;
  size_t first_ = 0;
};

}  // namespace headgate::cli
