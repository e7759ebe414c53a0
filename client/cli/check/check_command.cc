// headgate check: one Check, or Checks until one is allowed.

#include <headgate/v1/throttler_service.grpc.pb.h>

#include "client/cli/arguments/check_request.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/connection/permit_waiter.h"
#include "client/cli/output/decision_text.h"
#include "client/cli/output/proto_text.h"

namespace headgate::cli {
namespace {

absl::StatusOr<v1::CheckResponse> AskOnce(const Globals& globals, const CheckArguments& arguments) {
  v1::CheckRequest request = ToProto(globals, arguments.work);
  request.set_request_id(arguments.request_id);
  request.set_validate_only(arguments.dry_run == DryRun::kYes);
  Globals patient = globals;
  if (arguments.max_wait) {
    SetDuration(*arguments.max_wait, *request.mutable_max_wait());
    patient.timeout += *arguments.max_wait;
  }
  return Connection(patient).Call(&v1::ThrottlerService::Stub::Check, request);
}

absl::StatusOr<v1::CheckResponse> AskUntilAllowed(const Globals& globals,
                                                  const CheckArguments& arguments) {
  const absl::StatusOr<std::unique_ptr<PermitWaiter>> waiter =
      PermitWaiter::Create(globals, OnUnreachable::kFail);
  if (!waiter.ok()) return waiter.status();
  client::CheckRequest request = ToSdk(globals, arguments.work);
  request.request_id = arguments.request_id;
  request.validate_only = arguments.dry_run == DryRun::kYes;
  absl::StatusOr<client::Permit> permit = (*waiter)->Wait(request, *arguments.wait);
  if (permit.ok()) permit->Dismiss();  // it is the caller's from here on
  const std::optional<v1::CheckResponse> answer = (*waiter)->last_answer();
  if (!answer) return permit.status();
  return *answer;
}

}  // namespace

int RunCheck(const Globals& globals, const CheckArguments& arguments, const Console& console) {
  const absl::StatusOr<v1::CheckResponse> response =
      arguments.wait ? AskUntilAllowed(globals, arguments) : AskOnce(globals, arguments);
  if (!response.ok()) return ToInt(console.Fail(response.status()));
  const v1::Decision& decision = response->decision();
  console.Print(
      *response, [&] { return DecisionText(decision, console.zone, console.colours); },
      [&] { return DecisionCsv(decision); });
  return ToInt(decision.verdict() == v1::VERDICT_ALLOWED ? ExitStatus::kOk : ExitStatus::kDenied);
}

}  // namespace headgate::cli
