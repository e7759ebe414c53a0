// headgate overrides: which are in force, who did what when, and the end of one.

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/arguments/actor.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/value_text.h"
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
                                     : OverridesTable(shown).Text(console.colours);
  };
  return console.Print(shown, text, [&] { return OverridesCsv(shown); });
}

absl::StatusOr<v1::ListOverrideEventsRequest> EventsRequest(const OverridesArguments& arguments) {
  v1::ListOverrideEventsRequest request;
  const absl::Time now = SystemClock::ReadKernel().wall();
  absl::Time from = absl::InfinitePast();
  absl::Time to = absl::InfiniteFuture();
  if (!arguments.since.empty()) {
    const auto since = TimeFromText(arguments.since, now, absl::LocalTimeZone());
    if (!since.ok()) return since.status();
    SetTimestamp(from = *since, *request.mutable_from());
  }
  if (!arguments.until.empty()) {
    const auto until = TimeFromText(arguments.until, now, absl::LocalTimeZone());
    if (!until.ok()) return until.status();
    SetTimestamp(to = *until, *request.mutable_to());
  }
  if (from < to) return request;
  return absl::InvalidArgumentError(absl::StrCat("--since: ", LocalTimeText(from),
                                                 " is not before --until, ", LocalTimeText(to)));
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
      *ended,
      [&] {
        return ChangesText(one, Change::kEnded) + NotReachedText(ended->servers_not_reached());
      },
      [&] { return OverridesCsv(one); });
}

int RunOverrides(const Globals& globals, const OverridesArguments& arguments,
                 const Console& console) {
  Connection connection(globals);
  if (arguments.view == OverridesArguments::View::kInForce)
    return List(globals, connection, console);
  const absl::StatusOr<v1::ListOverrideEventsRequest> request = EventsRequest(arguments);
  if (!request.ok()) return ToInt(console.Fail(request.status()));
  const absl::StatusOr<v1::ListOverrideEventsResponse> events =
      ListEvents(connection, *request, globals.target, arguments.limit);
  if (!events.ok()) return ToInt(console.Fail(events.status()));
  const auto text = [&] {
    return events->events().empty() ? "no such event\n"
                                    : EventsTable(*events).Text(console.colours);
  };
  return console.Print(*events, text, [&] { return EventsCsv(*events); });
}

}  // namespace headgate::cli
