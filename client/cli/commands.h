// The commands. Each prints its answer to the console and returns the exit status.

#pragma once

#include "client/cli/arguments/arguments.h"
#include "client/cli/output/console.h"

namespace headgate::cli {

// 0: allowed, 1: denied.
int RunCheck(const Globals& globals, const CheckArguments& arguments, const Console& console);
int RunReport(const Globals& globals, const ReportArguments& arguments, const Console& console);
// As RunCheck.
int RunExplain(const Globals& globals, const ExplainArguments& arguments, const Console& console);
// The command's own status, once it has run.
int RunRun(const Globals& globals, const RunArguments& arguments, const Console& console);
int RunStatus(const Globals& globals, const StatusArguments& arguments, const Console& console);
int RunRules(const Globals& globals, const RulesArguments& arguments, const Console& console);
int RunLeases(const Globals& globals, const LeasesArguments& arguments, const Console& console);
int RunTop(const Globals& globals, const TopArguments& arguments, const Console& console);
// 0: the server would take the file, 2: it would not, 4: there is no server to ask.
int RunConfigCheck(const Globals& globals, const ConfigCheckArguments& arguments,
                   const Console& console);

// 0, whatever the log says; following it, 0 when Ctrl-C ends it.
int RunLog(const Globals& globals, const LogArguments& arguments, const Console& console);
// 2: the server would not take the file.
int RunReplay(const Globals& globals, const ReplayArguments& arguments, const Console& console);

// pause, throttle, exempt, resume. 2: there was nothing to end.
int RunOverride(const Globals& globals, const OverrideArguments& arguments, const Console& console);
int RunOverrides(const Globals& globals, const OverridesArguments& arguments,
                 const Console& console);
int RunDeleteOverride(const Globals& globals, const DeleteOverrideArguments& arguments,
                      const Console& console);

// What was learnt of costs, and forgetting it. 2: there was nothing to forget.
int RunCosts(const Globals& globals, const CostsArguments& arguments, const Console& console);
int RunForgetCosts(const Globals& globals, const ForgetCostsArguments& arguments,
                   const Console& console);
int RunForgive(const Globals& globals, const ForgiveArguments& arguments, const Console& console);

// Which server decides for which target. 2: there is no such server or target.
int RunMembers(const Globals& globals, const MembersArguments& arguments, const Console& console);
int RunMove(const Globals& globals, const MoveArguments& arguments, const Console& console);
int RunDrain(const Globals& globals, const DrainArguments& arguments, const Console& console);

// 2: wrong connection string or configuration, 4: the store says no, or there is no server to ask.
int RunStore(const Globals& globals, const StoreArguments& arguments, const Console& console);

// 0 when it is asked to end. With --check 4: yielding does not work here.
int RunAgent(const Globals& globals, const AgentArguments& arguments, const Console& console);

// The whole program: `words` without its name.
int Main(const std::vector<std::string>& words);

}  // namespace headgate::cli
