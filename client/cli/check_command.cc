// headgate check: one Check, or Checks until one is allowed.

#include "client/cli/asker.h"
#include "client/cli/commands.h"
#include "client/cli/connection.h"
#include "client/cli/decision_text.h"
#include "client/cli/work.h"

namespace headgate::cli {
namespace {

absl::StatusOr<v1::CheckResponse> AskOnce(const Globals& globals, const CheckArguments& arguments) {
  v1::CheckRequest request = ToProto(globals, arguments.work);
  request.set_request_id(arguments.request_id);
  request.set_validate_only(arguments.dry_run == DryRun::kYes);
  return Connection(globals).Check(request);
}

absl::StatusOr<v1::CheckResponse> AskUntilAllowed(const Globals& globals,
                                                  const CheckArguments& arguments) {
  const absl::StatusOr<std::unique_ptr<Asker>> asker = Asker::Create(globals, OnUnreachable::kFail);
  if (!asker.ok()) return asker.status();
  client::CheckRequest request = ToSdk(globals, arguments.work);
  request.request_id = arguments.request_id;
  request.validate_only = arguments.dry_run == DryRun::kYes;
  absl::StatusOr<client::Permit> permit = (*asker)->Wait(request, *arguments.wait);
  if (permit.ok()) permit->Dismiss();  // it is the caller's from here on
  const std::optional<v1::CheckResponse> answer = (*asker)->last_answer();
  if (!answer) return permit.status();
  return *answer;
}

}  // namespace

int RunCheck(const Globals& globals, const CheckArguments& arguments, const Console& console) {
  const absl::StatusOr<v1::CheckResponse> response =
      arguments.wait ? AskUntilAllowed(globals, arguments) : AskOnce(globals, arguments);
  if (!response.ok()) return ToInt(console.Fail(response.status()));
  const v1::Decision& decision = response->decision();
  switch (console.format) {
    case Format::kTable:
      console.out << DecisionText(decision, console.colours);
      break;
    case Format::kJson:
      console.out << Json(*response);
      break;
    case Format::kCsv:
      console.out << DecisionCsv(decision).Csv();
      break;
  }
  return ToInt(decision.verdict() == v1::VERDICT_ALLOWED ? ExitStatus::kOk : ExitStatus::kDenied);
}

}  // namespace headgate::cli
