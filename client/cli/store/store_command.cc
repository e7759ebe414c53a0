// headgate store init|upgrade|check: the tables that several servers agree through. The server
// itself is run, which has PostgreSQL's client and knows the tables; a running one is not asked.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/commands.h"
#include "client/cli/process/child_process.h"
#include "client/cli/process/find_server.h"

namespace headgate::cli {

int RunStore(const Globals&, const StoreArguments& arguments, const Console& console) {
  const std::optional<std::string> server = FindServer();
  if (!server) {
    console.Complain(absl::StrCat("cannot ", arguments.action,
                                  " the store: headgated is neither beside headgate nor on PATH"));
    return ToInt(ExitStatus::kFailed);
  }
  std::vector<std::string> command = {*server, absl::StrCat("--store-tables=", arguments.action)};
  if (!arguments.dsn.empty()) command.push_back(absl::StrCat("--store-dsn=", arguments.dsn));
  if (!arguments.config.empty()) command.push_back(absl::StrCat("--config=", arguments.config));
  const absl::StatusOr<Captured> answer = RunAndCapture(command);
  if (!answer.ok()) {
    console.Complain(std::string(answer.status().message()));
    return ToInt(ExitStatus::kFailed);
  }
  const bool is_done = answer->status == 0;
  for (const auto& line : absl::StrSplit(answer->output, '\n', absl::SkipWhitespace())) {
    if (is_done && !absl::StartsWith(line, "warning: ")) {
      console.out << line << '\n';
    } else {
      console.Complain(std::string(line));
    }
  }
  if (is_done) return ToInt(ExitStatus::kOk);
  return ToInt(answer->status == ToInt(ExitStatus::kUsage) ? ExitStatus::kUsage
                                                           : ExitStatus::kFailed);
}

}  // namespace headgate::cli
