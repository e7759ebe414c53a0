// headgate pause, throttle, exempt, resume: what an operator does during an incident.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/arguments/actor.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/commands.h"
#include "client/cli/connection/connection.h"
#include "client/cli/output/override_words.h"
#include "client/cli/output/proto_text.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/override/override_fetch.h"
#include "client/cli/override/override_text.h"
#include "client/cli/override/override_use.h"
#include "common/nearest_word.h"
#include "common/system_clock.h"

namespace headgate::cli {
namespace {

using OverrideStub = v1::OverrideService::Stub;

v1::Selector SelectorOf(const Globals& globals, const OverrideArguments& arguments) {
  v1::Selector selector;
  if (!arguments.segment.empty()) selector.set_segment(arguments.segment);
  if (!arguments.identity.empty()) selector.set_identity(arguments.identity);
  if (arguments.everything) selector.set_everything(true);
  selector.set_target(globals.target);
  return selector;
}

absl::Status SetExpiry(const Expiry& expiry, absl::TimeZone zone,
                       v1::CreateOverrideRequest& request) {
  absl::Duration rest;
  if (const auto* in = std::get_if<absl::Duration>(&expiry)) {
    request.mutable_expires_in()->set_seconds(absl::IDivDuration(*in, absl::Seconds(1), &rest));
    request.mutable_expires_in()->set_nanos(static_cast<int32_t>(rest / absl::Nanoseconds(1)));
  } else if (const auto* until = std::get_if<Until>(&expiry)) {
    const auto at = ComingTimeFromText(until->text, SystemClock::ReadKernel().wall(), zone);
    if (!at.ok()) return at.status();
    SetTimestamp(*at, *request.mutable_expires_at());
  } else {
    request.set_never_expires(true);
  }
  return absl::OkStatus();
}

// To let somebody pass whom nobody knows does no harm.
Asking AskingOf(const OverrideArguments& arguments) {
  const bool stops =
      arguments.kind == v1::OVERRIDE_KIND_PAUSE || arguments.kind == v1::OVERRIDE_KIND_THROTTLE;
  return stops ? Asking::kOnTerminal : Asking::kNever;
}

bool Holds(const v1::Override& override) {
  return override.kind() == v1::OVERRIDE_KIND_PAUSE ||
         override.kind() == v1::OVERRIDE_KIND_THROTTLE;
}

// Whether an override on `wider` holds for what `selector` selects.
bool Covers(const v1::Selector& wider, const v1::Selector& selector) {
  if (!wider.target().empty() && !selector.target().empty() &&
      wider.target() != selector.target()) {
    return false;
  }
  if (wider.everything()) return true;
  if (selector.everything()) return false;
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

// No override is on exactly this selector, so this says which others hold it, if any.
int ExplainNothingToEnd(const v1::Selector& selector, Connection& connection,
                        const Console& console) {
  const absl::StatusOr<v1::ListOverridesResponse> all = ListOverrides(connection, {});
  if (!all.ok()) return ToInt(console.Fail(all.status()));
  std::vector<std::string> holders;
  std::vector<std::string> held;
  std::string other_target;  // where exactly this is held
  for (const v1::Override& override : all->overrides()) {
    if (!Holds(override)) continue;
    held.push_back(SelectorText(override.selector()));
    v1::Selector anywhere = override.selector();
    anywhere.set_target(selector.target());
    if (SelectorText(anywhere) == SelectorText(selector)) {
      other_target = override.selector().target();
    }
    if (Covers(override.selector(), selector)) {
      holders.push_back(Mention(override));
    }
  }
  const std::string whom = SelectorText(selector);
  const std::string nearest = NearestWord(whom, held);
  console.Complain(
      holders.empty()
          ? absl::StrCat("no override pauses or throttles ", whom,
                         nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"),
                         "; `headgate explain` says what a rule of the configuration does")
          : absl::StrCat("no override is on exactly ", whom, ", but it is held by ",
                         absl::StrJoin(holders, " and "),
                         !other_target.empty()
                             ? absl::StrCat("; add --target ", other_target, " to end that")
                             : "; to make an exception, add --for DURATION"));
  return ToInt(ExitStatus::kUsage);
}

// The pauses and throttles of everything that stay, such as one of a single target, in a line each.
// Who may not list them is told nothing.
std::string StopsThatStay(Connection& connection) {
  std::string text;
  const absl::StatusOr<v1::ListOverridesResponse> all = ListOverrides(connection, {});
  if (!all.ok()) return text;
  for (const v1::Override& override : all->overrides()) {
    if (!override.selector().everything() || !Holds(override)) continue;
    absl::StrAppend(&text, Escaped(absl::StrCat("still in force: ", Mention(override))), "\n");
  }
  return text;
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
        connection.Call(&OverrideStub::DeleteOverride, remove);
    if (absl::IsNotFound(gone.status())) continue;  // it ended by itself meanwhile
    failure.Update(gone.status());
    if (gone.ok()) *ended.add_overrides() = gone->override();
  }
  if (ended.overrides().empty() && failure.ok()) {
    return ExplainNothingToEnd(request.selector(), connection, console);
  }
  if (!ended.overrides().empty()) {
    console.Print(
        ended,
        [&] { return EndedText(ended) + (arguments.everything ? StopsThatStay(connection) : ""); },
        [&] { return OverridesCsv(ended); });
  }
  return ToInt(failure.ok() ? ExitStatus::kOk : console.Fail(WithActorHelp(failure)));
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
  const absl::Status expiry = SetExpiry(*arguments.expiry, globals.zone, request);
  if (!expiry.ok()) return ToInt(console.Fail(expiry));
  Connection connection(globals);
  if (!arguments.is_sure && !GoesOnIfUnused(connection, request, AskingOf(arguments), console)) {
    return ToInt(ExitStatus::kUsage);
  }
  const absl::StatusOr<v1::CreateOverrideResponse> made =
      connection.Call(&OverrideStub::CreateOverride, request);
  if (!made.ok()) return ToInt(console.Fail(WithActorHelp(made.status())));
  v1::ListOverridesResponse one;
  *one.add_overrides() = made->override();
  return console.Print(
      *made,
      [&] {
        return MadeText(*made, console.zone, globals.connection) +
               NotReachedText(made->servers_not_reached());
      },
      [&] { return OverridesCsv(one); });
}

}  // namespace headgate::cli
