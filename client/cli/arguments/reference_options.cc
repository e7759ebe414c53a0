#include "client/cli/arguments/reference_options.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/reference/describe.h"
#include "common/reference/reference.h"

namespace headgate::cli {
namespace {

using reference::Term;

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

std::vector<Term> Examples() {
  return {
      {"headgate check job-7:etl --cost 250", "Ask whether a chunk of 250 rows may be done now:"},
      {"headgate report 6772207337114437633 --actual-cost 180",
       "Say what it cost, with the permit that check printed:"},
      {"headgate run --identity nightly-vacuum:etl --wait 2h -- psql -c 'VACUUM orders'",
       "Wait for a permit, run a command, and report the time that it took:"},
      {"headgate explain job-7:etl --cost 250", "Why a job is held back, and what would help:"},
      {"headgate log --since 07:00 --top", "Who was held back most since 07:00:"},
      {"headgate pause backfill --for 2h --reason 'failover drill'",
       "Stop all backfills for two hours:"},
      {"headgate overrides delete 3 --reason 'the drill is over'", "End that before its time:"},
      {"headgate completion bash > ~/.local/share/bash-completion/completions/headgate",
       "Have bash complete commands and options, where no package has done it:"},
  };
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
  // For packages, and for docs/cli.md.
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
      .examples = Examples(),
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
  program.exit_statuses.back().meaning = "of `run`: signal n ended its command";
  return reference::ReferenceIn(form, program);
}

std::string ExitStatusText() {
  return absl::StrCat(
      "Exit status: ", Listed(ExitStatuses(), "; "),
      ".\n`run` ends with its command's status: ", Listed(ExitStatusesOfRun(), ", "), ".");
}

}  // namespace headgate::cli
