// Text becomes troff: a backslash and a dash are escaped wherever they stand, and a line never
// begins with a dot or an apostrophe, which would be a request. `Words in backticks` are bold.

#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/reference/reference.h"

namespace headgate::reference {
namespace {

std::string Escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '\\') {
      made += "\\e";
    } else if (c == '-') {
      made += "\\-";
    } else if (c == '|') {
      made += "|\\:";  // a line may end there
    } else {
      made += c;
    }
  }
  if (made.starts_with('.') || made.starts_with('\'')) made.insert(0, "\\&");
  return made;
}

std::string Bold(std::string_view text) { return absl::StrCat("\\fB", Escaped(text), "\\fR"); }
std::string Italic(std::string_view text) { return absl::StrCat("\\fI", Escaped(text), "\\fR"); }

std::string Prose(const std::string& text) {
  std::string made;
  bool is_bold = false;
  for (const auto& part : absl::StrSplit(text, '`')) {
    const std::string one(part);
    absl::StrAppend(&made, is_bold ? Bold(one) : Escaped(one));
    is_bold = !is_bold;
  }
  return made;
}

// A sentence of it, where the help is a phrase.
std::string Sentence(const std::string& help) {
  std::string text = help;
  if (!text.empty()) text[0] = absl::ascii_toupper(text[0]);
  return Prose(text);
}

void AppendTerm(const std::string& term, const std::string& meaning, std::string& page) {
  absl::StrAppend(&page, ".TP\n", term, "\n", meaning, "\n");
}

std::string Heading(const Option& option) {
  std::string made;
  for (const std::string& name : option.names) {
    absl::StrAppend(&made, made.empty() ? "" : ", ", Bold(name));
  }
  if (option.value.empty()) return made;
  return absl::StrCat(made, made.empty() ? "" : " ", Italic(option.value));
}

void AppendOption(const Option& option, std::string& page) {
  std::string meaning = Sentence(option.help);
  if (!option.default_value.empty()) {
    absl::StrAppend(&meaning, " [", Escaped(option.default_value), "]");
  }
  if (!option.variable.empty()) absl::StrAppend(&meaning, " (", Bold(option.variable), ")");
  if (option.is_required && !option.names.empty()) absl::StrAppend(&meaning, " It is required.");
  AppendTerm(Heading(option), meaning, page);
}

std::string Usage(const std::string& program, const Place& place) {
  std::string made = Bold(program);
  if (place.path.empty()) {
    absl::StrAppend(&made, " [", Italic("OPTION"), "]...");
    if (!place.command->commands.empty()) {
      absl::StrAppend(&made, " ", Italic("COMMAND"), " [", Italic("ARGUMENT"), "]...");
    }
    return made;
  }
  absl::StrAppend(&made, " ", Bold(place.path));
  if (!place.options.empty()) absl::StrAppend(&made, " [", Italic("OPTION"), "]...");
  for (const Option& argument : place.command->arguments) {
    const std::string name = Italic(argument.value);
    absl::StrAppend(&made, " ", argument.is_required ? name : absl::StrCat("[", name, "]"));
  }
  if (place.command->takes_command)
    absl::StrAppend(&made, " ", Bold("--"), " ", Italic("COMMAND"), "...");
  return made;
}

void AppendCommands(const Program& program, std::string& page) {
  for (const Place& place : PlacesOf(program.root)) {
    if (place.path.empty()) continue;
    absl::StrAppend(&page, ".SS ", Usage(program.root.name, place), "\n",
                    Prose(place.command->help), ".\n");
    for (const Option& argument : place.command->arguments) AppendOption(argument, page);
    for (const Option& option : place.command->options) AppendOption(option, page);
  }
}

void AppendTerms(std::string_view title, const std::vector<Term>& terms, std::string& page) {
  if (terms.empty()) return;
  absl::StrAppend(&page, ".SH ", std::string(title), "\n");
  for (const Term& term : terms) AppendTerm(Bold(term.word), Sentence(term.meaning), page);
}

// Examples are typed, so they stand as they are.
void AppendExamples(const std::vector<Term>& examples, std::string& page) {
  if (examples.empty()) return;
  page += ".SH EXAMPLES\n";
  for (const Term& example : examples) {
    absl::StrAppend(&page, ".PP\n", Sentence(example.meaning), "\n.PP\n.RS 4\n.nf\n",
                    Escaped(example.word), "\n.fi\n.RE\n");
  }
}

}  // namespace

std::string ManPage(const Program& program) {
  const std::string& name = program.root.name;
  std::string page = absl::StrCat(
      ".\\\" Made by the program itself, of the definitions of its options.\n.TH ",
      absl::AsciiStrToUpper(name), " ", program.section, " \"\" \"", Escaped(name), " ",
      program.version, "\" \"Headgate\"\n.SH NAME\n", name, " \\- ", Escaped(program.summary),
      "\n.SH SYNOPSIS\n", Usage(name, PlacesOf(program.root)[0]), "\n.SH DESCRIPTION\n",
      Prose(program.root.help), "\n");
  const bool has_commands = !program.root.commands.empty();
  absl::StrAppend(&page, has_commands ? ".SH GLOBAL OPTIONS\nThey may stand before or after the "
                                        "command.\n"
                                      : ".SH OPTIONS\n");
  for (const Option& option : program.root.options) AppendOption(option, page);
  if (has_commands) page += ".SH COMMANDS\n";
  AppendCommands(program, page);
  AppendTerms("ENVIRONMENT", VariablesOf(program), page);
  AppendTerms("EXIT STATUS", program.exit_statuses, page);
  AppendTerms("FILES", program.files, page);
  AppendExamples(program.examples, page);
  if (!program.see_also.empty()) page += ".SH SEE ALSO\n";
  for (size_t i = 0; i < program.see_also.size(); ++i) {
    const std::string& other = program.see_also[i];
    const size_t section = other.find('(');
    absl::StrAppend(&page, ".BR ", Escaped(other.substr(0, section)), " ", other.substr(section),
                    i + 1 < program.see_also.size() ? " ,\n" : "\n");
  }
  return page;
}

}  // namespace headgate::reference
