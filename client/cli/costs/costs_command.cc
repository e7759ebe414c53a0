// headgate costs: what was learnt, and forgetting it.

#include <headgate/v1/cost_service.grpc.pb.h>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/arguments/actor.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/connection/fetch_pages.h"
#include "client/cli/costs/costs_text.h"

namespace headgate::cli {
namespace {

using CostStub = v1::CostService::Stub;

constexpr int kCostsInPage = 1000;

}  // namespace

int RunCosts(const Globals& globals, const CostsArguments& arguments, const Console& console) {
  Connection connection(globals);
  v1::ListCostsRequest request;
  request.set_target(globals.target);
  request.set_identity(arguments.identity);
  request.set_pattern(arguments.pattern);
  const absl::StatusOr<v1::ListCostsResponse> costs =
      FetchPages(connection, &CostStub::ListCosts, request, {.max_in_page = kCostsInPage},
                 [](const auto& response) { return response.costs_size(); });
  if (!costs.ok()) return ToInt(console.Fail(costs.status()));
  const auto text = [&] {
    return costs->costs().empty() ? "nothing was learnt\n"
                                  : CostsText(costs->costs(), console.zone, console.colours);
  };
  return console.Print(*costs, text, [&] { return CostsCsv(costs->costs()); });
}

int RunForgetCosts(const Globals& globals, const ForgetCostsArguments& arguments,
                   const Console& console) {
  const absl::StatusOr<std::string> actor = ActorOf(arguments.who);
  if (!actor.ok()) return ToInt(console.Fail(actor.status()));
  v1::ForgetCostsRequest request;
  request.set_target(globals.target);
  if (!arguments.identity.empty()) request.set_identity(arguments.identity);
  if (!arguments.pattern.empty()) request.set_pattern(arguments.pattern);
  request.set_actor(*actor);
  request.set_reason(arguments.who.reason);
  const absl::StatusOr<v1::ForgetCostsResponse> forgotten =
      Connection(globals).Call(&CostStub::ForgetCosts, request);
  if (!forgotten.ok()) return ToInt(console.Fail(WithActorHelp(forgotten.status())));
  const auto text = [&] {
    return absl::StrCat("forgotten: ", forgotten->count(),
                        forgotten->count() == 1 ? " learnt cost" : " learnt costs",
                        forgotten->count() > forgotten->forgotten_size()
                            ? absl::StrCat(", of which ", forgotten->forgotten_size(), " are shown")
                            : "",
                        "\n",
                        CostsText(forgotten->forgotten(), console.zone, console.colours, "  "));
  };
  return console.Print(*forgotten, text, [&] { return CostsCsv(forgotten->forgotten()); });
}

}  // namespace headgate::cli
