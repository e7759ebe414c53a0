#include "client/cli/arguments/log_options.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/arguments/parse_value.h"
#include "client/cli/arguments/parsed_option.h"
#include "client/cli/output/terminal_text.h"
#include "common/strings.h"

namespace headgate::cli {
namespace {

constexpr char kDefaultTop[] = "10";
constexpr char kDefaultDenials[] = "20";

// "MAX_COST" of "max-cost", "max cost" and "MAX_COST".
std::string EnumName(std::string_view word) {
  return absl::AsciiStrToUpper(absl::StrReplaceAll(Sv(word), {{"-", "_"}, {" ", "_"}}));
}

// The value that a person calls `word`, such as "max-cost"; throws what is wrong.
template <typename Enum>
Enum ParseEnum(const std::string& option, std::string_view prefix, const std::string& word) {
  const google::protobuf::EnumDescriptor* values = google::protobuf::GetEnumDescriptor<Enum>();
  const auto* value = values->FindValueByName(absl::StrCat(Sv(prefix), EnumName(word)));
  if (value != nullptr && value->number() != 0) return static_cast<Enum>(value->number());
  std::string known;
  for (int i = 1; i < values->value_count(); ++i) {
    const std::string name = absl::AsciiStrToLower(values->value(i)->name().substr(prefix.size()));
    absl::StrAppend(&known, i > 1 ? "|" : "", absl::StrReplaceAll(name, {{"_", "-"}}));
  }
  Refuse(option, absl::StrCat("'", Escaped(word), "' is not one of ", known));
}

int ParseCount(const std::string& option, const std::string& text) {
  int count = 0;
  if (!absl::SimpleAtoi(text, &count) || count < 1) {
    Refuse(option, absl::StrCat("'", Escaped(text), "' is not a whole number above 0"));
  }
  return count;
}

absl::Duration ParseStep(const std::string& option, const std::string& text) {
  const absl::StatusOr<absl::Duration> step = DurationFromText(text);
  if (!step.ok()) Refuse(option, std::string(step.status().message()));
  if (*step < absl::Seconds(1) || *step % absl::Seconds(1) != absl::ZeroDuration()) {
    Refuse(option, "a step has whole seconds, one at least");
  }
  return *step;
}

// An option that may be repeated; `take` is called with each value.
CLI::Option* AddEach(CLI::App& app, const std::string& name, const std::string& type,
                     std::function<void(const std::string&)> take, const std::string& help) {
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [take = std::move(take)](const std::vector<std::string>& values) {
            for (const std::string& value : values) take(value);
          },
          help)
      ->allow_extra_args(false)
      ->type_name(type);
}

CLI::Option* AddCount(CLI::App& app, const std::string& name, std::function<void(int)> take,
                      const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [name, take = std::move(take)](const std::string& text) { take(ParseCount(name, text)); },
          help)
      ->type_name("N");
}

void AddPast(CLI::App& app, PastArguments& past) {
  CLI::Option* identity =
      app.add_option("selector", past.identity, "an identity, and everything below it");
  app.add_option("--segment", past.segment, "any identity that has this segment")
      ->excludes(identity)
      ->type_name("SEGMENT");
  AddTime(app, "--since", past.since, "from then on: 1h (ago), 06:00, RFC 3339 [1h]");
  AddTime(app, "--until", past.until, "before then [now]");
  app.add_flag_callback(
      "--local", [&past] { past.zone = Zone::kLocal; }, "times in the local zone instead of UTC");
  AddCount(
      app, "--limit", [&past](int limit) { past.limit = limit; }, "show at most so many");
}

