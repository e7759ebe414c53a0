#include "common/reference/reference.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/reference/describe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::reference {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A program with one of each.
class ReferenceTest : public ::testing::Test {
 protected:
  ReferenceTest() {
    app_.add_option("--level", text_, "how much is said")
        ->check(CLI::IsMember({"low", "high"}))
        ->envname("HEADGATE_LEVEL");
    app_.add_option("-o,--output", text_, "the form")->type_name("table|json");
    CLI::App* const saw = app_.add_subcommand("saw", "Saw a plank: saw ... -- COMMAND");
    saw->add_option("plank", text_, "which plank")->required();
    saw->add_option("--plan", text_, "what -o's \\drawing says")->type_name("FILE");
    saw->add_option("--by", text_, "by hand|level=N|step[=1m]; may be repeated");
    saw->add_option("--for", text_, "so long, or `never`")->type_name("HOST:PORT");
    saw->add_option("--times", count_, "how often")->check(CLI::Range(1, 9))->type_name("N");
    saw->add_flag("--dry")->description("do nothing [$HEADGATE_DRY]");
    CLI::App* const box = app_.add_subcommand("box", "Look at boxes")->require_subcommand(1);
    box->add_option("--lid", text_, "whose lid")->type_name("FOLDER");
    box->add_subcommand("open", "Open one")->add_flag("--wide")->description("all of it");
    app_.add_subcommand("secret", "Nobody sees it")->group("");
    program_ = {.root = Describe(app_),
                .version = "1.2.3",
                .section = 1,
                .summary = "works wood",
                .exit_statuses = {{"0", "done"}},
                .examples = {{"carpenter saw oak --dry", "Try it:"}},
                .variables = {},
                .files = {},
                .see_also = {"tree(8)"}};
  }

  const Option& OptionOf(const std::string& command, const std::string& name) const {
    static const Option none;
    for (const Place& place : PlacesOf(program_.root)) {
      if (place.path != command) continue;
      for (const Option* option : place.options) {
        if (option->names.back() == name) return *option;
      }
    }
    ADD_FAILURE() << command << " has no " << name;
    return none;
  }

  CLI::App app_{"Works wood.", "carpenter"};
  std::string text_;
  int count_ = 0;
  Program program_;
};

TEST_F(ReferenceTest, WordsOfAValueAreFoundInItsTypeItsListAndItsHelp) {
  EXPECT_THAT(OptionOf("", "--level").words, ElementsAre("low", "high"));
  EXPECT_THAT(OptionOf("", "--output").words, ElementsAre("table", "json"));
  EXPECT_THAT(OptionOf("saw", "--by").words, ElementsAre("hand", "level=", "step"));
  EXPECT_THAT(OptionOf("saw", "--for").words, ElementsAre("never"));
  EXPECT_THAT(OptionOf("saw", "--plan").words, IsEmpty());
}

TEST_F(ReferenceTest, WhatCli11ChecksIsNoPartOfAValuesName) {
  EXPECT_EQ(OptionOf("", "--level").value, "low|high");
  EXPECT_EQ(OptionOf("saw", "--times").value, "N");
  EXPECT_EQ(OptionOf("saw", "--for").value, "HOST:PORT");
  EXPECT_EQ(OptionOf("saw", "--dry").value, "");
}

TEST_F(ReferenceTest, CommandsThatAreNothingAloneHandTheirOptionsDown) {
  EXPECT_EQ(OptionOf("box open", "--lid").files, Files::kFolder);
  std::vector<std::string> paths;
  for (const Place& place : PlacesOf(program_.root)) paths.push_back(place.path);
  EXPECT_THAT(paths, ElementsAre("", "saw", "box", "box open"));
}

TEST_F(ReferenceTest, VariablesAreThoseOfDefinitionsAndOfHelps) {
  const std::vector<Term> variables = VariablesOf(program_);
  ASSERT_EQ(variables.size(), 2);
  EXPECT_EQ(variables[0].word, "HEADGATE_LEVEL");
  EXPECT_EQ(variables[0].meaning, "stands in for `--level`");
  EXPECT_EQ(variables[1].word, "HEADGATE_DRY");
  EXPECT_EQ(variables[1].meaning, "stands in for `--dry` of `saw`");
}

TEST_F(ReferenceTest, ManPageEscapesWhatTroffWouldTakeForItself) {
  const std::string page = ManPage(program_);
  EXPECT_THAT(page, HasSubstr("\n.TH CARPENTER 1 \"\" \"carpenter 1.2.3\" \"Headgate\"\n"));
  EXPECT_THAT(page, HasSubstr("\n.TP\n\\fB\\-\\-plan\\fR \\fIFILE\\fR\n"
                              "What \\-o's \\edrawing says\n"));
  EXPECT_THAT(page, HasSubstr("\n.SS \\fBcarpenter\\fR \\fBsaw\\fR [\\fIOPTION\\fR]... "
                              "\\fIPLANK\\fR \\fB\\-\\-\\fR \\fICOMMAND\\fR...\n"));
  EXPECT_THAT(page, HasSubstr("\nTry it:\n.PP\n.RS 4\n.nf\ncarpenter saw oak \\-\\-dry\n"));
  EXPECT_THAT(page, HasSubstr("\n.SH SEE ALSO\n.BR tree (8)\n"));
}

TEST_F(ReferenceTest, MarkdownHasATableForEachCommand) {
  const std::string text = Markdown(program_);
  EXPECT_THAT(text, HasSubstr("| `-o, --output table\\|json` | the form |\n"));
  EXPECT_THAT(text, HasSubstr("| `--level low\\|high` | how much is said [$HEADGATE_LEVEL] |\n"));
  EXPECT_THAT(text, HasSubstr("### `carpenter box open`\n\nOpen one.\n\n| | |\n|---|---|\n"
                              "| `--wide` | all of it |\n"));
}

TEST_F(ReferenceTest, HiddenCommandsAreInNoForm) {
  ASSERT_THAT(ReferenceForms(), ElementsAre("man", "markdown", "bash", "zsh", "fish"));
  for (const std::string& form : ReferenceForms()) {
    const std::string text = ReferenceIn(form, program_);
    EXPECT_THAT(text, HasSubstr("wide")) << form;
    EXPECT_THAT(text, Not(HasSubstr("ecret"))) << form;
  }
  EXPECT_EQ(ReferenceIn("smoke", program_), "");
}

}  // namespace
}  // namespace headgate::reference
