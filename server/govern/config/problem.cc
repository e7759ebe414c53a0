#include "server/govern/config/problem.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace headgate::config {

std::string Problem::ToString() const {
  if (at.line == 0) return absl::StrCat(file, ": ", text);
  return absl::StrCat(file, ":", at.line, ":", at.column, ": ", text);
}

void ProblemList::Add(Position at, std::string text) {
  if (full()) {
    ++dropped_;
  } else {
    problems_.push_back({.file = file_, .at = at, .text = std::move(text)});
  }
}

std::vector<Problem> ProblemList::Take() && {
  std::stable_sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.at.line, a.at.column) < std::tie(b.at.line, b.at.column);
  });
  if (dropped_ > 0) {
    problems_.push_back({.file = file_, .at = {}, .text = absl::StrCat("and ", dropped_, " more")});
  }
  return std::move(problems_);
}

}  // namespace headgate::config
