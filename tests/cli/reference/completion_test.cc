// Completion is asked of the shells themselves, with the scripts that the program prints.

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/run_headgate.h"

namespace headgate::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

// The script in a file; its name is what fish and zsh call it.
std::string ScriptOf(const std::string& shell) {
  const Finished made = Subprocess({HEADGATE_PROGRAM, "completion", shell}).Wait();
  EXPECT_EQ(made.status, 0) << made.err;
  const std::string path = absl::StrCat(::testing::TempDir(), "headgate-completion.", shell);
  std::ofstream(path) << made.out;
  return path;
}

bool HasShell(const std::string& shell) {
  return Subprocess({"sh", "-c", "command -v " + shell}).Wait().status == 0;
}

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

// What bash proposes for the last of these words, as it splits them.
std::vector<std::string> InBash(const std::string& words) {
  const std::string script =
      absl::StrCat("set -u; . ", ScriptOf("bash"), "; COMP_WORDS=(headgate ", words,
                   "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); $(complete -p headgate | ",
                   "sed -E 's/.*-F ([^ ]+) headgate$/\\1/') && printf '%s\\n' \"${COMPREPLY[@]}\"");
  const Finished finished = Subprocess({"bash", "--norc", "-c", script}).Wait();
  EXPECT_EQ(finished.status, 0) << finished.err;
  return Lines(finished.out);
}

TEST(Completion, BashProposesCommandsAndWhatIsBelowThem) {
  EXPECT_THAT(InBash("ex"), ElementsAre("explain", "exempt"));
  EXPECT_THAT(InBash("--address localhost : 8081 overrides ''"), ElementsAre("delete"));
  EXPECT_THAT(InBash("store ''"), ElementsAre("init", "upgrade", "check"));
  EXPECT_THAT(InBash("''"), Not(Contains("reference")));
}

TEST(Completion, BashProposesOptionsOfTheCommandAndOfAll) {
  EXPECT_THAT(InBash("log --"), IsSupersetOf({"--heat", "--since", "--output", "--help"}));
  EXPECT_THAT(InBash("log --"), Not(Contains("--dry-run")));
  EXPECT_THAT(InBash("store init --d"), ElementsAre("--dsn"));
  // The selector is called like a command.
  EXPECT_THAT(InBash("pause job : log --ev"), ElementsAre("--everything"));
}

TEST(Completion, BashProposesValuesThatTheDefinitionsKnow) {
  EXPECT_THAT(InBash("-o ''"), ElementsAre("table", "json", "csv"));
  EXPECT_THAT(InBash("--output = j"), ElementsAre("json"));
  EXPECT_THAT(InBash("--output ="), ElementsAre("table", "json", "csv"));
  EXPECT_THAT(InBash("log --reason max"), ElementsAre("max-cost", "max-concurrency"));
  EXPECT_THAT(InBash("pause etl --for ''"), ElementsAre("never"));
  EXPECT_THAT(InBash("log --since ''"), IsEmpty());
}

TEST(Completion, BashProposesFilesAndCommandsWhereTheyBelong) {
  EXPECT_THAT(InBash("config check /etc/pass"), Contains("/etc/passwd"));
  EXPECT_THAT(InBash("run --identity x -- set"), Contains("setsid"));
  EXPECT_THAT(InBash("run --identity x -- cat /etc/pass"), Contains("/etc/passwd"));
}

TEST(Completion, ZshProposesWhatItsScriptSays) {
  if (!HasShell("zsh")) GTEST_SKIP() << "zsh is not installed; ./dev setup installs it";
  // What the completion system would be told, without a terminal.
  const std::string script = absl::StrCat(
      "compdef() { print -r -- \"compdef $*\" }\n", "_describe() { print -r -l -- ${(P)@[-1]} }\n",
      "compadd() { print -r -l -- ${(P)2} }\ncompset() { }\n",
      "_normal() { print -r -- \"normal $words[*]\" }\n. ", ScriptOf("zsh"), "\n",
      "words=(headgate log --reason '') CURRENT=4; _headgate; print --\n",
      "words=(headgate overrides '') CURRENT=3; _headgate; print --\n",
      "words=(headgate run -- psql -c '') CURRENT=6; _headgate\n");
  const Finished finished = Subprocess({"zsh", "-f", "-c", script}).Wait();
  EXPECT_EQ(finished.err, "");
  EXPECT_THAT(Lines(finished.out),
              ElementsAre("compdef _headgate headgate", "health", "capacity", "max-cost",
                          "max-concurrency", "deny-rule", "reject-ratio", "exempt", "unmatched",
                          "delete:End one, by its number", "normal psql -c "));
}

TEST(Completion, FishProposesWhatItsScriptSays) {
  if (!HasShell("fish")) GTEST_SKIP() << "fish is not installed; ./dev setup installs it";
  const std::string script = absl::StrCat(
      "source ", ScriptOf("fish"),
      "; for line in 'headgate overrides d' 'headgate log --reason c' ",
      "'headgate --output=j' 'headgate overrides delete --rea'; complete -C $line; end");
  const Finished finished = Subprocess({"fish", "--no-config", "-c", script}).Wait();
  EXPECT_EQ(finished.err, "");
  EXPECT_THAT(Lines(finished.out),
              ElementsAre(StartsWith("delete\t"), StartsWith("capacity\t"),
                          StartsWith("--output=json\t"), StartsWith("--reason\t")));
}

TEST(Completion, IsOfAShellThatIsKnown) {
  const Finished refused = RunHeadgate({"completion", "tcsh"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("tcsh"));
  EXPECT_EQ(RunHeadgate({"completion"}).status, 2);
}

TEST(ManPage, HasTheExamplesOfHelpOnceEach) {
  const std::string page = Subprocess({HEADGATE_PROGRAM, "reference", "man"}).Wait().out;
  const std::string line = "\nheadgate config check headgate.yaml\n";
  ASSERT_THAT(page, HasSubstr(line));
  EXPECT_EQ(page.find(line), page.rfind(line));
  EXPECT_THAT(page,
              HasSubstr("\n.TP\n\\fB128+n\\fR\nOf \\fBrun\\fR: signal n ended its command\n"));
}

}  // namespace
}  // namespace headgate::cli
