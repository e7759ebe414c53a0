// headgate pause, throttle, exempt, resume, overrides: what an operator does during an incident.

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/value_text.h"
#include "client/cli/override/override_fetch.h"
#include "client/cli/override/override_text.h"
#include "common/system_clock.h"

namespace headgate::cli {
namespace {

using Stub = v1::OverrideService::Stub;

// Cron and containers have no such variables; a container may have no such user either.
std::string UserName() {
  for (const char* name : {"USER", "LOGNAME"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  passwd entry = {};
  passwd* found = nullptr;
  std::array<char, 16384> text;
  if (getpwuid_r(getuid(), &entry, text.data(), text.size(), &found) == 0 && found != nullptr &&
      *found->pw_name != '\0') {
    return found->pw_name;
  }
  return absl::StrCat("uid ", getuid());
}

// Of an error that is about the actor, what to do.
absl::Status WithHelp(const absl::Status& status) {
  if (!absl::StartsWith(status.message(), "actor: ")) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(),
                                                  "; --actor or HEADGATE_ACTOR says who does it"));
}

absl::StatusOr<std::string> ActorOf(const ActorArguments& who) {
  std::string actor = who.actor;
  const char* named = std::getenv("HEADGATE_ACTOR");
  if (actor.empty() && named != nullptr) actor = named;
  if (actor.empty()) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    actor = absl::StrCat(UserName(), "@", host.data());
  }
  if (IsUtf8(actor)) return actor;
  return WithHelp(
      absl::InvalidArgumentError(absl::StrCat("actor: '", Escaped(actor), "' is not UTF-8")));
}

v1::Selector SelectorOf(const Globals& globals, const OverrideArguments& arguments) {
  v1::Selector selector;
  if (!arguments.segment.empty()) selector.set_segment(arguments.segment);
  if (!arguments.identity.empty()) selector.set_identity(arguments.identity);
  selector.set_target(globals.target);
  return selector;
}

absl::Status SetExpiry(const Expiry& expiry, v1::CreateOverrideRequest& request) {
  absl::Duration rest;
  if (const auto* in = std::get_if<absl::Duration>(&expiry)) {
    request.mutable_expires_in()->set_seconds(absl::IDivDuration(*in, absl::Seconds(1), &rest));
    request.mutable_expires_in()->set_nanos(static_cast<int32_t>(rest / absl::Nanoseconds(1)));
  } else if (const auto* until = std::get_if<Until>(&expiry)) {
    const auto at =
        ComingTimeFromText(until->text, SystemClock::ReadKernel().wall(), absl::LocalTimeZone());
    if (!at.ok()) return at.status();
    SetTimestamp(*at, *request.mutable_expires_at());
  } else {
    request.set_never_expires(true);
  }
  return absl::OkStatus();
}

// What was done to these, in one line each.
std::string ChangesText(const v1::ListOverridesResponse& overrides, bool ended) {
  std::string text;
  for (const v1::Override& override : overrides.overrides()) {
    const std::string line =
        ended ? absl::StrCat("ended ", Mention(override))
              : absl::StrCat("override ", override.id(), ": ", DoneText(override), " ",
                             SelectorText(override.selector()), " ", UntilText(override));
    absl::StrAppend(&text, Escaped(line), "\n");
  }
  return text;
}

void Print(const Console& console, const v1::ListOverridesResponse& overrides,
           const google::protobuf::Message& json, bool ended) {
  console.Print(
      json, [&] { return ChangesText(overrides, ended); }, [&] { return OverridesCsv(overrides); });
}

bool Holds(const v1::Override& override) {
  return override.kind() == v1::OVERRIDE_KIND_PAUSE ||
         override.kind() == v1::OVERRIDE_KIND_THROTTLE;
}

// Whether an override on `wider` has a say for what `selector` selects.
bool Covers(const v1::Selector& wider, const v1::Selector& selector) {
  if (!wider.target().empty() && !selector.target().empty() &&
      wider.target() != selector.target()) {
    return false;
  }
  if (selector.has_segment()) return wider.segment() == selector.segment();
  const std::string& identity = selector.identity();
  if (wider.has_identity()) {
    return identity == wider.identity() || identity.ends_with(":" + wider.identity());
  }
  for (const auto segment : absl::StrSplit(identity, ':')) {
    if (segment == wider.segment()) return true;
  }
  return false;
}

// Nothing is on exactly this selector: says what else holds it, if anything.
int ExplainNothingToEnd(const v1::Selector& selector, Connection& connection,
                        const Console& console) {
  const absl::StatusOr<v1::ListOverridesResponse> all = ListOverrides(connection, {});
  if (!all.ok()) return ToInt(console.Fail(all.status()));
  std::vector<std::string> holders;
  for (const v1::Override& override : all->overrides()) {
    if (Holds(override) && Covers(override.selector(), selector)) {
      holders.push_back(Mention(override));
    }
  }
  const std::string whom = SelectorText(selector);
  console.Complain(
      holders.empty()
          ? absl::StrCat("no override pauses or throttles ", whom,
                         "; `headgate explain` says what a rule of the configuration does")
          : absl::StrCat("no override is on exactly ", whom, ", but it is held by ",
                         absl::StrJoin(holders, " and "),
                         "; to make an exception, add --for DURATION"));
  return ToInt(ExitStatus::kUsage);
}

// Ends what pauses or throttles exactly this selector.
int EndHolders(const Globals& globals, const OverrideArguments& arguments, const Console& console) {
  const absl::StatusOr<std::string> actor = ActorOf(arguments.who);
  if (!actor.ok()) return ToInt(console.Fail(actor.status()));
  Connection connection(globals);
  v1::ListOverridesRequest request;
  *request.mutable_selector() = SelectorOf(globals, arguments);
  const absl::StatusOr<v1::ListOverridesResponse> found = ListOverrides(connection, request);
  if (!found.ok()) return ToInt(console.Fail(found.status()));
  v1::ListOverridesResponse ended;
  absl::Status failure;
  for (const v1::Override& override : found->overrides()) {
    if (!Holds(override)) continue;
    v1::DeleteOverrideRequest remove;
    remove.set_id(override.id());
    remove.set_actor(*actor);
    remove.set_reason(arguments.who.reason);
    const absl::StatusOr<v1::DeleteOverrideResponse> gone =
        connection.Call(&Stub::DeleteOverride, remove);
    if (absl::IsNotFound(gone.status())) continue;  // it ended by itself meanwhile
    failure.Update(gone.status());
    if (gone.ok()) *ended.add_overrides() = gone->override();
  }
  if (ended.overrides().empty() && failure.ok()) {
    return ExplainNothingToEnd(request.selector(), connection, console);
  }
  if (!ended.overrides().empty()) Print(console, ended, ended, true);
  return ToInt(failure.ok() ? ExitStatus::kOk : console.Fail(WithHelp(failure)));
}

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
  console.Print(shown, text, [&] { return OverridesCsv(shown); });
  return ToInt(ExitStatus::kOk);
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

int RunOverride(const Globals& globals, const OverrideArguments& arguments,
                const Console& console) {
  if (!arguments.expiry.has_value()) return EndHolders(globals, arguments, console);
  const absl::StatusOr<std::string> actor = ActorOf(arguments.who);
  if (!actor.ok()) return ToInt(console.Fail(actor.status()));
  v1::CreateOverrideRequest request;
  request.set_kind(arguments.kind);
  *request.mutable_selector() = SelectorOf(globals, arguments);
  if (arguments.ratio.has_value()) request.set_ratio(*arguments.ratio);
  request.set_actor(*actor);
  request.set_reason(arguments.who.reason);
  const absl::Status expiry = SetExpiry(*arguments.expiry, request);
  if (!expiry.ok()) return ToInt(console.Fail(expiry));
  const absl::StatusOr<v1::CreateOverrideResponse> made =
      Connection(globals).Call(&Stub::CreateOverride, request);
  if (!made.ok()) return ToInt(console.Fail(WithHelp(made.status())));
  v1::ListOverridesResponse one;
  *one.add_overrides() = made->override();
  Print(console, one, *made, false);
  return ToInt(ExitStatus::kOk);
}

int RunDeleteOverride(const Globals& globals, const DeleteOverrideArguments& arguments,
                      const Console& console) {
  const absl::StatusOr<std::string> actor = ActorOf(arguments.who);
  if (!actor.ok()) return ToInt(console.Fail(actor.status()));
  v1::DeleteOverrideRequest request;
  request.set_id(arguments.id);
  request.set_actor(*actor);
  request.set_reason(arguments.who.reason);
  const absl::StatusOr<v1::DeleteOverrideResponse> ended =
      Connection(globals).Call(&Stub::DeleteOverride, request);
  if (!ended.ok()) return ToInt(console.Fail(WithHelp(ended.status())));
  v1::ListOverridesResponse one;
  *one.add_overrides() = ended->override();
  Print(console, one, *ended, true);
  return ToInt(ExitStatus::kOk);
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
  console.Print(*events, text, [&] { return EventsCsv(*events); });
  return ToInt(ExitStatus::kOk);
}

}  // namespace headgate::cli
