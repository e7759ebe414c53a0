#include "client/cli/arguments/arguments.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments/agent_options.h"
#include "client/cli/arguments/cluster_options.h"
#include "client/cli/arguments/cost_options.h"
#include "client/cli/arguments/global_options.h"
#include "client/cli/arguments/help.h"
#include "client/cli/arguments/log_options.h"
#include "client/cli/arguments/override_options.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/arguments/parsed_option.h"
#include "client/cli/arguments/reference_options.h"
#include "client/cli/arguments/server_address.h"
#include "client/cli/arguments/usage_error.h"
#include "client/cli/arguments/work_options.h"
#include "client/cli/output/terminal_text.h"

namespace headgate::cli {
namespace {

// Weeks of the log may have to be read; in a replay a day of demand is decided again.
constexpr absl::Duration kLogTimeout = absl::Seconds(30);
constexpr absl::Duration kReplayTimeout = absl::Minutes(5);

CLI::App* AddLeases(CLI::App& app, LeasesArguments& leases) {
  CLI::App* command =
      app.add_subcommand("leases", "Show who holds leases, how much and until when");
  command->add_option("identity,--identity", leases.identity,
                      "only its leases and those of all below it, one by one");
  return command;
}

CLI::App* AddTop(CLI::App& app, TopArguments& top) {
  CLI::App* command = app.add_subcommand("top", "Watch budgets, buckets and health; q quits");
  command->add_flag_callback(
      "--once", [&top] { top.mode = TopArguments::Mode::kOnce; }, "print one snapshot and end");
  AddParsed<absl::Duration>(*command, "--interval", "DURATION", top.interval,
                            PositiveDurationFromText, "how often to refresh [1s]");
  return command;
}

CLI::App* AddStore(CLI::App& app, StoreArguments& store) {
  CLI::App* command =
      app.add_subcommand("store", "Make, upgrade or check the tables of several servers");
  command->require_subcommand(1);
  command->add_option("--dsn", store.dsn,
                      "connection string of the store's database [$HEADGATE_STORE_DSN]");
  command
      ->add_option("--config", store.config,
                   "the servers' configuration: none of its targets may be the store")
      ->type_name("FILE");
  for (const auto& [action, what] :
       {std::pair("init", "Make the tables"), std::pair("upgrade", "Bring them to this version"),
        std::pair("check", "Say whether a server could use them")}) {
    command->add_subcommand(action, what)->callback([&store, text = action] {
      store.action = text;
    });
  }
  return command;
}

// Everything that CLI11 writes into while it parses.
struct Grammar {
  CLI::App app{"Headgate throttles work on PostgreSQL by budgets and by the database's health.",
               "headgate"};
  Globals globals;
  CheckArguments check;
  ReportArguments report;
  ExplainArguments explain;
  RunArguments run;
  LeasesArguments leases;
  TopArguments top;
  ConfigCheckArguments config_check;
  LogArguments log;
  ReplayArguments replay;
  OverrideArguments pause, throttle, exempt, resume;
  OverridesArguments overrides;
  DeleteOverrideArguments delete_override;
  CostsArguments costs;
  ForgetCostsArguments forget_costs;
  ForgiveArguments forgive;
  StoreArguments store;
  MoveArguments move;
  DrainArguments drain;
  DrainArguments undrain{.action = DrainArguments::Action::kUndrain};
  AgentArguments agent;
  std::string reference;  // empty: it is not asked for
  CLI::App* run_command = nullptr;
  CLI::App* log_command = nullptr;
  CLI::App* replay_command = nullptr;
  CLI::App* agent_command = nullptr;
  std::vector<std::pair<CLI::App*, std::function<decltype(Arguments::command)()>>> commands;

