// What ends an order, as it is printed: a shell runs it.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/override/operator_commands.h"

namespace headgate::cli {
namespace {

using ::testing::HasSubstr;

engine::PolicySpec MainAndOther() {
  return engine::OnTwoTargets(engine::OneBudget(engine::RateBudget("rows", 10, 100)), "main",
                              "other", "nightly vacuum", "vacuum");
}

// The command of the line that begins so; empty: there is no such line.
std::string CommandOf(const std::string& out) {
  const std::vector<std::string> lines = absl::StrSplit(out, '\n');
  for (const std::string& line : lines) {
    constexpr std::string_view kBegins = "to end it: ";
    if (line.starts_with(kBegins)) return line.substr(kBegins.size());
  }
  return "";
}

class Undo : public OperatorCommands,
             public ::testing::WithParamInterface<std::vector<std::string>> {
 protected:
  Undo() : OperatorCommands(MainAndOther(), "ann") {}

  // In a shell whose PATH leads to the program.
  Finished Shell(const std::string& line, bool tells_address = true) {
    SubprocessOptions options = tells_address ? server_.Options() : SubprocessOptions();
    const std::string folder = std::filesystem::path(HEADGATE_PROGRAM).parent_path();
    options.environment["PATH"] = absl::StrCat(folder, ":/usr/bin:/bin");
    return Subprocess({"/bin/sh", "-c", line}, options).Wait();
  }
};

TEST_P(Undo, EndsThisOrderAndNothingElseAsItIsPrinted) {
  Out({"exempt", "bystander", "--for", "1h", "--reason", "r"});
  Out({"throttle", "job:etl", "--ratio", "50%", "--for", "1h", "--reason", "another's"});
  const std::string others = Out({"overrides", "-o", "csv"});
  std::vector<std::string> words = GetParam();
  words.insert(words.end(), {"--reason", "it's stuck"});
  const std::string command = CommandOf(Out(words));
  ASSERT_NE(command, "");
  EXPECT_NE(Out({"overrides", "-o", "csv"}), others);
  const Finished ended = Shell(command);
  EXPECT_EQ(ended.status, 0) << command << "\n" << ended.err;
  EXPECT_EQ(Out({"overrides", "-o", "csv"}), others) << command;
}

INSTANTIATE_TEST_SUITE_P(
    EachWay, Undo,
    ::testing::Values(
        std::vector<std::string>{"pause", "job:etl", "--target", "main", "--for", "1h"},
        std::vector<std::string>{"pause", "job:etl", "--for", "never"},
        std::vector<std::string>{"pause", "--segment", "etl", "--for", "1h"},
        std::vector<std::string>{"pause", "--everything", "--for", "1h"},
        std::vector<std::string>{"pause", "--everything", "--target", "other", "--for", "1h"},
        std::vector<std::string>{"throttle", "job:etl", "--ratio", "80%", "--for", "1h"},
        std::vector<std::string>{"throttle", "--everything", "--ratio", "0.5", "--target", "main",
                                 "--for", "1h"},
        std::vector<std::string>{"exempt", "job:etl", "--target", "other", "--for", "1h"},
        std::vector<std::string>{"resume", "job:etl", "--for", "1h"}));

// Where the address was given and not set, the line has it too.
TEST_F(Undo, ReachesTheServerThatWasNamed) {
  const Finished paused = RunHeadgate(
      {"pause", "etl", "--for", "1h", "--reason", "r", "--yes", "--address", server_.address()});
  const std::string command = CommandOf(paused.out);
  EXPECT_THAT(command, HasSubstr(absl::StrCat("--address ", server_.address())));
  EXPECT_EQ(Shell(command, false).status, 0);
  EXPECT_EQ(Out({"overrides"}), "no override is in force\n");
}

}  // namespace
}  // namespace headgate::cli
