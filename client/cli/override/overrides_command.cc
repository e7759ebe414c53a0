// headgate overrides: which are in force, who did what when, and the end of one.

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/arguments/actor.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/override/override_fetch.h"
#include "client/cli/override/override_text.h"
#include "common/system_clock.h"

namespace headgate::cli {
namespace {

int List(const Globals& globals, Connection& connection, const Console& console) {
  absl::StatusOr<v1::ListOverridesResponse> all = ListOverrides(connection, {});
  if (!all.ok()) return ToInt(console.Fail(all.status()));
  v1::ListOverridesResponse shown;
  for (v1::Override& override : *all->mutable_overrides()) {
    if (!IsOn(override, globals.target)) continue;
    *shown.add_overrides() = std::move(override);
  }
  const auto text = [&] {
    return shown.overrides().empty() ? "no override is in force\n"
                                     : OverridesText(shown, console.zone, console.colours);
  };
  return console.Print(shown, text, [&] { return OverridesCsv(shown); });
}

absl::StatusOr<v1::ListOverrideEventsRequest> EventsRequest(const OverridesArguments& arguments,
                                                            absl::TimeZone zone) {
  const absl::StatusOr<TimeSpan> span =
      SpanFromText(arguments.since, arguments.until, SystemClock::ReadKernel().wall(), zone);
  if (!span.ok()) return span.status();
  v1::ListOverrideEventsRequest request;
  if (!arguments.since.empty()) SetTimestamp(span->from, *request.mutable_from());
  if (!arguments.until.empty()) SetTimestamp(span->to, *request.mutable_to());
  return request;
}

}  // namespace

int RunDeleteOverride(const Globals& globals, const DeleteOverrideArguments& arguments,
                      const Console& console) {
  const absl::StatusOr<std::string> actor = ActorOf(arguments.who);
  if (!actor.ok()) return ToInt(console.Fail(actor.status()));
  v1::DeleteOverrideRequest request;
  request.set_id(arguments.id);
  request.set_actor(*actor);
  request.set_reason(arguments.who.reason);
  const absl::StatusOr<v1::DeleteOverrideResponse> ended =
      Connection(globals).Call(&v1::OverrideService::Stub::DeleteOverride, request);
  if (!ended.ok()) return ToInt(console.Fail(WithActorHelp(ended.status())));
  v1::ListOverridesResponse one;
  *one.add_overrides() = ended->override();
  return console.Print(
      *ended, [&] { return EndedText(one) + NotReachedText(ended->servers_not_reached()); },
      [&] { return OverridesCsv(one); });
}

int RunOverrides(const Globals& globals, const OverridesArguments& arguments,
                 const Console& console) {
  Connection connection(globals);
  if (arguments.view == OverridesArguments::View::kInForce)
    return List(globals, connection, console);
  const absl::StatusOr<v1::ListOverrideEventsRequest> request =
      EventsRequest(arguments, globals.zone);
  if (!request.ok()) return ToInt(console.Fail(request.status()));
  const absl::StatusOr<v1::ListOverrideEventsResponse> events =
      ListEvents(connection, *request, globals.target, arguments.limit);
  if (!events.ok()) return ToInt(console.Fail(events.status()));
  const auto text = [&] {
    return events->events().empty() ? "no such event\n"
                                    : EventsText(*events, console.zone, console.colours);
  };
  return console.Print(*events, text, [&] { return EventsCsv(*events); });
}

}  // namespace headgate::cli
