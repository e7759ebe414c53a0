// headgate config check: what the server would say about a configuration file. The server itself is
// asked, so that there is one judge.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/commands.h"
#include "client/cli/output/config_verdict.h"
#include "client/cli/process/child_process.h"
#include "client/cli/process/find_server.h"

namespace headgate::cli {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipWhitespace());
}

}  // namespace

int RunConfigCheck(const Globals&, const ConfigCheckArguments& arguments, const Console& console) {
  const std::optional<std::string> server = FindServer();
  if (!server) {
    console.Complain(absl::StrCat("cannot check ", arguments.file,
                                  ": headgated is neither beside headgate nor on PATH"));
    return ToInt(ExitStatus::kFailed);
  }
  std::vector<std::string> words = {*server, absl::StrCat("--check-config=", arguments.file)};
  if (!arguments.is_offline) words.emplace_back("--ask-databases");
  const absl::StatusOr<Captured> answer = RunAndCapture(words);
  if (!answer.ok()) {
    console.Complain(std::string(answer.status().message()));
    return ToInt(ExitStatus::kFailed);
  }
  std::vector<std::string> errors = Lines(answer->output);
  std::vector<std::string> warnings;
  for (const std::string& line : errors) {
    if (absl::StrContains(line, ": warning: ")) warnings.push_back(line);
  }
  if (answer->status == ToInt(ExitStatus::kOk)) {
    errors.clear();
  } else {
    std::erase_if(errors, [](const auto& line) { return absl::StrContains(line, ": warning: "); });
  }
  if (answer->status != ToInt(ExitStatus::kOk) &&
      (answer->status != ToInt(ExitStatus::kUsage) || errors.empty())) {
    console.Complain(absl::StrCat(*server, " ended with status ", answer->status,
                                  errors.empty() ? "" : ": ", errors.empty() ? "" : errors.back()));
    return ToInt(ExitStatus::kFailed);
  }
  PrintVerdict(arguments.file, errors, warnings, console);
  return ToInt(errors.empty() ? ExitStatus::kOk : ExitStatus::kUsage);
}

}  // namespace headgate::cli
