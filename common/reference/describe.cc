#include "common/reference/describe.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace headgate::reference {
namespace {

// What CLI11 calls values that no definition gives a name.
bool IsUnnamed(const std::string& type) {
  return type == "TEXT" || type == "UINT" || type == "INT" || type == "FLOAT" || type == "BOOLEAN";
}

// "level=" of "level=N", "step" of "step[=1m]".
std::string WithoutExample(std::string word) {
  if (const size_t bracket = word.find('['); bracket != std::string::npos) word.resize(bracket);
  if (const size_t equals = word.find('='); equals != std::string::npos) word.resize(equals + 1);
  return word;
}

std::vector<std::string> Alternatives(const std::string& text) {
  std::vector<std::string> words;
  for (const absl::string_view word : absl::StrSplit(text, '|')) {
    words.push_back(WithoutExample(std::string(word)));
  }
  return words;
}

// The first of the help's words that is "a|b|c"; and if there is none, single words in backticks.
std::vector<std::string> WordsInHelp(const std::string& help) {
  for (const absl::string_view part : absl::StrSplit(help, ' ')) {
    if (!absl::StrContains(part, '|')) continue;
    return Alternatives(std::string(part.substr(0, part.find_last_not_of(";,.") + 1)));
  }
  std::vector<std::string> words;
  const std::vector<std::string> parts = absl::StrSplit(help, '`');
  for (size_t i = 1; i + 1 < parts.size(); i += 2) {
    bool is_word = !parts[i].empty();
    for (const char c : parts[i]) is_word = is_word && absl::ascii_islower(c);
    if (is_word) words.push_back(parts[i]);
  }
  return words;
}

// CLI11 adds what is checked, such as "N:INT in [1 - 9]". "HOST:PORT" is a name.
std::string WithoutValidator(const std::string& type) {
  const size_t colon = type.find(':');
  return colon != std::string::npos && absl::StrContains(type.substr(colon), ' ')
             ? type.substr(0, colon)
             : type;
}

// "TEXT:{debug,info}" is how CLI11 writes a list.
void TakeType(const std::string& type, Option& option) {
  const size_t brace = type.find(":{");
  if (brace != std::string::npos && type.ends_with('}')) {
    const std::string list = type.substr(brace + 2, type.size() - brace - 3);
    option.words = absl::StrSplit(list, ',');
    option.value = absl::StrJoin(option.words, "|");
    return;
  }
  option.value = WithoutValidator(type);
  option.words =
      absl::StrContains(option.value, '|') ? Alternatives(option.value) : WordsInHelp(option.help);
}

Files FilesOf(const std::string& value) {
  if (value == "FILE") return Files::kFile;
  return value == "FOLDER" ? Files::kFolder : Files::kNone;
}

Option DescribeOption(const CLI::Option& defined) {
  Option option;
  for (const std::string& name : defined.get_snames()) option.names.push_back("-" + name);
  for (const std::string& name : defined.get_lnames()) option.names.push_back("--" + name);
  option.help = defined.get_description();
  option.variable = defined.get_envname();
  option.is_required = defined.get_required();
  if (defined.get_items_expected_max() == 0) return option;
  option.default_value = defined.get_default_str();
  TakeType(defined.get_type_name(), option);
  if (option.names.empty() && IsUnnamed(option.value)) {
    option.value = absl::AsciiStrToUpper(defined.get_name(true));
  }
  option.files = FilesOf(option.value);
  return option;
}

}  // namespace

Command Describe(const CLI::App& app) {
  Command command;
  command.name = app.get_name();
  command.help = app.get_description();
  command.takes_command = absl::StrContains(command.help, "-- COMMAND");
  command.needs_command = app.get_require_subcommand_min() > 0;
  const bool is_program = app.get_parent() == nullptr;
  for (const CLI::Option* defined : app.get_options({})) {
    const bool is_help_again = defined == app.get_help_ptr() && !is_program;
    if (defined->get_group().empty() || is_help_again) continue;
    (defined->get_positional() ? command.arguments : command.options)
        .push_back(DescribeOption(*defined));
  }
  for (const CLI::App* below : app.get_subcommands({})) {
    if (!below->get_group().empty()) command.commands.push_back(Describe(*below));
  }
  return command;
}

}  // namespace headgate::reference
