// From the words of the command line to an exit status.

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "client/channel_source.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"

namespace headgate::cli {
namespace {

struct Dispatch {
  const Globals& globals;
  const Console& console;

  int operator()(const CheckArguments& a) const { return RunCheck(globals, a, console); }
  int operator()(const ReportArguments& a) const { return RunReport(globals, a, console); }
  int operator()(const ExplainArguments& a) const { return RunExplain(globals, a, console); }
  int operator()(const RunArguments& a) const { return RunRun(globals, a, console); }
  int operator()(const StatusArguments& a) const { return RunStatus(globals, a, console); }
  int operator()(const RulesArguments& a) const { return RunRules(globals, a, console); }
  int operator()(const LeasesArguments& a) const { return RunLeases(globals, a, console); }
  int operator()(const TopArguments& a) const { return RunTop(globals, a, console); }
  int operator()(const ConfigCheckArguments& a) const {
    return RunConfigCheck(globals, a, console);
  }
  int operator()(const LogArguments& a) const { return RunLog(globals, a, console); }
  int operator()(const ReplayArguments& a) const { return RunReplay(globals, a, console); }
  int operator()(const OverrideArguments& a) const { return RunOverride(globals, a, console); }
  int operator()(const OverridesArguments& a) const { return RunOverrides(globals, a, console); }
  int operator()(const DeleteOverrideArguments& a) const {
    return RunDeleteOverride(globals, a, console);
  }
  int operator()(const CostsArguments& a) const { return RunCosts(globals, a, console); }
  int operator()(const ForgetCostsArguments& a) const {
    return RunForgetCosts(globals, a, console);
  }
  int operator()(const ForgiveArguments& a) const { return RunForgive(globals, a, console); }
  int operator()(const MembersArguments& a) const { return RunMembers(globals, a, console); }
  int operator()(const MoveArguments& a) const { return RunMove(globals, a, console); }
  int operator()(const DrainArguments& a) const { return RunDrain(globals, a, console); }
  int operator()(const StoreArguments& a) const { return RunStore(globals, a, console); }
  int operator()(const AgentArguments& a) const { return RunAgent(globals, a, console); }
};

Colours ColoursFor(ColourChoice choice) {
  if (choice != ColourChoice::kAuto) {
    return choice == ColourChoice::kAlways ? Colours::kOn : Colours::kOff;
  }
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool can =
      isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
  return can && (no_colour == nullptr || *no_colour == '\0') ? Colours::kOn : Colours::kOff;
}

// What gRPC and protobuf would log is in our own error line. Who debugs gRPC asks it to speak.
void SilenceLibraries() {
  google::protobuf::SetLogHandler(nullptr);
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_function([](gpr_log_func_args*) {});
  }
}

}  // namespace

int Main(const std::vector<std::string>& words) {
  SilenceLibraries();
  const Parsed parsed = ParseArguments(words);
  if (const auto* ended = std::get_if<Ended>(&parsed)) {
    if (ended->status == ExitStatus::kOk) {
      std::cout << ended->text << std::flush;
    } else {
      Console{.out = std::cout, .err = std::cerr}.Complain(ended->text);
    }
    return ToInt(ended->status);
  }
  const auto& arguments = std::get<Arguments>(parsed);
  const Console console{.out = std::cout,
                        .err = std::cerr,
                        .format = arguments.globals.format,
                        .colours = ColoursFor(arguments.globals.colours),
                        .zone = arguments.globals.zone};
  if (absl::Status files = client::internal::CheckFiles(OptionsOf(arguments.globals));
      !files.ok()) {
    return ToInt(console.Fail(files));
  }
  const int status = std::visit(Dispatch{arguments.globals, console}, arguments.command);
  std::cout.flush();
  if (!std::cout.good()) {
    console.Complain("stdout takes no output");
    return ToInt(ExitStatus::kFailed);
  }
  return status;
}

}  // namespace headgate::cli
