#include "client/cli/arguments/override_options.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/arguments/log_options.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/arguments/parsed_option.h"
#include "client/cli/arguments/usage_error.h"
#include "client/cli/output/terminal_text.h"

namespace headgate::cli {
namespace {

constexpr int kMaxEvents = 100'000;

struct Words {
  const char* command;
  const char* help;
};

Words WordsOf(v1::OverrideKind kind) {
  switch (kind) {
    case v1::OVERRIDE_KIND_THROTTLE:
      return {"throttle", "Deny a share of an identity's Checks, for a time"};
    case v1::OVERRIDE_KIND_EXEMPT:
      return {"exempt", "Let an identity pass, charged to nothing, for a time"};
    case v1::OVERRIDE_KIND_RESUME:
      return {"resume", "End what pauses or throttles an identity; with --for: except it"};
    default:
      return {"pause", "Deny all Checks of an identity and of what is below it, for a time"};
  }
}

absl::StatusOr<int64_t> NumberFromText(const std::string& text) {
  int64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return absl::InvalidArgumentError(
      absl::StrCat("'", Escaped(text), "' is not the number of an override"));
}

absl::StatusOr<int> CountFromText(const std::string& text) {
  int count = 0;
  if (absl::SimpleAtoi(text, &count) && count >= 1 && count <= kMaxEvents) return count;
  return absl::InvalidArgumentError(
      absl::StrCat("'", Escaped(text), "' is not a whole number from 1 to ", kMaxEvents));
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

void RequireSelector(const Words& words, const OverrideArguments& override) {
  const int selectors = (override.identity.empty() ? 0 : 1) + (override.segment.empty() ? 0 : 1) +
                        (override.everything ? 1 : 0);
  const bool exempts = override.kind == v1::OVERRIDE_KIND_EXEMPT;
  if (exempts && override.everything) {
    Refuse(words.command,
           "takes no --everything: no limit would be left, and no emergency stop would work");
  }
  if (selectors > 1) {
    Refuse(words.command, absl::StrCat("takes only one of an identity, --segment SEGMENT",
                                       exempts ? "" : ", or --everything"));
  }
}

// People who forget an option here are in a hurry, so the error shows a complete command.
void Require(const Words& words, const OverrideArguments& override) {
  RequireSelector(words, override);
  std::vector<std::string> missing;
  std::string what;
  const auto needs = [&](bool is_missing, const std::string& sentence,
                         const std::vector<std::string>& example) {
    if (!is_missing) return;
    if (what.empty()) what = sentence;
    missing.insert(missing.end(), example.begin(), example.end());
  };
  needs(override.identity.empty() && override.segment.empty() && !override.everything,
        override.kind == v1::OVERRIDE_KIND_EXEMPT
            ? "takes an identity, or --segment SEGMENT"
            : "takes an identity, --segment SEGMENT, or --everything",
        {"job-7:etl"});
  needs(override.kind == v1::OVERRIDE_KIND_THROTTLE && !override.ratio.has_value(),
        "needs --ratio, the share to deny", {"--ratio", "80%"});
  needs(override.kind != v1::OVERRIDE_KIND_RESUME && !override.expiry.has_value(),
        "needs --for DURATION, --until TIME or --for never, so that it is not forgotten",
        {"--for", "2h"});
  needs(override.who.reason.empty(), kNeedsReason, {"--reason", "stuck shard"});
  if (!what.empty()) RefuseMissing(words.command, what, missing);
}

}  // namespace

void AddReason(const ActorArguments& who, const char* example, std::vector<std::string>& missing) {
  if (!who.reason.empty()) return;
  missing.insert(missing.end(), {"--reason", example});
}

void AddWho(CLI::App& command, ActorArguments& who) {
  command.add_option("--reason", who.reason, "why, for whoever asks later")->type_name("TEXT");
  command.add_option("--actor", who.actor, "who does it [$HEADGATE_ACTOR, or else user@host]")
      ->type_name("NAME");
}

CLI::App* AddOverride(CLI::App& app, v1::OverrideKind kind, OverrideArguments& override) {
  override.kind = kind;
  const Words words = WordsOf(kind);
  CLI::App* command = app.add_subcommand(words.command, words.help);
  command->add_option("identity,--identity", override.identity,
                      "an identity, and everything below it");
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
  if (kind == v1::OVERRIDE_KIND_PAUSE || kind == v1::OVERRIDE_KIND_THROTTLE) {
    command->add_flag("--yes", override.is_sure,
                      "do not ask, nor look, whether anybody has used it in the last hour");
  }
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
  AddParsed<int>(*commands.list, "--limit", "N", list.limit, CountFromText, "events to show [100]");
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
  AddParsed<int64_t>(*commands.remove, "id", "NUMBER", remove.id, NumberFromText,
                     "its number, as the list has it")
      ->required();
  AddWho(*commands.remove, remove.who);
  commands.remove->callback([&remove] {
    std::vector<std::string> missing;
    AddReason(remove.who, "shard is back", missing);
    if (!missing.empty()) RefuseMissing("overrides delete", kNeedsReason, missing);
  });
  return commands;
}

}  // namespace headgate::cli
