// What an on-call engineer reads who typed it wrong: each command with something missing or wrong.

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/cli/arguments/arguments.h"
#include "client/cli/arguments/help.h"
#include "client/cli/output/field_words.h"
#include "client/cli/output/terminal_text.h"
#include "common/shell_words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

using ::testing::HasSubstr;

struct Wrong {
  std::vector<std::string> words;
  std::string said;  // without where to read on
};

std::string SaidOf(const std::vector<std::string>& words) {
  const Parsed parsed = ParseArguments(words);
  const auto* ended = std::get_if<Ended>(&parsed);
  return ended == nullptr ? "taken" : ended->text.substr(0, ended->text.rfind("; see headgate "));
}

TEST(UsageError, ShowsWhatWasTypedWithWhatIsMissing) {
  const std::vector<Wrong> wrong = {
      {{}, "a command is needed, such as headgate status or headgate top"},
      {{"check"}, "check: needs an identity; for example: headgate check job-7:etl --cost 500"},
      {{"explain", "--cost", "5"},
       "explain: needs an identity; for example: headgate explain job-7:etl --cost 5"},
      {{"--target", "orders", "explain", "--tag", "tenant=acme co"},
       "explain: needs an identity; for example: headgate --target orders explain job-7:etl --tag "
       "'tenant=acme co'"},
      {{"report"}, "report: needs the number of a permit; for example: headgate report 4711"},
      {{"pause", "nightly:etl"},
       "pause: needs --for DURATION, --until TIME or --for never, so that it is not forgotten; for "
       "example: headgate pause nightly:etl --for 2h --reason 'stuck shard'"},
      {{"throttle", "nightly:etl", "--for", "1h"},
       "throttle: needs --ratio, the share to deny; for example: headgate throttle nightly:etl "
       "--for 1h --ratio 80% --reason 'stuck shard'"},
      {{"exempt", "--for", "1h"},
       "exempt: takes an identity, or --segment SEGMENT; for example: headgate exempt job-7:etl "
       "--reason 'stuck shard' --for 1h"},
      {{"resume", "nightly:etl"},
       "resume: needs --reason, for whoever asks later; for example: headgate resume nightly:etl "
       "--reason 'stuck shard'"},
      {{"overrides", "delete", "7"},
       "overrides delete: needs --reason, for whoever asks later; for example: headgate overrides "
       "delete 7 --reason 'shard is back'"},
      {{"forgive", "nightly:etl"},
       "forgive: needs --budget, the one to which the debt is owed; `headgate explain` shows them; "
       "for example: headgate forgive nightly:etl --budget rows --reason 'reported bytes as rows'"},
      {{"move", "orders"},
       "move: takes --to MEMBER or --anywhere; for example: headgate move orders --to headgate-1 "
       "--reason 'next to the database'"},
      {{"drain"},
       "drain: needs the name of a server; for example: headgate drain headgate-1 --reason 'its "
       "node is replaced'"},
      {{"config", "check"},
       "config check: needs a file; for example: headgate config check headgate.yaml"},
      {{"replay", "--since", "1d"},
       "replay: needs --config, the other configuration; for example: headgate replay --since 1d "
       "--config new.yaml"},
      {{"store"}, "store: takes a command: init, upgrade, check"},
  };
  for (const auto& [words, said] : wrong) EXPECT_EQ(SaidOf(words), said);
}

TEST(UsageError, SaysWhatIsWrongInPlainWords) {
  const std::vector<Wrong> wrong = {
      {{"stauts"}, "there is no command stauts; did you mean status?"},
      {{"overrides", "list"}, "there is no command overrides list"},
      {{"log", "--sinse", "1h"}, "log has no option --sinse; did you mean --since?"},
      {{"pause", "etl", "--fro", "2h"}, "pause has no option --fro; did you mean --for?"},
      {{"status", "etl"}, "status: 'etl' is one word too many"},
      {{"check", "a", "--cost"}, "--cost: needs a value"},
      {{"overrides", "delete", "x"}, "id: 'x' is not the number of an override"},
      {{"overrides", "--limit", "0"}, "--limit: '0' is not a whole number from 1 to 100000"},
      {{"pause", "etl", "--for", "2", "--reason", "r"},
       "--for: '2' is not a duration such as 250ms, 30s or 1h30m"},
      {{"pause", "etl", "--for", "2h", "--until", "18:00", "--reason", "r"},
       "--until does not go with --for"},
      {{"throttle", "etl", "--ratio", "80"},
       "--ratio: '80' is not a share above 0 and at most 1, such as 0.8 or 80%"},
      {{"log", "--min-denied", "120%"},
       "--min-denied: '120%' is not a share above 0 and at most 1, such as 0.8 or 80%"},
      {{"agent", "--batch", "role=etl", "--floor", "60%"},
       "--floor: '60%' is no share from 0 to 0.5, such as 0.05 or 5%"},
  };
  for (const auto& [words, said] : wrong) EXPECT_EQ(SaidOf(words), said);
}

