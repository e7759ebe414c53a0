#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/reference/reference.h"

namespace headgate::reference {
namespace {

// Within a table a bar would begin the next cell, in code too.
std::string Cell(const std::string& text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

std::string Named(const Option& option) {
  const std::string names = absl::StrJoin(option.names, ", ");
  return absl::StrCat(names, names.empty() || option.value.empty() ? "" : " ", option.value);
}

void AppendRow(const Option& option, std::string& text) {
  absl::StrAppend(&text, "| `", Cell(Named(option)), "` | ", Cell(option.help));
  if (!option.default_value.empty()) absl::StrAppend(&text, " [", option.default_value, "]");
  if (!option.variable.empty()) absl::StrAppend(&text, " [$", option.variable, "]");
  if (option.is_required && !option.names.empty()) absl::StrAppend(&text, "; required");
  absl::StrAppend(&text, " |\n");
}

void AppendTable(const std::vector<Option>& arguments, const std::vector<Option>& options,
                 std::string& text) {
  if (arguments.empty() && options.empty()) return;
  text += "\n| | |\n|---|---|\n";
  for (const Option& option : arguments) AppendRow(option, text);
  for (const Option& option : options) AppendRow(option, text);
}

}  // namespace

std::string Markdown(const Program& program) {
  const std::string& name = program.root.name;
  std::string text;
  for (const Place& place : PlacesOf(program.root)) {
    const bool is_program = place.path.empty();
    const std::string heading =
        is_program ? absl::StrCat("Options of ", program.root.commands.empty() ? "" : "every `",
                                  name, program.root.commands.empty() ? "" : "` command")
                   : absl::StrCat("`", name, " ", place.path, "`");
    absl::StrAppend(&text, text.empty() ? "" : "\n", "### ", heading, "\n");
    if (!is_program) absl::StrAppend(&text, "\n", place.command->help, ".\n");
    AppendTable(place.command->arguments, place.command->options, text);
  }
  return text;
}

}  // namespace headgate::reference
