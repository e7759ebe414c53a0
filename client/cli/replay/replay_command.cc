// headgate replay: what another configuration would have done with the recorded demand.

#include <headgate/v1/throttle_log_service.grpc.pb.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/arguments/log_filter.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/config_verdict.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/replay/replay_text.h"
#include "common/strings.h"
#include "common/system_clock.h"

namespace headgate::cli {
namespace {

constexpr size_t kMaxConfigBytes = size_t{1} << 20;
constexpr std::string_view kConfigField = "config_yaml: ";

absl::StatusOr<std::string> ReadConfig(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  // An empty file is read without an error.
  if (file.is_open() && file.peek() != std::ifstream::traits_type::eof()) content << file.rdbuf();
  if (!file.is_open() || errno != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", path, ": ", std::generic_category().message(errno)));
  }
  std::string text = content.str();
  if (text.size() > kMaxConfigBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has ", text.size(), " bytes; at most ",
                                                   kMaxConfigBytes, " can be replayed"));
  }
  if (!IsUtf8(text)) return absl::InvalidArgumentError(absl::StrCat(path, " is not UTF-8"));
  return text;
}

// "line 3, column 5: what is wrong" as "new.yaml:3:5: what is wrong".
std::string InFile(std::string_view finding, const std::string& file) {
  constexpr std::string_view kLine = "line ";
  constexpr std::string_view kColumn = ", column ";
  const size_t column = finding.find(kColumn);
  const size_t text = finding.find(": ");
  if (!finding.starts_with(kLine) || text == std::string_view::npos || column > text) {
    return absl::StrCat(file, ": ", Sv(finding));
  }
  const size_t number = column + kColumn.size();
  return absl::StrCat(file, ":", Sv(finding.substr(kLine.size(), column - kLine.size())), ":",
                      Sv(finding.substr(number, text - number)), Sv(finding.substr(text)));
}

// What the server finds wrong with the file, under the file's own name; nothing where the error is
// about something else.
std::vector<std::string> Findings(const absl::Status& status, const std::string& file) {
  std::string_view message(status.message().data(), status.message().size());
  std::vector<std::string> findings;
  if (!absl::IsInvalidArgument(status) || !message.starts_with(kConfigField)) return findings;
  message.remove_prefix(kConfigField.size());
  for (const auto& line : absl::StrSplit(Sv(message), '\n', absl::SkipWhitespace())) {
    findings.push_back(InFile({line.data(), line.size()}, file));
  }
  return findings;
}

}  // namespace

int RunReplay(const Globals& globals, const ReplayArguments& arguments, const Console& console) {
  v1::ReplayThrottleLogRequest request;
  absl::StatusOr<std::string> config = ReadConfig(arguments.config);
  if (!config.ok()) return ToInt(console.Fail(config.status()));
  request.set_config_yaml(*std::move(config));
  const auto filter = ToFilter(arguments.past, globals.target, SystemClock::ReadKernel().wall());
  if (!filter.ok()) return ToInt(console.Fail(filter.status()));
  *request.mutable_filter() = *filter;
  auto replayed =
      Connection(globals).Call(&v1::ThrottleLogService::Stub::ReplayThrottleLog, request);
  if (!replayed.ok()) {
    const std::vector<std::string> findings = Findings(replayed.status(), arguments.config);
    if (findings.empty()) return ToInt(console.Fail(replayed.status()));
    PrintVerdict(arguments.config, findings, {}, console);
    return ToInt(ExitStatus::kUsage);
  }
  SortByChange(*replayed);
  return console.Print(
      *replayed, [&] { return ReplayText(*replayed, arguments, console.colours); },
      [&] { return ReplayCsv(*replayed); });
}

}  // namespace headgate::cli
