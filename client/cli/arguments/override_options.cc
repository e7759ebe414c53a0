#include "client/cli/arguments/override_options.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/arguments/log_options.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/arguments/parsed_option.h"
#include "client/cli/output/terminal_text.h"

namespace headgate::cli {
namespace {

constexpr int kMaxEvents = 100'000;

struct Words {
  const char* command;
  const char* help;
  const char* more;  // that an example has to have
};

Words WordsOf(v1::OverrideKind kind) {
  switch (kind) {
    case v1::OVERRIDE_KIND_THROTTLE:
      return {"throttle", "Deny a share of an identity's Checks, for a time", " --ratio 80%"};
    case v1::OVERRIDE_KIND_EXEMPT:
      return {"exempt", "Let an identity pass, charged to nothing, for a time", ""};
    case v1::OVERRIDE_KIND_RESUME:
      return {"resume", "End what pauses or throttles an identity; with --for: except it", ""};
    default:
      return {"pause", "Deny all Checks of an identity and of what is below it, for a time", ""};
  }
}

// "6h", "2d" or `never`.
absl::StatusOr<Expiry> ParseFor(const std::string& text) {
  if (text == "never") return Never{};
  double days = 0;
  if (text.ends_with('d') && absl::SimpleAtod(text.substr(0, text.size() - 1), &days) && days > 0 &&
      days < 100'000) {
    return absl::Hours(24 * days);
  }
  const absl::StatusOr<absl::Duration> duration = PositiveDurationFromText(text);
  if (!duration.ok()) return duration.status();
  return *duration;
}

absl::StatusOr<Expiry> ParseUntil(const std::string& text) {
  const auto time = ComingTimeFromText(text, absl::UnixEpoch(), absl::UTCTimeZone());
  if (!time.ok()) return time.status();
  return Until{text};
}

// People who forget an option here are in a hurry, so the error shows a complete command.
void Require(const Words& words, const OverrideArguments& override) {
  const std::string example = absl::StrCat("; for example: headgate ", words.command, " job-7:etl",
                                           words.more, " --for 2h --reason 'stuck shard'");
  const int selectors = (override.identity.empty() ? 0 : 1) + (override.segment.empty() ? 0 : 1) +
                        (override.everything ? 1 : 0);
  const bool exempts = override.kind == v1::OVERRIDE_KIND_EXEMPT;
  if (exempts && override.everything) {
    Refuse(words.command, absl::StrCat("takes no --everything: no limit would be left, and no "
                                       "emergency stop would work",
                                       example));
  }
  if (selectors != 1) {
    Refuse(words.command, absl::StrCat("takes ", selectors == 0 ? "" : "only one of ",
                                       exempts ? "an identity, or --segment SEGMENT"
                                               : "an identity, --segment SEGMENT, or --everything",
                                       example));
  }
  if (override.kind == v1::OVERRIDE_KIND_THROTTLE && !override.ratio.has_value()) {
    Refuse(words.command, absl::StrCat("needs --ratio, the share to deny", example));
  }
  if (override.kind != v1::OVERRIDE_KIND_RESUME && !override.expiry.has_value()) {
    Refuse(words.command, absl::StrCat("needs --for DURATION, --until TIME or --for never, so that "
                                       "it is not forgotten",
                                       example));
  }
  if (override.who.reason.empty()) {
    Refuse(words.command, absl::StrCat("needs --reason, for whoever meets it", example));
  }
}

}  // namespace

void AddWho(CLI::App& command, ActorArguments& who) {
  command.add_option("--reason", who.reason, "why, for whoever meets it")->type_name("TEXT");
  command.add_option("--actor", who.actor, "who does it [$HEADGATE_ACTOR, or else user@host]")
      ->type_name("NAME");
}

CLI::App* AddOverride(CLI::App& app, v1::OverrideKind kind, OverrideArguments& override) {
  override.kind = kind;
  const Words words = WordsOf(kind);
  CLI::App* command = app.add_subcommand(words.command, words.help);
  command->add_option("selector", override.identity, "an identity, and everything below it");
  command->add_option("--segment", override.segment, "any identity that has this segment")
      ->type_name("SEGMENT");
  // To exempt it is refused with a reason.
  CLI::Option* const everything = command->add_flag("--everything", override.everything,
                                                    "whoever asks, on all targets or on --target");
  if (kind == v1::OVERRIDE_KIND_EXEMPT) everything->group("");
  if (kind == v1::OVERRIDE_KIND_THROTTLE) {
    AddParsed<double>(*command, "--ratio", "SHARE", override.ratio, ShareFromText,
                      "the share of Checks to deny, such as 80% or 0.8");
  }
  CLI::Option* until = AddParsed<Expiry>(*command, "--until", "TIME", override.expiry, ParseUntil,
                                         "until then, such as 18:00 or '2026-01-31 18:00'");
  AddParsed<Expiry>(*command, "--for", "DURATION", override.expiry, ParseFor,
                    "for so long, such as 2h or 3d, or `never` to end")
      ->excludes(until);
  AddWho(*command, override.who);
  command->callback([words, &override] { Require(words, override); });
  return command;
}

OverridesCommands AddOverrides(CLI::App& app, OverridesArguments& list,
                               DeleteOverrideArguments& remove) {
  OverridesCommands commands;
  commands.list =
      app.add_subcommand("overrides", "List what is paused, throttled, exempt, resumed");
  commands.list->add_flag_callback(
      "--events", [&list] { list.view = OverridesArguments::View::kEvents; },
      "who did what when instead, the newest first");
  commands.list->add_option("--limit", list.limit, "events to show")
      ->check(CLI::Range(1, kMaxEvents))
      ->capture_default_str()
      ->type_name("N");
  AddTime(*commands.list, "--since", list.since, "events from then on: 1h (ago), 06:00");
  AddTime(*commands.list, "--until", list.until, "events before then");
  commands.list->callback([command = commands.list, &list] {
    for (const char* name : {"--since", "--until"}) {
      if (command->count(name) > 0 && list.view != OverridesArguments::View::kEvents) {
        Refuse(name, "goes with --events");
      }
    }
  });
  commands.remove = commands.list->add_subcommand("delete", "End one, by its number");
  commands.remove->add_option("id", remove.id, "its number, as the list has it")->required();
  AddWho(*commands.remove, remove.who);
  commands.remove->callback([&remove] {
    if (!remove.who.reason.empty()) return;
    Refuse("overrides delete", absl::StrCat("needs --reason, for whoever asks later; for example: "
                                            "headgate overrides delete ",
                                            remove.id, " --reason 'shard is back'"));
  });
  return commands;
}

}  // namespace headgate::cli