  Grammar() {
    app.fallthrough();
    app.require_subcommand(1);
    app.set_version_flag("--version", "headgate " HEADGATE_VERSION);
    FormatHelp(app);
    AddGlobals(app, globals);
    commands.emplace_back(AddCheck(app, check), [this] { return check; });
    commands.emplace_back(AddReport(app, report), [this] { return report; });
    commands.emplace_back(AddExplain(app, explain), [this] { return explain; });
    run_command = AddRun(app, run);
    commands.emplace_back(run_command, [this] { return run; });
    commands.emplace_back(app.add_subcommand("status", "Show configuration, targets and health"),
                          [] { return StatusArguments{}; });
    commands.emplace_back(app.add_subcommand("rules", "Show the rules of the configuration"),
                          [] { return RulesArguments{}; });
    commands.emplace_back(AddLeases(app, leases), [this] { return leases; });
    commands.emplace_back(AddTop(app, top), [this] { return top; });
    CLI::App* config = app.add_subcommand("config", "Look at configuration files");
    config->require_subcommand(1);
    CLI::App* command =
        config->add_subcommand("check", "Say what the server would say about a file");
    command->add_option("file", config_check.file, "the YAML file")->required()->type_name("FILE");
    command->add_flag("--offline", config_check.is_offline,
                      "do not ask the databases that the file names");
    commands.emplace_back(config, [this] { return config_check; });
    log_command = AddLog(app, log);
    commands.emplace_back(log_command, [this] { return log; });
    replay_command = AddReplay(app, replay);
    commands.emplace_back(replay_command, [this] { return replay; });
    for (const auto& [kind, made] : {std::pair(v1::OVERRIDE_KIND_PAUSE, &pause),
                                     std::pair(v1::OVERRIDE_KIND_THROTTLE, &throttle),
                                     std::pair(v1::OVERRIDE_KIND_EXEMPT, &exempt),
                                     std::pair(v1::OVERRIDE_KIND_RESUME, &resume)}) {
      commands.emplace_back(AddOverride(app, kind, *made), [made = made] { return *made; });
    }
    const OverridesCommands of_overrides = AddOverrides(app, overrides, delete_override);
    commands.emplace_back(of_overrides.remove, [this] { return delete_override; });
    commands.emplace_back(of_overrides.list, [this] { return overrides; });
    const CostsCommands of_costs = AddCosts(app, costs, forget_costs);
    commands.emplace_back(of_costs.forget, [this] { return forget_costs; });
    commands.emplace_back(of_costs.list, [this] { return costs; });
    commands.emplace_back(AddForgive(app, forgive), [this] { return forgive; });
    commands.emplace_back(AddMembers(app), [] { return MembersArguments{}; });
    commands.emplace_back(AddMove(app, move), [this] { return move; });
    commands.emplace_back(AddDrain(app, drain), [this] { return drain; });
    commands.emplace_back(AddDrain(app, undrain), [this] { return undrain; });
    commands.emplace_back(AddStore(app, store), [this] { return store; });
    agent_command = AddAgent(app, agent);
    commands.emplace_back(agent_command, [this] { return agent; });
    AddReference(app, reference);
    AddExamples(app);
  }
};

constexpr char kRunTakesACommand[] =
    "run: takes a command after --, such as headgate run --identity job-7:etl -- psql -c 'VACUUM "
    "orders'";

// CLI11 expects the words in reverse order.
void Parse(CLI::App& app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());
  app.parse(std::move(words));
}

// All options of TLS are names of files, except for the server's name.
bool IsOfTls(const CLI::Option& option) {
  const std::string name = option.get_name();
  return (name.starts_with("--tls") && name != "--tls-server-name") || name == "--token-file";
}

// Messages of the API hold nothing but UTF-8. Names of files may have any bytes.
void RefuseNoUtf8(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name() == "file" || option->get_name() == "--config" || IsOfTls(*option)) {
      continue;
    }
    for (const std::string& text : option->results()) {
      if (!IsUtf8(text)) {
        Refuse(option->get_name(), absl::StrCat("'", Escaped(text), "' is not UTF-8"));
      }
    }
  }
}

