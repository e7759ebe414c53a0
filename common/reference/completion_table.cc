#include "common/reference/completion_table.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/shell_words.h"

namespace headgate::reference {
namespace {

void AddValue(const std::string& pattern, const Option& option, CompletionTable& table) {
  table.valued.push_back(pattern);
  if (option.words.empty() && option.files == Files::kNone) return;
  const auto same = std::ranges::find_if(table.values, [&](const Values& values) {
    return values.words == option.words && values.files == option.files;
  });
  if (same != table.values.end()) {
    same->patterns.push_back(pattern);
  } else {
    table.values.push_back({{pattern}, option.words, option.files});
  }
}

}  // namespace

CompletionTable TableOf(const Command& root) {
  CompletionTable table;
  table.places = PlacesOf(root);
  for (const Place& place : table.places) {
    for (const Command& below : place.command->commands) {
      table.commands.push_back(absl::StrCat(place.path, ":", below.name));
    }
    if (place.command->takes_command) table.runs.push_back(absl::StrCat(place.path, ":--"));
    for (const Option* option : place.options) {
      if (option->value.empty()) continue;
      for (const std::string& name : option->names) {
        AddValue(absl::StrCat(place.path.empty() ? "*" : place.path, ":", name), *option, table);
      }
    }
  }
  return table;
}

std::string CasePatterns(const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& pattern : patterns) {
    absl::StrAppend(&text, text.empty() ? "" : "|",
                    absl::StrContains(pattern, ' ') ? ShellQuoted(pattern) : pattern);
  }
  return text.empty() ? "' '" : text;
}

}  // namespace headgate::reference
