#include "client/cli/arguments/agent_options.h"

#include <cstdlib>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/arguments/parsed_option.h"

namespace headgate::cli {
namespace {

constexpr char kBatch[] = "--batch";
constexpr char kRole[] = "role=";
constexpr char kApplicationName[] = "application_name=";

// One of "role=etl" and "application_name=backfill*". The server refuses the same of `batch_work`.
void AddOne(AgentArguments& agent, const std::string& text) {
  const bool is_role = text.starts_with(kRole);
  if (!is_role && !text.starts_with(kApplicationName)) {
    Refuse(kBatch, absl::StrCat("'", Escaped(text), "' is neither role=NAME nor ",
                                "application_name=NAME; for example: role=etl,",
                                "application_name=backfill*"));
  }
  const std::string name = text.substr(text.find('=') + 1);
  if (name.find_first_not_of(' ') == std::string::npos) {
    Refuse(kBatch, is_role ? "a role has no name" : "an application name is empty");
  }
  if (is_role && name.find('*') != std::string::npos) {
    Refuse(kBatch, absl::StrCat("role '", Escaped(name), "' has a '*', which stands for nothing ",
                                "else: name each role that jobs run as"));
  }
  if (name == "*") {
    Refuse(kBatch, "application name '*' is every session's: nobody would be left to yield to");
  }
  (is_role ? agent.roles : agent.application_names).push_back(name);
}

// Above half of the processors nobody would yield to anybody.
absl::StatusOr<double> FloorFromText(const std::string& text) {
  constexpr double kMost = 0.5;
  double floor = 0;
  if (absl::SimpleAtod(text, &floor) && floor == 0) return floor;
  absl::StatusOr<double> share = ShareFromText(text);
  if (share.ok() && *share <= kMost) return share;
  return absl::InvalidArgumentError(
      absl::StrCat("'", Escaped(text), "' is no share from 0 to 0.5, such as 0.05 or 5%"));
}

}  // namespace

std::string MissingIn(const AgentArguments& agent) {
  const bool needs_batch = agent.action != AgentArguments::Action::kRestore && !agent.tells_server;
  if (!needs_batch || !agent.roles.empty() || !agent.application_names.empty()) return "";
  return absl::StrCat(kBatch, ": is missing: which sessions are batch work, such as role=etl");
}

CLI::App* AddAgent(CLI::App& app, AgentArguments& agent) {
  CLI::App* command = app.add_subcommand(
      "agent", "Have batch sessions of this machine's PostgreSQL yield the processor");
  command
      ->add_option_function<std::vector<std::string>>(
          kBatch,
          [&agent](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              for (const auto& one : absl::StrSplit(text, ',')) AddOne(agent, std::string(one));
            }
          },
          "which sessions: role=NAME and application_name=NAME, by commas; '*' ends a name's "
          "start [with --address, as headgated has it]")
      ->envname("HEADGATE_AGENT_BATCH")
      ->type_name("PATTERNS")
      ->take_all();
  command
      ->add_option("--dsn", agent.dsn, "connection string of this machine's PostgreSQL [libpq's]")
      ->envname("HEADGATE_AGENT_DSN");
  // systemd names the folder that it made for a unit.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment.
  const char* const folder = std::getenv("RUNTIME_DIRECTORY");
  agent.state_folder = folder == nullptr ? "/run/headgate-agent" : folder;
  // For units, whose environment says all the rest.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment.
  const char* const target = std::getenv("HEADGATE_AGENT_TARGET");
  if (target != nullptr) agent.target = target;
  command
      ->add_option("--state-dir", agent.state_folder,
                   "where what yields is written down; gone with the machine's next start")
      ->capture_default_str()
      ->type_name("FOLDER");
  command
      ->add_option("--metrics-file", agent.metrics_file,
                   "for node_exporter's textfile collector, each second")
      ->envname("HEADGATE_AGENT_METRICS_FILE")
      ->type_name("FILE");
  AddParsed<double>(*command, "--floor", "SHARE", agent.floor, FloorFromText,
                    "of PostgreSQL's processors, that batch work has at least; 0: nothing [0.05]")
      ->envname("HEADGATE_AGENT_FLOOR");
  CLI::Option* check = command->add_flag_callback(
      "--check", [&agent] { agent.action = AgentArguments::Action::kCheck; },
      "say whether yielding works here, and why not, and end");
  command
      ->add_flag_callback(
          "--restore", [&agent] { agent.action = AgentArguments::Action::kRestore; },
          "have what a killed agent left be as it was, and end")
      ->excludes(check);
  command->callback([&agent] {
    if (agent.state_folder.empty()) Refuse("--state-dir", "it is empty");
  });
  return command;
}

}  // namespace headgate::cli