void AddFilter(CLI::App& app, LogArguments& log) {
  AddEach(
      app, "--outcome", "OUTCOME",
      [&log](const std::string& word) {
        log.outcomes.push_back(ParseEnum<v1::Outcome>("--outcome", "OUTCOME_", word));
      },
      "allowed|would-be-denied|denied|waited; may be repeated, as those below");
  AddEach(
      app, "--reason", "REASON",
      [&log](const std::string& word) {
        log.reasons.push_back(ParseEnum<v1::Reason>("--reason", "REASON_", word));
      },
      "health|capacity|max-cost|max-concurrency|deny-rule|reject-ratio|exempt|unmatched");
  AddEach(
      app, "--budget", "NAME", [&log](const std::string& name) { log.budgets.push_back(name); },
      "only what this budget refused");
  AddEach(
      app, "--signal", "NAME", [&log](const std::string& name) { log.signals.push_back(name); },
      "only what this health signal was behind, on any server or 'NAME on SERVER'");
  app.add_option("--server", log.server, "only what this server decided, of several")
      ->type_name("NAME");
}

// One of "signal", "level=2", "step", "step=1m", ...
void ParseGroup(const std::string& group, LogArguments& log) {
  constexpr char kBy[] = "--by";
  const size_t equals = group.find('=');
  const std::string name = group.substr(0, equals);
  const bool level = EnumName(name) == "LEVEL";
  const auto parsed =
      level ? v1::LOG_GROUP_IDENTITY : ParseEnum<v1::LogGroup>(kBy, "LOG_GROUP_", name);
  const bool with_value = equals != std::string::npos;
  const std::string value = with_value ? group.substr(equals + 1) : "";
  if (level) {
    log.level = ParseCount(kBy, value);
  } else if (with_value && parsed == v1::LOG_GROUP_STEP) {
    log.step = ParseStep(kBy, value);
  } else if (with_value) {
    Refuse(kBy, absl::StrCat("'", Escaped(name), "' takes no value"));
  }
  if (std::find(log.by.begin(), log.by.end(), parsed) != log.by.end()) {
    Refuse(kBy, absl::StrCat("'", Escaped(name), "' is given twice"));
  }
  log.by.push_back(parsed);
}

// Checks which options go together, once all of them are known.
void Settle(const CLI::App& app, LogArguments& log) {
  const auto given = [&app](const char* name) { return app.count(name) > 0; };
  const bool denials = given("--denials") || given("--follow");
  for (const char* summed : {"--by", "--top", "--heat"}) {
    if (denials && given(summed)) Refuse(summed, "single denials are not summed up");
  }
  const auto& outcomes = log.outcomes;
  if (denials &&
      std::find(outcomes.begin(), outcomes.end(), v1::OUTCOME_ALLOWED) != outcomes.end()) {
    Refuse("--outcome", "what was allowed is no denial; takes denied|would-be-denied here");
  }
  if (denials && given("--level")) Refuse("--level", "single denials are shown in full");
  const bool steps = std::find(log.by.begin(), log.by.end(), v1::LOG_GROUP_STEP) != log.by.end();
  if (given("--heat") && log.by.size() > (steps ? 1U : 0U)) {
    Refuse("--by", "--heat takes step=DURATION alone; for a level there is --level");
  }
  log.view = given("--follow")                 ? LogArguments::View::kFollow
             : given("--denials")              ? LogArguments::View::kDenials
             : given("--heat")                 ? LogArguments::View::kHeat
             : given("--by") || given("--top") ? LogArguments::View::kSums
                                               : LogArguments::View::kIntervals;
  const bool shares =
      log.view == LogArguments::View::kIntervals || log.view == LogArguments::View::kHeat;
  if (shares && given("--outcome")) {
    Refuse("--outcome", "what is denied is compared with what is allowed; it goes with --by");
  }
  if (given("--min-denied") && log.view != LogArguments::View::kIntervals) {
    Refuse("--min-denied", "says what a held back time is, and goes with those alone");
  }
  if (given("--unmatched")) {
    if (IsNarrowed(log)) Refuse("--unmatched", "what no rule matches, none refused");
    if (denials || given("--heat") || given("--top")) {
      Refuse("--unmatched", "is about what was allowed: it goes with --by and --limit");
    }
    log.view = LogArguments::View::kSums;
    log.reasons = {v1::REASON_UNMATCHED};
    log.order = v1::LOG_ORDER_MOST_CHECKS;
    if (log.by.empty()) log.by = {v1::LOG_GROUP_IDENTITY};
  }
  if (given("--top") && log.by.empty() && !given("--heat")) log.by = {v1::LOG_GROUP_IDENTITY};
}

