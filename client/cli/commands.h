// The commands. Each prints its answer to the console and returns the exit status.

#ifndef HEADGATE_CLIENT_CLI_COMMANDS_H_
#define HEADGATE_CLIENT_CLI_COMMANDS_H_

#include "client/cli/arguments.h"
#include "client/cli/console.h"

namespace headgate::cli {

// 0: allowed, 1: denied.
int RunCheck(const Globals& globals, const CheckArguments& arguments, const Console& console);
int RunReport(const Globals& globals, const ReportArguments& arguments, const Console& console);
// As RunCheck.
int RunExplain(const Globals& globals, const ExplainArguments& arguments, const Console& console);
// The command's own status, once it has run.
int RunRun(const Globals& globals, const RunArguments& arguments, const Console& console);
int RunStatus(const Globals& globals, const StatusArguments& arguments, const Console& console);
int RunTop(const Globals& globals, const TopArguments& arguments, const Console& console);
// 0: the server would take the file, 2: it would not, 4: there is no server to ask.
int RunConfigCheck(const Globals& globals, const ConfigCheckArguments& arguments,
                   const Console& console);

// The whole program: `words` without its name.
int Main(const std::vector<std::string>& words);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_COMMANDS_H_
