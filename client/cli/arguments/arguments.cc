#include "client/cli/arguments/arguments.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/arguments/log_options.h"
#include "client/cli/arguments/override_options.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/arguments/parsed_option.h"
#include "client/cli/arguments/server_address.h"
#include "client/cli/output/terminal_text.h"

namespace headgate::cli {
namespace {

constexpr char kFooter[] =
    "Exit status: 0 done, or allowed; 1 denied; 2 wrong usage or input; 3 Headgate is "
    "unreachable;\n"
    "4 another failure. `run` ends with its command's status: 126 not executable, 127 not found,\n"
    "128+n ended by signal n.";

// Weeks of the log may have to be read; in a replay a day of demand is decided again.
constexpr absl::Duration kLogTimeout = absl::Seconds(30);
constexpr absl::Duration kReplayTimeout = absl::Minutes(5);

absl::StatusOr<absl::Duration> ParseWait(const std::string& text) {
  if (text == "forever") return absl::InfiniteDuration();
  return DurationFromText(text);
}

// Any of the options says that TLS is wanted.
void AddTls(CLI::App& app, Globals& globals) {
  const auto tls = [&globals]() -> client::TlsOptions& {
    return globals.tls.has_value() ? *globals.tls : globals.tls.emplace();
  };
  app.add_flag_function(
         "--tls",
         [tls](int64_t count) {
           if (count > 0) tls();
         },
         "speak TLS; so does any option below")
      ->envname("HEADGATE_TLS");
  const auto add = [&](const char* name, const char* variable, const char* type,
                       std::string client::TlsOptions::*member, const char* help) {
    app.add_option_function<std::string>(
           name,
           [name, tls, member](const std::string& text) {
             if (text.empty()) Refuse(name, "it is empty");
             tls().*member = text;
           },
           help)
        ->envname(variable)
        ->type_name(type);
  };
  add("--tls-ca", "HEADGATE_TLS_CA", "FILE", &client::TlsOptions::ca_file,
      "authorities that the server is verified with; absent: the system's");
  add("--tls-cert", "HEADGATE_TLS_CERT", "FILE", &client::TlsOptions::certificate_file,
      "your certificate, for servers that ask for one");
  add("--tls-key", "HEADGATE_TLS_KEY", "FILE", &client::TlsOptions::key_file, "its key");
  add("--tls-server-name", "HEADGATE_TLS_SERVER_NAME", "NAME", &client::TlsOptions::server_name,
      "what the server's certificate is for, instead of the address");
  app.add_option("--token-file", globals.token_file, "a file with a token to send; over TLS only")
      ->envname("HEADGATE_TOKEN_FILE")
      ->type_name("FILE");
}

void AddGlobals(CLI::App& app, Globals& globals) {
  app.add_option("--address", globals.address, "the server")
      ->envname("HEADGATE_ADDRESS")
      ->capture_default_str()
      ->type_name("HOST:PORT");
  AddTls(app, globals);
  AddParsed<absl::Duration>(app, "--timeout", "DURATION", globals.timeout, PositiveDurationFromText,
                            "how long one answer may take [2s; log 30s, replay 5m]");
  app.add_option("--target", globals.target, "the PostgreSQL cluster, where there are several")
      ->type_name("NAME");
  AddWord<Format>(app, "-o,--output", globals.format,
                  {{"table", Format::kTable}, {"json", Format::kJson}, {"csv", Format::kCsv}},
                  "[table]");
  AddWord<ColourChoice>(app, "--color", globals.colours,
                        {{"auto", ColourChoice::kAuto},
                         {"always", ColourChoice::kAlways},
                         {"never", ColourChoice::kNever}},
                        "[auto]");
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

CLI::App* AddCheck(CLI::App& app, CheckArguments& check) {
  CLI::App* command = app.add_subcommand("check", "Ask whether one chunk of work may be done now");
  command->add_option("identity", check.work.identity, "who asks, such as job-7:etl")->required();
  AddWork(*command, check.work);
  command->add_option("--request-id", check.request_id, "makes a repeated Check count once");
  command->add_flag_callback(
      "--dry-run", [&check] { check.dry_run = DryRun::kYes; }, "answer, but charge nothing");
  AddParsed<absl::Duration>(*command, "--wait", "DURATION", check.wait, ParseWait,
                            "ask again until allowed, for so long or `forever`");
  return command;
}

void ParseReports(const std::vector<std::string>& words, ReportArguments& report) {
  if (words.size() % 2 != 0) Refuse("report", "takes pairs of a permit and a cost");
  for (size_t i = 0; i < words.size(); i += 2) {
    ReportArguments::Pair pair;
    if (!absl::SimpleAtoi(words[i], &pair.permit)) {
      Refuse("report", absl::StrCat("'", Escaped(words[i]), "' is not a permit's number"));
    }
    const absl::StatusOr<double> cost = CostFromText(words[i + 1]);
    if (!cost.ok()) Refuse("report", std::string(cost.status().message()));
    pair.cost = *cost;
    report.reports.push_back(pair);
  }
}

CLI::App* AddReport(CLI::App& app, ReportArguments& report) {
  CLI::App* command = app.add_subcommand("report", "Say what the work under permits really cost");
  command
      ->add_option_function<std::vector<std::string>>(
          "permit_cost",
          [&report](const std::vector<std::string>& words) { ParseReports(words, report); },
          "a permit and its cost, required; several pairs may follow each other")
      ->type_name("PERMIT COST");
  return command;
}

CLI::App* AddRun(CLI::App& app, RunArguments& run) {
  CLI::App* command = app.add_subcommand(
      "run", "Wait for a permit, run a command, report the seconds it took: run ... -- COMMAND");
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
                    "report this cost instead of the seconds");
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

// Everything that CLI11 writes into while it parses.
struct Grammar {
  CLI::App app{"Headgate throttles work on PostgreSQL by budgets and by the database's health.",
               "headgate"};
  Globals globals;
  CheckArguments check;
  ReportArguments report;
  ExplainArguments explain;
  RunArguments run;
  TopArguments top;
  ConfigCheckArguments config_check;
  LogArguments log;
  ReplayArguments replay;
  OverrideArguments pause, throttle, exempt, resume;
  OverridesArguments overrides;
  DeleteOverrideArguments delete_override;
  CLI::App* report_command = nullptr;
  CLI::App* run_command = nullptr;
  CLI::App* log_command = nullptr;
  CLI::App* replay_command = nullptr;
  std::vector<std::pair<CLI::App*, std::function<decltype(Arguments::command)()>>> commands;

  Grammar() {
    app.fallthrough();
    app.require_subcommand(1);
    app.set_version_flag("--version", "headgate " HEADGATE_VERSION);
    app.footer(kFooter);
    AddGlobals(app, globals);
    commands.emplace_back(AddCheck(app, check), [this] { return check; });
    report_command = AddReport(app, report);
    commands.emplace_back(report_command, [this] { return report; });
    CLI::App* command = app.add_subcommand("explain", "Say what a Check would answer now, and why");
    command->add_option("identity", explain.work.identity, "who asks")->required();
    AddWork(*command, explain.work);
    commands.emplace_back(command, [this] { return explain; });
    run_command = AddRun(app, run);
    commands.emplace_back(run_command, [this] { return run; });
    commands.emplace_back(app.add_subcommand("status", "Show configuration, targets and health"),
                          [] { return StatusArguments{}; });
    commands.emplace_back(AddTop(app, top), [this] { return top; });
    CLI::App* config = app.add_subcommand("config", "Look at configuration files");
    config->require_subcommand(1);
    command = config->add_subcommand("check", "Say what the server would say about a file");
    command->add_option("file", config_check.file, "the YAML file")->required();
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
  }
};

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

Parsed Finish(Grammar& grammar) {
  if (grammar.app.count("--timeout") == 0) {
    if (grammar.log_command->parsed()) grammar.globals.timeout = kLogTimeout;
    if (grammar.replay_command->parsed()) grammar.globals.timeout = kReplayTimeout;
  }
  for (const CLI::App* app = &grammar.app; app != nullptr;) {
    RefuseNoUtf8(*app);
    const std::vector<CLI::App*> parsed = app->get_subcommands();
    app = parsed.empty() ? nullptr : parsed[0];
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
  if (grammar.report_command->parsed() && grammar.report.reports.empty()) {
    return Ended{ExitStatus::kUsage,
                 "report: takes pairs of a permit and a cost; see headgate --help"};
  }
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
        return Ended{ExitStatus::kUsage, "run: takes a command after --"};
      }
    }
    return Finish(grammar);
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    grammar.app.exit(success, text, text);
    return Ended{ExitStatus::kOk, text.str()};
  } catch (const CLI::Error& error) {
    const std::vector<std::string> unknown = grammar.app.remaining();
    const bool no_command = grammar.app.get_subcommands().empty() && !unknown.empty();
    return Ended{
        ExitStatus::kUsage,
        absl::StrCat(no_command ? absl::StrCat("there is no command ", unknown[0]) : error.what(),
                     "; see headgate --help")};
  }
}

}  // namespace headgate::cli
