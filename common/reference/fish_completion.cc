// fish knows by itself which options take a value; what it does not know is how deep in the
// commands the line is.

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/reference/completion_table.h"
#include "common/reference/reference.h"

namespace headgate::reference {
namespace {

constexpr char kFishScript[] =
    R"FISH(# Completion of PROGRAM for fish. It is sourced, or stands in a folder of fish_complete_path.
function __FUNCTION_is_at --description 'Whether the line has come to one of these commands'
    set -l at ''
    set -l option ''
    for word in (commandline -opc)[2..]
        if test -n "$option"; and not string match --quiet -- '-*' $word
            set option ''
            continue
        end
        set option ''
        switch "$at:$word"
            case RUNS
                contains -- '--' $argv
                return
            case VALUED
                set option $word
            case COMMANDS
                set at (string trim "$at $word")
        end
    end
    contains -- "$at" $argv
end
complete --command PROGRAM --no-files
complete --command PROGRAM --condition '__FUNCTION_is_at --' --force-files --arguments '(__fish_complete_command)'
LINES)FISH";

std::string QuotedForFish(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string Patterns(const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& pattern : patterns) absl::StrAppend(&text, " ", QuotedForFish(pattern));
  return text.empty() ? "' '" : text.substr(1);
}

std::string FishDescription(const std::string& help) {
  return absl::StrCat(" --description ", QuotedForFish(absl::StrReplaceAll(help, {{"`", ""}})));
}

// What comes after an option, or as an argument.
std::string FishProposal(const Option& option) {
  if (option.files == Files::kFile) return " --force-files";
  if (option.files == Files::kFolder) return " --arguments '(__fish_complete_directories)'";
  if (option.words.empty()) return "";
  return absl::StrCat(" --arguments ", QuotedForFish(absl::StrJoin(option.words, " ")));
}

std::string Line(const std::string& program, const std::string& path, const Option& option) {
  std::string line = absl::StrCat("complete --command ", program);
  if (!path.empty()) {
    absl::StrAppend(&line, " --condition ",
                    QuotedForFish(absl::StrCat("__", program, "_is_at \"", path, "\"")));
  }
  for (const std::string& name : option.names) {
    absl::StrAppend(&line, name.starts_with("--") ? " --long-option " : " --short-option ",
                    name.substr(name.find_first_not_of('-')));
  }
  if (!option.names.empty() && !option.value.empty())
    line += option.files == Files::kFile ? " --require-parameter" : " --exclusive";
  return absl::StrCat(line, FishProposal(option),
                      option.names.empty() ? "" : FishDescription(option.help), "\n");
}

std::string LinesOf(const std::string& program, const Place& place) {
  std::string lines;
  for (const Option* option : place.options)
    absl::StrAppend(&lines, Line(program, place.path, *option));
  if (!place.command->arguments.empty() && place.command->commands.empty()) {
    const Option& argument = place.command->arguments[0];
    if (!FishProposal(argument).empty())
      absl::StrAppend(&lines, Line(program, place.path, argument));
  }
  for (const Command& below : place.command->commands) {
    absl::StrAppend(&lines, "complete --command ", program, " --condition ",
                    QuotedForFish(absl::StrCat("__", program, "_is_at \"", place.path, "\"")),
                    " --arguments ", below.name, FishDescription(below.help), "\n");
  }
  return lines;
}

}  // namespace

std::string FishCompletion(const Program& program) {
  const CompletionTable table = TableOf(program.root);
  std::string lines;
  for (const Place& place : table.places)
    absl::StrAppend(&lines, LinesOf(program.root.name, place));
  return absl::StrReplaceAll(kFishScript, {{"PROGRAM", program.root.name},
                                           {"FUNCTION", program.root.name},
                                           {"RUNS", Patterns(table.runs)},
                                           {"VALUED", Patterns(table.valued)},
                                           {"COMMANDS", Patterns(table.commands)},
                                           {"LINES", lines}});
}

}  // namespace headgate::reference
