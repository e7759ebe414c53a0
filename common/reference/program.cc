#include "common/reference/program.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace headgate::reference {
namespace {

constexpr char kPrefix[] = "HEADGATE_";

void AddPlaces(const Command& command, const Place& above, std::vector<Place>& places) {
  Place place;
  place.path = above.path.empty() ? command.name : absl::StrCat(above.path, " ", command.name);
  place.command = &command;
  const bool has_those_above = !above.path.empty() && above.command->needs_command;
  if (has_those_above) place.options = above.options;
  for (const Option& option : command.options) place.options.push_back(&option);
  places.push_back(place);
  for (const Command& below : command.commands) AddPlaces(below, place, places);
}

// Those that the help names, as "[$HEADGATE_TARGET]" does.
std::vector<std::string> NamedIn(const std::string& help) {
  std::vector<std::string> names;
  for (size_t at = help.find(kPrefix); at != std::string::npos; at = help.find(kPrefix, at + 1)) {
    size_t end = at;
    while (end < help.size() && (absl::ascii_isupper(help[end]) || help[end] == '_')) ++end;
    names.push_back(help.substr(at, end - at));
  }
  return names;
}

// What several commands have is of none of them.
void AddVariable(const std::string& name, const std::string& option, const std::string& path,
                 std::vector<Term>& terms) {
  const std::string meaning = absl::StrCat("stands in for `", option, "`");
  const std::string of = path.empty() ? "" : absl::StrCat(" of `", path, "`");
  const auto found =
      std::ranges::find_if(terms, [&](const Term& term) { return term.word == name; });
  if (found == terms.end()) {
    terms.push_back({name, meaning + of});
  } else {
    found->meaning = meaning;
  }
}

}  // namespace

std::vector<Place> PlacesOf(const Command& root) {
  Place top{.path = "", .command = &root, .options = {}};
  std::vector<Place> places = {top};
  for (const Option& option : root.options) places[0].options.push_back(&option);
  for (const Command& command : root.commands) AddPlaces(command, top, places);
  return places;
}

std::vector<Term> VariablesOf(const Program& program) {
  std::vector<Term> terms;
  for (const Place& place : PlacesOf(program.root)) {
    for (const Option& option : place.command->options) {
      std::vector<std::string> names = NamedIn(option.help);
      if (!option.variable.empty()) names.push_back(option.variable);
      for (const std::string& name : names) {
        AddVariable(name, option.names.back(), place.path, terms);
      }
    }
  }
  terms.insert(terms.end(), program.variables.begin(), program.variables.end());
  return terms;
}

}  // namespace headgate::reference
