// headgate forgive: empties the bucket that somebody's work is charged to.

#include <headgate/v1/cost_service.grpc.pb.h>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/arguments/actor.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"

namespace headgate::cli {
namespace {

// "forgiven: 63000 that job-7:etl owed to rows".
std::string ForgivenText(const ForgiveArguments& arguments,
                         const v1::ForgiveDebtResponse& forgiven) {
  const std::string who = forgiven.bucket().empty()
                              ? absl::StrCat(arguments.identity, ", and whoever shares its bucket,")
                              : forgiven.bucket();
  return absl::StrCat("forgiven: ", Amount(forgiven.forgiven(), forgiven.unit()), " that ", who,
                      " owed to ", arguments.budget);
}

}  // namespace

int RunForgive(const Globals& globals, const ForgiveArguments& arguments, const Console& console) {
  const absl::StatusOr<std::string> actor = ActorOf(arguments.who);
  if (!actor.ok()) return ToInt(console.Fail(actor.status()));
  v1::ForgiveDebtRequest request;
  request.set_target(globals.target);
  request.set_identity(arguments.identity);
  request.set_budget(arguments.budget);
  request.set_tag_value(arguments.tag_value);
  request.set_actor(*actor);
  request.set_reason(arguments.who.reason);
  const absl::StatusOr<v1::ForgiveDebtResponse> forgiven =
      Connection(globals).Call(&v1::CostService::Stub::ForgiveDebt, request);
  if (!forgiven.ok()) return ToInt(console.Fail(WithActorHelp(forgiven.status())));
  const auto csv = [&] {
    Table table(Titles("identity,budget,bucket,forgiven,unit"));
    table.Add({{arguments.identity},
               {arguments.budget},
               {forgiven->bucket()},
               {ExactNumber(forgiven->forgiven())},
               {Word(forgiven->unit())}});
    return table;
  };
  return console.Print(
      *forgiven, [&] { return Escaped(ForgivenText(arguments, *forgiven)) + "\n"; }, csv);
}

}  // namespace headgate::cli
