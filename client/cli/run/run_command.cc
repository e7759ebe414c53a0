// headgate run: a command under a permit.

#include "absl/strings/str_cat.h"
#include "client/cli/arguments/check_request.h"
#include "client/cli/commands.h"
#include "client/cli/connection/permit_waiter.h"
#include "client/cli/process/child_process.h"
#include "common/strings.h"

namespace headgate::cli {
namespace {

// As shells have it.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

// The command's exit status.
int RunCommand(const RunArguments& arguments, client::Permit& permit, const Console& console) {
  const absl::StatusOr<int> status =
      arguments.priority == Priority::kIdle
          ? RunInForegroundIdle(arguments.command,
                                [&console](const std::string& said) { console.Complain(said); })
          : RunInForeground(arguments.command);
  if (!status.ok()) console.Complain(std::string(status.status().message()));
  if (!status.ok() && !absl::IsInternal(status.status())) {
    // The command did not run. Report refuses only what is no cost or no busy time, and 0 is both.
    permit.Report({.actual_cost = 0, .busy_time = absl::ZeroDuration()}).IgnoreError();
    return absl::IsNotFound(status.status()) ? kNotFound : kNotExecutable;
  }
  // The permit measures the time by itself; the cost was checked when it was parsed.
  permit.Report({.actual_cost = arguments.report_cost}).IgnoreError();
  return status.ok() ? *status : ToInt(ExitStatus::kFailed);
}

std::string WhyNot(const absl::Status& error) {
  if (error.ok() || ExitStatusOf(error) == ExitStatus::kUnreachable) {
    return "no answer from the server";
  }
  return absl::StrCat(absl::StatusCodeToString(error.code()), ": ", error.message());
}

// The work is done either way: a report that fails is said, and changes no status.
void Deliver(PermitWaiter& waiter, absl::Duration timeout, const Console& console) {
  const bool sent = waiter.client().Flush(timeout);
  const client::ReportStats stats = waiter.client().report_stats();
  if (stats.overrun > 0) {
    console.Complain(
        "it cost far more than was predicted, and was not charged in full; `headgate explain` "
        "shows "
        "what is owed");
  }
  if (stats.refused > 0) {
    console.Complain("the server does not know the permit any more; its cost was not reported");
  } else if (!sent || stats.failed + stats.dropped > 0) {
    console.Complain(
        absl::StrCat("what it cost could not be reported: ", WhyNot(waiter.last_report_error())));
  }
}

}  // namespace

int RunRun(const Globals& globals, const RunArguments& arguments, const Console& console) {
  PermitWaiter::OnWaiting on_waiting = nullptr;
  if (arguments.wait > absl::ZeroDuration()) {
    on_waiting = [&console](std::string_view why) {
      console.Complain(absl::StrCat("waiting: ", Sv(why)));
    };
  }
  const absl::StatusOr<std::unique_ptr<PermitWaiter>> waiter =
      PermitWaiter::Create(globals, arguments.on_unreachable, std::move(on_waiting));
  if (!waiter.ok()) return ToInt(console.Fail(waiter.status()));
  absl::StatusOr<client::Permit> permit =
      (*waiter)->Wait(ToSdk(globals, arguments.work), arguments.wait);
  if (!permit.ok()) {
    const std::optional<v1::CheckResponse> denial = (*waiter)->last_answer();
    if (!denial) return ToInt(console.Fail(permit.status()));
    console.Complain(absl::StrCat("no permit: ", denial->decision().message()));
    return ToInt(ExitStatus::kDenied);
  }
  if (permit->local()) {
    console.Complain(absl::StrCat("going on without a permit: ", permit->answer().message));
  }
  const int status = RunCommand(arguments, *permit, console);
  Deliver(**waiter, globals.timeout, console);
  return status;
}

}  // namespace headgate::cli