TEST(UsageError, NamesTheHelpOfTheCommandThatWasTyped) {
  const auto end = [](const std::vector<std::string>& words) {
    const std::string text = std::get<Ended>(ParseArguments(words)).text;
    return text.substr(text.rfind("; see "));
  };
  EXPECT_EQ(end({"pause"}), "; see headgate pause --help");
  EXPECT_EQ(end({"costs", "forget"}), "; see headgate costs forget --help");
  EXPECT_EQ(end({"stauts"}), "; see headgate --help");
}

TEST(Arguments, TakeTheIdentityByItsNameToo) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"check", "--identity", "a:b"},
           {"explain", "--identity", "a:b"},
           {"log", "--identity", "a:b"},
           {"pause", "--identity", "a:b", "--for", "1h", "--reason", "r"},
           {"costs", "--identity", "a:b"},
           {"leases", "--identity", "a:b"}}) {
    EXPECT_TRUE(std::holds_alternative<Arguments>(ParseArguments(words))) << words[0];
  }
}

// Of every command: examples that are taken, the options of all commands, and no line too wide.
TEST(Help, HasExamplesThatWorkAndTheOptionsOfAllCommands) {
  for (const char* name :
       {"check",   "report",  "explain", "run",      "status",  "rules",  "leases",    "top",
        "log",     "replay",  "pause",   "throttle", "exempt",  "resume", "overrides", "costs",
        "forgive", "members", "move",    "drain",    "undrain", "store",  "agent"}) {
    const std::string help = std::get<Ended>(ParseArguments({name, "--help"})).text;
    EXPECT_THAT(help, HasSubstr("Examples:\n  headgate ")) << name;
    EXPECT_THAT(help, HasSubstr("Options of all commands:")) << name;
    EXPECT_THAT(help, HasSubstr("--target NAME")) << name;
    for (const absl::string_view line : absl::StrSplit(help, '\n')) {
      EXPECT_LE(DisplayWidth({line.data(), line.size()}), 88u) << line;
    }
    for (const std::string& example : ExamplesOf(name)) {
      std::string quoted = example.substr(std::string("headgate ").size());
      std::vector<std::string> words;
      std::string word;
      bool in_quotes = false;
      for (const char c : quoted + " ") {
        if (c == '\'') {
          in_quotes = !in_quotes;
        } else if (c == ' ' && !in_quotes) {
          words.push_back(std::exchange(word, ""));
        } else {
          word += c;
        }
      }
      EXPECT_EQ(SaidOf(words), "taken") << example;
    }
  }
}

TEST(InTheWordsOfOptions, NamesNoFieldOfTheApi) {
  const std::vector<std::pair<std::string, std::string>> told = {
      {"check.target: must be named, since several are configured: orders, billing",
       "--target is needed: orders, billing"},
      {"selector.target: no target 'x' is configured", "--target: no target 'x' is configured"},
      {"filter.from: must be earlier", "--since: must be earlier"},
      {"check.estimated_cost: must be finite", "--cost: must be finite"},
      {"check.tags[tenant]: is too long", "--tag: is too long"},
      {"check.identity: identity has a blank", "identity has a blank"},
      {"expires_in: must be 1 s to 366 days", "--for: must be 1 s to 366 days"},
      {"config_yaml: line 3: no", "--config: line 3: no"},
      {"cannot reach a: refused", "cannot reach a: refused"},
      {"override 7 is not in force", "override 7 is not in force"}};
  for (const auto& [server, said] : told) EXPECT_EQ(InTheWordsOfOptions(server), said);
}

TEST(ShellLine, QuotesWhatAShellWouldReadOtherwise) {
  EXPECT_EQ(ShellLine({"headgate", "pause", "job-7:etl", "--reason", "it's full", ""}),
            "headgate pause job-7:etl --reason 'it'\\''s full' ''");
}

}  // namespace
}  // namespace headgate::cli
