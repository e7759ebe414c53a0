// The command line, parsed and checked: what is left to do is plain data.
//
// CLI11 and its exceptions stay in arguments.cc and the *_options.cc beside it. Options may stand
// before or after the command.
//
// Pure but for the environment: TZ, HEADGATE_ADDRESS, HEADGATE_TARGET, HEADGATE_TLS... and
// HEADGATE_TOKEN_FILE.
//
//   const Parsed parsed = ParseArguments({"check", "job-7:etl", "--cost", "250"});
//   if (const auto* ended = std::get_if<Ended>(&parsed)) ...

#pragma once

#include <headgate/tls.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "client/cli/arguments/agent_arguments.h"
#include "client/cli/arguments/cluster_arguments.h"
#include "client/cli/arguments/cost_arguments.h"
#include "client/cli/arguments/log_arguments.h"
#include "client/cli/arguments/override_arguments.h"
#include "client/cli/output/console.h"

namespace headgate::cli {

enum class ColourChoice { kAuto, kAlways, kNever };

struct Globals {
  std::string address = "127.0.0.1:8081";
  std::optional<client::TlsOptions> tls;  // absent: plaintext
  std::string token_file;
  absl::Duration timeout = absl::Seconds(2);  // of one answer
  std::string target;
  Format format = Format::kTable;
  ColourChoice colours = ColourChoice::kAuto;
  absl::TimeZone zone;  // of times that are read and shown
  // " --address gate:1": how the server is reached, as far as the environment does not say it.
  std::string connection;
};

// One Check, as check, explain and run describe it.
struct WorkArguments {
  std::string identity;
  std::optional<double> cost;
  std::string pattern;
  std::map<std::string, std::string> tags;
};

enum class DryRun { kNo, kYes };

struct CheckArguments {
  WorkArguments work;
  std::string request_id;
  DryRun dry_run = DryRun::kNo;
  // Wait in the server for so long; absent: be answered at once.
  std::optional<absl::Duration> max_wait;
  std::optional<absl::Duration> wait;  // absent: ask once
};

// Without a cost the prediction stands, without a busy time it is the time since the answer.
struct ReportArguments {
  uint64_t permit = 0;
  std::optional<double> actual_cost;
  std::optional<absl::Duration> busy_time;
};

struct ExplainArguments {
  WorkArguments work;
};

enum class OnUnreachable { kWait, kProceed, kFail };
enum class Priority { kInherited, kIdle };

struct RunArguments {
  WorkArguments work;
  absl::Duration wait = absl::InfiniteDuration();
  OnUnreachable on_unreachable = OnUnreachable::kFail;
  std::optional<double> report_cost;  // beside the time that the command took; absent: none
  Priority priority = Priority::kInherited;
  std::vector<std::string> command;
};

struct StatusArguments {};

struct RulesArguments {};

struct LeasesArguments {
  std::string identity;  // and all below it; empty: of all
};

struct TopArguments {
  enum class Mode { kLive, kOnce };
  Mode mode = Mode::kLive;
  absl::Duration interval = absl::Seconds(1);
};

struct ConfigCheckArguments {
  std::string file;
  bool is_offline = false;  // the databases that it names are not asked
};

// Its text is what --store-tables of the server takes.
struct StoreArguments {
  std::string action;
  std::string dsn;     // empty: the environment has it
  std::string config;  // whose targets must not be the store; empty: none is looked at
};

struct Arguments {
  Globals globals;
  std::variant<CheckArguments, ReportArguments, ExplainArguments, RunArguments, StatusArguments,
               RulesArguments, LeasesArguments, TopArguments, ConfigCheckArguments, LogArguments,
               ReplayArguments, OverrideArguments, OverridesArguments, DeleteOverrideArguments,
               CostsArguments, ForgetCostsArguments, ForgiveArguments, StoreArguments,
               MembersArguments, MoveArguments, DrainArguments, AgentArguments>
      command;
};

// There is nothing to do: help was asked for, or the usage is wrong.
struct Ended {
  ExitStatus status = ExitStatus::kOk;
  std::string text;  // for stdout where the status is ok; else what is wrong
};

using Parsed = std::variant<Arguments, Ended>;

// Without the program's name.
Parsed ParseArguments(const std::vector<std::string>& arguments);

}  // namespace headgate::cli
