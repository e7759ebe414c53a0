// bash splits words at "=" and ":" too, so an option's value may be three words on; what is left
// over from a split value is neither a command nor an option where it stands.

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/reference/completion_table.h"
#include "common/reference/reference.h"
#include "common/shell_words.h"

namespace headgate::reference {
namespace {

constexpr char kBashScript[] =
    R"BASH(# Completion of PROGRAM for bash. It is sourced, or stands in bash-completion's folder.
_FUNCTION() {
  local current=${COMP_WORDS[COMP_CWORD]} at= option= passed= words= files= word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -n $passed ]]; then passed=-f; continue; fi
    if [[ $word == = ]]; then continue; fi
    if [[ -n $option && $word != -* ]]; then option=; continue; fi
    option=
    case $at:$word in
      RUNS) passed=-c ;;
      VALUED) option=$word ;;
      COMMANDS) at=${at:+$at }$word ;;
    esac
  done
  if [[ $current == = ]]; then current=; fi
  if [[ -n $passed ]]; then
    files=$passed
  elif [[ -n $option && $current != -* ]]; then
    case $at:$option in
VALUES    esac
  elif [[ $current == -* ]]; then
    words='GLOBALS'
    case $at in
OPTIONS    esac
  else
    case $at in
ARGUMENTS    esac
  fi
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$files" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    if [[ ${COMPREPLY[0]-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  fi
}
complete -F _FUNCTION PROGRAM
)BASH";

std::string BashProposal(const std::vector<std::string>& words, Files files) {
  if (files != Files::kNone) return files == Files::kFile ? "files=-f" : "files=-d";
  return absl::StrCat("words=", ShellQuoted(absl::StrJoin(words, " ")));
}

std::string Arm(const std::string& patterns, const std::string& what) {
  return absl::StrCat("      ", patterns, ") ", what, " ;;\n");
}

std::string OptionNames(const std::vector<const Option*>& options) {
  std::string text;
  for (const Option* option : options) {
    absl::StrAppend(&text, " ", absl::StrJoin(option->names, " "));
  }
  return text;
}

// Commands below a place, or what its one argument may be.
std::string ArgumentsOf(const Command& command) {
  std::vector<std::string> words;
  for (const Command& below : command.commands) words.push_back(below.name);
  if (!words.empty()) return BashProposal(words, Files::kNone);
  if (command.arguments.empty()) return "";
  const Option& argument = command.arguments[0];
  const bool is_known = !argument.words.empty() || argument.files != Files::kNone;
  return is_known ? BashProposal(argument.words, argument.files) : "";
}

}  // namespace

std::string BashCompletion(const Program& program) {
  const CompletionTable table = TableOf(program.root);
  std::string values;
  for (const Values& known : table.values) {
    absl::StrAppend(&values,
                    Arm(CasePatterns(known.patterns), BashProposal(known.words, known.files)));
  }
  std::string options;
  std::string arguments;
  for (const Place& place : table.places) {
    const std::string names = OptionNames(place.options);
    if (!place.path.empty() && !names.empty()) {
      absl::StrAppend(&options,
                      Arm(ShellQuoted(place.path), absl::StrCat("words+=", ShellQuoted(names))));
    }
    if (const std::string known = ArgumentsOf(*place.command); !known.empty()) {
      absl::StrAppend(&arguments, Arm(ShellQuoted(place.path), known));
    }
  }
  return absl::StrReplaceAll(kBashScript, {{"PROGRAM", program.root.name},
                                           {"FUNCTION", program.root.name},
                                           {"RUNS", CasePatterns(table.runs)},
                                           {"VALUED", CasePatterns(table.valued)},
                                           {"COMMANDS", CasePatterns(table.commands)},
                                           {"VALUES", values},
                                           {"GLOBALS", OptionNames(table.places[0].options)},
                                           {"OPTIONS", options},
                                           {"ARGUMENTS", arguments}});
}

}  // namespace headgate::reference
