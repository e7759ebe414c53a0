// Any words as a command line, one a line: they are understood, or it is said what is wrong with
// them, and nothing that was understood is out of the bounds that arguments.h gives.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/cli/arguments/arguments.h"
#include "client/cli/output/console.h"
#include "tests/fuzz/require.h"

namespace {

using namespace headgate::cli;  // NOLINT(google-build-using-namespace): all that is examined
using headgate::fuzz::Require;

constexpr size_t kMaxWords = 64;

void RequireCost(const std::optional<double>& cost) {
  Require(!cost.has_value() || (std::isfinite(*cost) && *cost >= 0), "no cost");
}

// What an identity may be, the server knows.
void RequireWork(const WorkArguments& work) { RequireCost(work.cost); }

void Examine(const CheckArguments& check) {
  RequireWork(check.work);
  Require(!check.wait.has_value() || *check.wait >= absl::ZeroDuration(), "a negative wait");
}
void Examine(const ReportArguments& report) {
  RequireCost(report.actual_cost);
  Require(!report.busy_time.has_value() || *report.busy_time >= absl::ZeroDuration(),
          "a negative busy time");
}
void Examine(const ExplainArguments& explain) { RequireWork(explain.work); }
void Examine(const RunArguments& run) {
  RequireWork(run.work);
  RequireCost(run.report_cost);
  Require(run.wait >= absl::ZeroDuration(), "a negative wait");
  Require(!run.command.empty(), "nothing to run");
}
void Examine(const TopArguments& top) {
  Require(top.interval > absl::ZeroDuration() && top.interval < absl::InfiniteDuration(),
          "a live view that never rests, or never comes");
}
void Examine(const ForgetCostsArguments& forget) {
  Require(forget.identity.empty() != forget.pattern.empty(), "it forgets nothing, or two things");
  Require(!forget.who.reason.empty(), "it is forgotten for no reason");
}
void Examine(const ForgiveArguments& forgive) {
  Require(!forgive.budget.empty(), "a debt to no budget");
  Require(!forgive.who.reason.empty(), "it is forgiven for no reason");
}
void Examine(const AgentArguments& agent) {
  const bool names_some = !agent.roles.empty() || !agent.application_names.empty();
  Require(names_some || agent.action == AgentArguments::Action::kRestore, "nobody yields");
  for (const std::string& role : agent.roles) {
    Require(!role.empty() && role.find('*') == std::string::npos, "a role that nobody has");
  }
  for (const std::string& name : agent.application_names) {
    Require(!name.empty() && name != "*", "a name that everybody has");
  }
}
template <typename Other>
void Examine(const Other& /*arguments*/) {}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  unsetenv("HEADGATE_ADDRESS");  // else what is understood depends on it
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // Words of a command line end at a NUL.
  std::vector<std::string> words = absl::StrSplit(text.substr(0, text.find('\0')), '\n');
  if (words.size() > kMaxWords) words.resize(kMaxWords);
  const Parsed parsed = ParseArguments(words);
  if (const auto* ended = std::get_if<Ended>(&parsed)) {
    Require(ended->status == ExitStatus::kOk || ended->status == ExitStatus::kUsage,
            "wrong usage is neither help nor an error");
    Require(!ended->text.empty(), "it ends without a word");
    return 0;
  }
  const auto& arguments = std::get<Arguments>(parsed);
  Require(arguments.globals.timeout > absl::ZeroDuration(), "no time for an answer");
  Require(!arguments.globals.address.empty(), "no address");
  std::visit([](const auto& command) { Examine(command); }, arguments.command);
  return 0;
}
