#include "client/cli/arguments/work_options.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/arguments/parsed_option.h"
#include "client/cli/output/terminal_text.h"

namespace headgate::cli {
namespace {

absl::StatusOr<absl::Duration> ParseWait(const std::string& text) {
  if (text == "forever") return absl::InfiniteDuration();
  return DurationFromText(text);
}

// What the server takes; it says the same, in the API's words.
absl::StatusOr<absl::Duration> ParseMaxWait(const std::string& text) {
  absl::StatusOr<absl::Duration> wait = DurationFromText(text);
  if (wait.ok() && *wait > absl::Hours(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", Escaped(text), "' is more than 1h; --wait may be longer"));
  }
  return wait;
}

void ParseTag(const std::string& tag, WorkArguments& work) {
  const size_t equals = tag.find('=');
  if (equals == std::string::npos || equals == 0) {
    Refuse("--tag", absl::StrCat("'", Escaped(tag), "' is not of the form key=value"));
  }
  const std::string key = tag.substr(0, equals);
  if (!work.tags.emplace(key, tag.substr(equals + 1)).second) {
    Refuse("--tag", absl::StrCat("'", Escaped(key), "' is given twice"));
  }
}

void AddWork(CLI::App& app, WorkArguments& work) {
  AddParsed<double>(app, "--cost", "COST", work.cost, CostFromText,
                    "what it will cost, in a unit of yours; absent: as learnt");
  app.add_option("--pattern", work.pattern, "what kind of work it is, to learn its cost by");
  app.add_option_function<std::vector<std::string>>(
         "--tag",
         [&work](const std::vector<std::string>& tags) {
           for (const std::string& tag : tags) ParseTag(tag, work);
         },
         "for rules to match; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
}

// By itself, since CLI11 takes the variables of all commands, whichever it is that runs.
void TakeNiceOfEnvironment(RunArguments& run) {
  constexpr char kName[] = "HEADGATE_RUN_NICE";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment.
  const char* const text = std::getenv(kName);
  if (text == nullptr || *text == '\0') return;
  const absl::StatusOr<bool> is_on = SwitchFromText(text);
  if (!is_on.ok()) Refuse(kName, std::string(is_on.status().message()));
  if (*is_on) run.priority = Priority::kIdle;
}

// Costs stood beside permits once; a number that is none is told apart from one that is.
void ParseReport(const std::vector<std::string>& words, ReportArguments& report) {
  if (words.size() != 1) {
    Refuse("report", absl::StrCat("takes one permit; a cost has an option of its own: headgate "
                                  "report ",
                                  Escaped(words[0]), " --actual-cost ", Escaped(words[1])));
  }
  if (!absl::SimpleAtoi(words[0], &report.permit)) {
    Refuse("report", absl::StrCat("'", Escaped(words[0]), "' is not a permit's number"));
  }
}

}  // namespace

CLI::App* AddCheck(CLI::App& app, CheckArguments& check) {
  CLI::App* command = app.add_subcommand("check", "Ask whether one chunk of work may be done now");
  command->add_option("identity,--identity", check.work.identity, "who asks, such as job-7:etl")
      ->required();
  AddWork(*command, check.work);
  command->add_option("--request-id", check.request_id, "makes a repeated Check count once");
  CLI::Option* const dry_run = command->add_flag_callback(
      "--dry-run", [&check] { check.dry_run = DryRun::kYes; }, "answer, but charge nothing");
  CLI::Option* const wait =
      AddParsed<absl::Duration>(*command, "--wait", "DURATION", check.wait, ParseWait,
                                "wait until allowed, for so long or `forever`");
  AddParsed<absl::Duration>(*command, "--max-wait", "DURATION", check.max_wait, ParseMaxWait,
                            "ask once, and wait in the server's line for so long, at most 1h")
      ->excludes(dry_run)
      ->excludes(wait);
  return command;
}

CLI::App* AddExplain(CLI::App& app, ExplainArguments& explain) {
  CLI::App* command = app.add_subcommand("explain", "Say what a Check would answer now, and why");
  command->add_option("identity,--identity", explain.work.identity, "who asks")->required();
  AddWork(*command, explain.work);
  return command;
}

CLI::App* AddRun(CLI::App& app, RunArguments& run) {
  CLI::App* command = app.add_subcommand(
      "run", "Wait for a permit, run a command, report the time it took: run ... -- COMMAND");
  command->add_option("--identity", run.work.identity, "who asks, such as job-7:etl")->required();
  AddWork(*command, run.work);
  AddParsed<absl::Duration>(*command, "--wait", "DURATION", run.wait, ParseWait,
                            "give up after so long, or `forever` [forever]");
  AddWord<OnUnreachable>(*command, "--on-unreachable", run.on_unreachable,
                         {{"wait", OnUnreachable::kWait},
                          {"proceed", OnUnreachable::kProceed},
                          {"fail", OnUnreachable::kFail}},
                         "what to do without a server [fail]");
  AddParsed<double>(*command, "--report-cost", "COST", run.report_cost, CostFromText,
                    "report this cost as well, in the unit of --cost");
  command->add_flag_callback(
      "--nice", [&run] { run.priority = Priority::kIdle; },
      "run it at idle priority, when nobody else wants the processor [HEADGATE_RUN_NICE]");
  command->callback([&run] { TakeNiceOfEnvironment(run); });
  return command;
}

CLI::App* AddReport(CLI::App& app, ReportArguments& report) {
  CLI::App* command = app.add_subcommand("report", "Say that the work under a permit is done");
  command
      ->add_option_function<std::vector<std::string>>(
          "permit",
          [&report](const std::vector<std::string>& words) { ParseReport(words, report); },
          "the permit's number, as check printed it")
      ->expected(1, 2)
      ->required()
      ->type_name("PERMIT");
  AddParsed<double>(*command, "--actual-cost", "COST", report.actual_cost, CostFromText,
                    "what it cost, in the unit of --cost; absent: as predicted");
  AddParsed<absl::Duration>(*command, "--busy-time", "DURATION", report.busy_time, DurationFromText,
                            "how long the database was busy with it; absent: since the answer");
  return command;
}

}  // namespace headgate::cli
