// headgate agent: the daemon of client/agent, and what it says.

#include "client/agent/agent.h"
#include "client/agent/stop_signals.h"
#include "client/cli/agent/headgated_link.h"
#include "client/cli/commands.h"
#include "client/cli/output/terminal_text.h"
#include "common/system_clock.h"

namespace headgate::cli {

int RunAgent(const Globals& globals, const AgentArguments& arguments, const Console& console) {
  const agent::StopSignals stop;
  SystemClock clock;
  HeadgatedLink headgated(globals, clock);
  const agent::AgentOptions options{
      .dsn = arguments.dsn,
      .batch = {.roles = arguments.roles, .application_names = arguments.application_names},
      .state_folder = arguments.state_folder,
      .metrics_file = arguments.metrics_file,
      .floor = arguments.floor,
      .clock = &clock,
      .stop_fd = stop.fd(),
      .headgated = arguments.tells_server ? &headgated : nullptr,
      .log = [&](const std::string& line) { console.out << Escaped(line) << std::endl; }};
  absl::Status status;
  switch (arguments.action) {
    case AgentArguments::Action::kRun:
      status = agent::RunAgent(options);
      break;
    case AgentArguments::Action::kRestore:
      status = agent::RestoreLeft(options);
      break;
    case AgentArguments::Action::kCheck: {
      const absl::StatusOr<bool> yields = agent::CheckAgent(options);
      if (yields.ok() && !*yields) return ToInt(ExitStatus::kFailed);
      status = yields.status();
      break;
    }
  }
  if (!status.ok()) console.Complain(std::string(status.message()));
  return ToInt(ExitStatusOf(status));
}

}  // namespace headgate::cli