absl::StatusOr<double> ShareFromText(const std::string& text) {
  double share = 0;
  if (absl::SimpleAtod(text, &share) && share > 0 && share <= 1) return share;
  return absl::InvalidArgumentError(
      absl::StrCat("'", Escaped(text), "' is not a share above 0 and at most 1"));
}

}  // namespace

void AddTime(CLI::App& app, const std::string& name, std::string& value, const std::string& help) {
  // Whether the text is a time does not depend on the clock.
  const auto parse = [](const std::string& text) -> absl::StatusOr<std::string> {
    const auto time = TimeFromText(text, absl::UnixEpoch(), absl::UTCTimeZone());
    if (!time.ok()) return time.status();
    return text;
  };
  AddParsed<std::string>(app, name, "TIME", value, parse, help);
}

CLI::App* AddLog(CLI::App& app, LogArguments& log) {
  CLI::App* command = app.add_subcommand("log", "Show who was held back, when, and by what");
  AddPast(*command, log.past);
  AddFilter(*command, log);
  AddEach(
      *command, "--by", "GROUP", [&log](const std::string& group) { ParseGroup(group, log); },
      "sums by identity|level=N|target|outcome|reason|budget|rule|signal|server|step[=1m]")
      ->delimiter(',');
  AddCount(
      *command, "--level", [&log](int level) { log.level = level; },
      "count by this level of the identity, 1 being the root");
  const auto newest = [&log](int count) { log.past.limit = count; };
  AddCount(
      *command, "--top",
      [&log](int count) {
        log.past.limit = count;
        log.order = v1::LOG_ORDER_MOST_HELD_BACK;
      },
      "sums, most held back first; by identity, and 10, unless told");
  AddCount(*command, "--denials", newest, "the newest single denials [20]");
  command->add_flag("-f,--follow")->description("go on with new denials until Ctrl-C");
  command->add_flag("--unmatched")
      ->description("whom no rule matches, so that nothing limits them: a mistyped identity?");
  command->add_flag("--heat")->description("a strip for each identity over time");
  AddParsed<double>(*command, "--min-denied", "SHARE", log.min_denied, ShareFromText,
                    "a time is held back where this share of Checks is denied, or this share of "
                    "the time waited [0.5]");
  AddParsed<absl::Duration>(*command, "--interval", "DURATION", log.interval,
                            PositiveDurationFromText, "how often --follow asks [1s]");
  command->callback([command, &log] { Settle(*command, log); });
  return command;
}

CLI::App* AddReplay(CLI::App& app, ReplayArguments& replay) {
  CLI::App* command = app.add_subcommand(
      "replay", "Say what another configuration would have done with the recorded demand");
  AddPast(*command, replay.past);
  command->add_option("--config", replay.config, "the other configuration's YAML file")
      ->required()
      ->type_name("FILE");
  return command;
}

std::vector<std::string> WithNumbers(std::vector<std::string> words) {
  if (std::find(words.begin(), words.end(), "log") == words.end()) return words;
  // -3 counts too, and is refused later: it is neither an option nor an identity.
  const auto is_number = [](std::string_view word) {
    if (word.starts_with('-')) word.remove_prefix(1);
    return !word.empty() && std::all_of(word.begin(), word.end(), absl::ascii_isdigit);
  };
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "--top" && words[i] != "--denials") continue;
    if (i + 1 < words.size() && is_number(words[i + 1])) {
      absl::StrAppend(&words[i], "=", words[i + 1]);
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else if (words[i] == "--top") {
      words[i] = absl::StrCat("--top=", kDefaultTop);
    } else {
      words[i] = absl::StrCat("--denials=", kDefaultDenials);
    }
  }
  return words;
}

}  // namespace headgate::cli