// What is missing of an agent's options; empty: nothing is.
std::string SettleAgent(Grammar& grammar) {
  if (!grammar.agent_command->parsed()) return "";
  grammar.agent.tells_server =
      grammar.agent.action == AgentArguments::Action::kRun && grammar.app.count("--address") > 0;
  const bool is_named = grammar.app.count("--target") > 0;
  if (!is_named && !grammar.agent.target.empty()) grammar.globals.target = grammar.agent.target;
  return MissingIn(grammar.agent);
}

Parsed Finish(Grammar& grammar) {
  if (!grammar.reference.empty()) {
    return Ended{ExitStatus::kOk, ReferenceText(grammar.app, grammar.reference)};
  }
  if (grammar.app.count("--timeout") == 0) {
    if (grammar.log_command->parsed()) grammar.globals.timeout = kLogTimeout;
    if (grammar.replay_command->parsed()) grammar.globals.timeout = kReplayTimeout;
  }
  for (const CLI::App* app = &grammar.app; app != nullptr;) {
    RefuseNoUtf8(*app);
    const std::vector<CLI::App*> parsed = app->get_subcommands();
    app = parsed.empty() ? nullptr : parsed[0];
  }
  if (!IsUtf8(grammar.globals.target)) {
    return Ended{
        ExitStatus::kUsage,
        absl::StrCat("HEADGATE_TARGET: '", Escaped(grammar.globals.target), "' is not UTF-8")};
  }
  const std::string& address = grammar.globals.address;
  if (address.empty()) return Ended{ExitStatus::kUsage, "--address: it is empty"};
  if (!IsAddress(address)) {
    return Ended{
        ExitStatus::kUsage,
        absl::StrCat("--address: '", Escaped(address),
                     "' is neither host, host:port nor [address]:port with a port of 1 to "
                     "65535, nor a name of gRPC's such as unix:/path or dns:///host:port")};
  }
  const std::optional<client::TlsOptions>& tls = grammar.globals.tls;
  if (tls.has_value() && tls->certificate_file.empty() != tls->key_file.empty()) {
    const bool has_certificate = !tls->certificate_file.empty();
    return Ended{ExitStatus::kUsage,
                 absl::StrCat(has_certificate ? "--tls-cert" : "--tls-key", ": it takes ",
                              has_certificate ? "--tls-key" : "--tls-cert", " too")};
  }
  if (std::string missing = SettleAgent(grammar); !missing.empty()) {
    return Ended{ExitStatus::kUsage, std::move(missing)};
  }
  grammar.globals.connection = ConnectionOf(grammar.app);
  grammar.log.past.zone = grammar.replay.past.zone = grammar.globals.zone;
  for (const auto& [command, arguments] : grammar.commands) {
    if (command->parsed()) return Arguments{grammar.globals, arguments()};
  }
  return Ended{ExitStatus::kUsage, "a command is required; see headgate --help"};
}

}  // namespace

Parsed ParseArguments(const std::vector<std::string>& arguments) {
  Grammar grammar;
  // The words of the command to run are kept from CLI11, which would take some of them for options.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  const bool run = std::find(arguments.begin(), dashes, "run") != dashes;
  try {
    Parse(grammar.app, WithNumbers({arguments.begin(), run ? dashes : arguments.end()}));
    if (grammar.run_command->parsed()) {
      if (dashes != arguments.end()) grammar.run.command.assign(dashes + 1, arguments.end());
      if (grammar.run.command.empty()) {
        return Ended{ExitStatus::kUsage, kRunTakesACommand};
      }
    }
    return Finish(grammar);
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    grammar.app.exit(success, text, text);
    return Ended{ExitStatus::kOk, text.str()};
  } catch (const CLI::Error& error) {
    // Without the dashes the command's own words were taken for options of run.
    if (run && dashes == arguments.end()) {
      return Ended{ExitStatus::kUsage, absl::StrCat(kRunTakesACommand, " (", error.what(), ")")};
    }
    return Ended{ExitStatus::kUsage, UsageErrorText(grammar.app, error, arguments)};
  }
}

}  // namespace headgate::cli
