#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/reference/completion_table.h"
#include "common/reference/reference.h"
#include "common/shell_words.h"

namespace headgate::reference {
namespace {

constexpr char kZshScript[] = R"ZSH(#compdef PROGRAM
# Completion of PROGRAM for zsh. It is sourced after compinit, or stands in a folder of fpath as _PROGRAM.
_FUNCTION() {
  local current=$words[CURRENT] at= option= word i files=
  local -a commands options values
  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
    if [[ -n $option && $word != -* ]]; then option=; continue; fi
    option=
    case ${at}:$word in
      RUNS)
        shift $i words
        ((CURRENT -= i))
        _normal
        return
        ;;
      VALUED) option=$word ;;
      COMMANDS) at=${at:+$at }$word ;;
    esac
  done
  if [[ $current == --*=* ]]; then
    option=${current%%=*}
    current=
    compset -P '*='
  fi
  if [[ -n $option && $current != -* ]]; then
    case ${at}:$option in
VALUES    esac
  else
    options=(
GLOBALS    )
    case $at in
ARGUMENTS    esac
    if [[ $current == -* ]]; then commands=() values=() files=; else options=(); fi
  fi
  if [[ $files == folders ]]; then _files -/; elif [[ -n $files ]]; then _files; fi
  if (($#commands)); then _describe -t commands command commands; fi
  if (($#options)); then _describe -o -t options option options; fi
  if (($#values)); then compadd -a values; fi
}
if [[ $funcstack[1] == _FUNCTION ]]; then _FUNCTION "$@"; else compdef _FUNCTION PROGRAM; fi
)ZSH";

// "name:what it does", as _describe has it.
std::string ZshDescribed(const std::string& name, const std::string& help) {
  const std::string plain = absl::StrReplaceAll(help, {{"`", ""}});
  return ShellQuoted(absl::StrCat(absl::StrReplaceAll(name, {{":", "\\:"}}), ":", plain));
}

std::string ZshProposal(const std::vector<std::string>& words, Files files) {
  if (files != Files::kNone) return files == Files::kFile ? "files=all" : "files=folders";
  std::string text = "values=(";
  for (const std::string& word : words) absl::StrAppend(&text, ShellQuoted(word), " ");
  text.back() = ')';
  return text;
}

std::string DescribedOptions(const std::vector<const Option*>& options) {
  std::string text;
  for (const Option* option : options) {
    for (const std::string& name : option->names) {
      absl::StrAppend(&text, "      ", ZshDescribed(name, option->help), "\n");
    }
  }
  return text;
}

std::string ArmOf(const Place& place) {
  std::string text = absl::StrCat("      ", ShellQuoted(place.path), ")\n");
  if (!place.path.empty() && !place.options.empty()) {
    absl::StrAppend(&text, "        options+=(\n", DescribedOptions(place.options), "        )\n");
  }
  if (!place.command->commands.empty()) {
    text += "        commands=(\n";
    for (const Command& below : place.command->commands) {
      absl::StrAppend(&text, "          ", ZshDescribed(below.name, below.help), "\n");
    }
    text += "        )\n";
  } else if (!place.command->arguments.empty()) {
    const Option& argument = place.command->arguments[0];
    if (!argument.words.empty() || argument.files != Files::kNone) {
      absl::StrAppend(&text, "        ", ZshProposal(argument.words, argument.files), "\n");
    }
  }
  return absl::StrCat(text, "        ;;\n");
}

}  // namespace

std::string ZshCompletion(const Program& program) {
  const CompletionTable table = TableOf(program.root);
  std::string values;
  for (const Values& known : table.values) {
    absl::StrAppend(&values, "      ", CasePatterns(known.patterns), ") ",
                    ZshProposal(known.words, known.files), " ;;\n");
  }
  std::string arguments;
  for (const Place& place : table.places) absl::StrAppend(&arguments, ArmOf(place));
  return absl::StrReplaceAll(kZshScript, {{"PROGRAM", program.root.name},
                                          {"FUNCTION", program.root.name},
                                          {"RUNS", CasePatterns(table.runs)},
                                          {"VALUED", CasePatterns(table.valued)},
                                          {"COMMANDS", CasePatterns(table.commands)},
                                          {"VALUES", values},
                                          {"GLOBALS", DescribedOptions(table.places[0].options)},
                                          {"ARGUMENTS", arguments}});
}

}  // namespace headgate::reference
