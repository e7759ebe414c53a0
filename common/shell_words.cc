#include "common/shell_words.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/strings.h"

namespace headgate {
namespace {

bool IsPlain(char c) {
  constexpr std::string_view kPlain = "_@%+=:,./-";
  return absl::ascii_isalnum(c) || kPlain.find(c) != std::string_view::npos;
}

}  // namespace

std::string ShellWord(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlain)) return std::string(word);
  return ShellQuoted(word);
}

std::string ShellQuoted(std::string_view word) {
  return absl::StrCat("'", absl::StrReplaceAll(Sv(word), {{"'", "'\\''"}}), "'");
}

std::string ShellLine(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ", [](std::string* line, const std::string& word) {
    absl::StrAppend(line, ShellWord(word));
  });
}

}  // namespace headgate
