#include "client/cli/arguments/reference_options.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/arguments/help.h"
#include "common/reference/describe.h"
#include "common/reference/reference.h"

namespace headgate::cli {
namespace {

using reference::Term;

constexpr size_t kHelpColumns = 80;

const std::vector<Term>& ExitStatuses() {
  static const auto* const statuses = new std::vector<Term>{
      {"0", "done, or allowed"},        {"1", "denied"},          {"2", "wrong usage or input"},
      {"3", "Headgate is unreachable"}, {"4", "another failure"},
  };
  return *statuses;
}

const std::vector<Term>& ExitStatusesOfRun() {
  static const auto* const statuses = new std::vector<Term>{
      {"126", "not executable"}, {"127", "not found"}, {"128+n", "ended by signal n"}};
  return *statuses;
}

// Those of --help, each once, below what their command does.
void AppendExamples(const reference::Command& command, const std::string& path,
                    std::set<std::string>& known, std::vector<Term>& examples) {
  std::vector<std::string> lines;
  for (const std::string& line : ExamplesOf(path)) {
    if (known.insert(line).second) lines.push_back(line);
  }
  if (!lines.empty() && !path.empty()) {
    examples.push_back({absl::StrJoin(lines, "\n"), absl::StrCat(command.help, ":")});
  }
  for (const reference::Command& below : command.commands) {
    AppendExamples(below, absl::StrCat(path, path.empty() ? "" : " ", below.name), known, examples);
  }
}

std::string Listed(const std::vector<Term>& terms, const char* between) {
  return absl::StrJoin(terms, between, [](std::string* out, const Term& term) {
    absl::StrAppend(out, term.word, " ", term.meaning);
  });
}

}  // namespace

void AddReference(CLI::App& app, std::string& form) {
  const auto take = [&form](const std::string& word) { form = word; };
  CLI::App* completion = app.add_subcommand(
      "completion", "Print a script that completes commands and options in a shell");
  completion->add_option_function<std::string>("shell", take, "whose script")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  // For packages, and for docs/reference.
  CLI::App* hidden = app.add_subcommand("reference", "Print the reference in a form")->group("");
  hidden->add_option_function<std::string>("form", take, "which form")
      ->required()
      ->check(CLI::IsMember(reference::ReferenceForms()));
}

std::string ReferenceText(const CLI::App& app, const std::string& form) {
  reference::Program program{
      .root = reference::Describe(app),
      .version = HEADGATE_VERSION,
      .section = 1,
      .summary = "ask a throttler for PostgreSQL, and operate it",
      .exit_statuses = ExitStatuses(),
      .examples = {},
      .variables = {{"HEADGATE_AGENT_TARGET", "stands in for `--target` of `agent`"},
                    {"NO_COLOR",
                     "where it is not empty, output has no colours unless "
                     "`--color always` says otherwise"}},
      .files = {},
      .see_also = {"headgated(8)", "psql(1)"}};
  for (const Term& status : ExitStatusesOfRun()) {
    program.exit_statuses.push_back(
        {status.word, absl::StrCat("of `run`: its command is ", status.meaning)});
  }
  std::set<std::string> known;
  AppendExamples(program.root, "", known, program.examples);
  program.exit_statuses.back().meaning = "of `run`: signal n ended its command";
  return reference::ReferenceIn(form, program);
}

std::string ExitStatusText() {
  return Wrapped(absl::StrCat("Exit status: ", Listed(ExitStatuses(), "; "),
                              ". `run` ends with its command's status: ",
                              Listed(ExitStatusesOfRun(), ", "), "."),
                 kHelpColumns);
}

}  // namespace headgate::cli
