// config check: the server's own words about a file.

#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/json.h"
#include "tests/cli/run_headgate.h"
#include "tests/testing/headgated_process.h"
#include "tests/testing/temp_folder.h"

namespace headgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ConfigCheck : public ::testing::Test {
 protected:
  // The program on its own, in a folder without the server.
  Finished CheckAlone(const std::string& path, std::vector<std::string> words, int ignored = 0) {
    const std::string program = folder_.File("headgate");
    std::filesystem::copy_file(HEADGATE_PROGRAM, program,
                               std::filesystem::copy_options::skip_existing);
    words.insert(words.begin(), program);
    return Subprocess(words, {.environment = {{"PATH", path}}, .ignored = ignored}).Wait();
  }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.File(name)) << text;
    return folder_.File(name);
  }

  TempFolder folder_;
};

TEST_F(ConfigCheck, SaysThatThereIsNoServerToAsk) {
  const Finished check = CheckAlone("/nowhere", {"config", "check", "rules.yaml"});
  EXPECT_EQ(check.status, 4);
  EXPECT_EQ(check.out, "");
  EXPECT_EQ(
      check.err,
      "headgate: cannot check rules.yaml: headgated is neither beside headgate nor on PATH\n");
}

TEST_F(ConfigCheck, AServerThatBreaksIsNoVerdict) {
  std::filesystem::create_directory(folder_.File("bin"));
  const std::string server = Write("bin/headgated", "#!/bin/sh\necho broken >&2\nexit 70\n");
  ASSERT_EQ(chmod(server.c_str(), 0755), 0);
  const Finished check = CheckAlone("/nowhere:" + folder_.File("bin"), {"config", "check", "x"});
  EXPECT_EQ(check.status, 4);
  EXPECT_EQ(check.out, "");
  EXPECT_EQ(check.err, "headgate: " + server + " ended with status 70: broken\n");
}

// As some supervisors start their programs.
TEST_F(ConfigCheck, AServerThatBreaksIsNoVerdictWhereChildrenAreIgnored) {
  std::filesystem::create_directory(folder_.File("bin"));
  const std::string server = Write("bin/headgated", "#!/bin/sh\nexit 70\n");
  ASSERT_EQ(chmod(server.c_str(), 0755), 0);
  const Finished check =
      CheckAlone("/nowhere:" + folder_.File("bin"), {"config", "check", "x"}, SIGCHLD);
  EXPECT_EQ(check.status, 4);
  EXPECT_EQ(check.err, "headgate: " + server + " ended with status 70\n");
}

TEST_F(ConfigCheck, HasTheDatabasesAskedUnlessItIsOffline) {
  std::filesystem::create_directory(folder_.File("bin"));
  const std::string server = Write("bin/headgated", "#!/bin/sh\necho \"$@\" >&2\nexit 70\n");
  ASSERT_EQ(chmod(server.c_str(), 0755), 0);
  const std::string path = "/nowhere:" + folder_.File("bin");
  EXPECT_THAT(CheckAlone(path, {"config", "check", "x"}).err,
              HasSubstr(": --check-config=x --ask-databases\n"));
  EXPECT_THAT(CheckAlone(path, {"config", "check", "--offline", "x"}).err,
              HasSubstr(": --check-config=x\n"));
}

// Of a database that says something: DatabaseCheck, in tests/app.
TEST_F(ConfigCheck, ADatabaseThatIsNotReachedIsNoFinding) {
  const std::string file =
      Write("f.yaml", "targets: [{name: main, primary: {dsn: host=127.0.0.1 port=1 user=u}}]\n");
  const Finished check = RunHeadgate({"config", "check", file});
  EXPECT_EQ(check.status, 0);
  EXPECT_EQ(check.out, file + ": ok\n");
  EXPECT_EQ(check.err, "");
}

TEST_F(ConfigCheck, GoodFileIsZero) {
  const std::string file = Write("good.yaml", "targets:\n  - name: main\n");
  const Finished check = RunHeadgate({"config", "check", file});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_EQ(check.out, file + ": ok\n");
  EXPECT_EQ(check.err, "");
}

TEST_F(ConfigCheck, BadFileIsTwoWithEveryError) {
  const std::string file = Write("bad.yaml", "targets:\n  - nam: main\nbudgetz: []\n");
  const Finished check = RunHeadgate({"config", "check", file});
  EXPECT_EQ(check.status, 2);
  EXPECT_EQ(check.out, "");
  EXPECT_THAT(check.err, AllOf(HasSubstr(file + ":2:"), HasSubstr("nam"), HasSubstr(file + ":3:"),
                               HasSubstr("budgetz")));
  const Finished json = RunHeadgate({"config", "check", file, "-o", "json"});
  EXPECT_EQ(json.status, 2);
  auto fields = ParseJson(json.out);
  EXPECT_FALSE(fields["ok"].bool_value());
  EXPECT_GE(fields["errors"].list_value().values_size(), 2);
}

TEST_F(ConfigCheck, MissingFileIsTwo) {
  const Finished check = RunHeadgate({"config", "check", folder_.File("none.yaml")});
  EXPECT_EQ(check.status, 2);
  EXPECT_THAT(check.err, HasSubstr("none.yaml"));
}

TEST_F(ConfigCheck, FindsTheServerOnPath) {
  const std::string file = Write("good.yaml", "targets:\n  - name: main\n");
  const std::string bin = std::filesystem::path(HeadgatedProgram()).parent_path();
  EXPECT_EQ(CheckAlone(bin, {"config", "check", file}).status, 0);
}

TEST_F(ConfigCheck, WarnsOfWhatIsProbablyNotMeantAndTakesIt) {
  const std::string file = Write("f.yaml", "budgets: [{name: b, max_cost: 5}]\n");
  const Finished checked = RunHeadgate({"config", "check", file});
  EXPECT_EQ(checked.status, 0);
  EXPECT_EQ(checked.out, file + ": ok\n");
  EXPECT_EQ(checked.err, file + ":1:18: warning: no rule charges budget 'b': it limits nothing\n");
  EXPECT_EQ(RunHeadgate({"config", "check", file, "-o", "json"}).out,
            "{\"file\": \"" + file + "\", \"ok\": true, \"errors\": [], \"warnings\": [\"" + file +
                ":1:18: warning: no rule charges budget 'b': it limits nothing\"]}\n");
}

TEST_F(ConfigCheck, RefusesAFileThatWasEmptied) {
  const std::string file = Write("f.yaml", "");
  const Finished checked = RunHeadgate({"config", "check", file});
  EXPECT_EQ(checked.status, 2);
  EXPECT_THAT(checked.err, testing::HasSubstr("has no content"));
}

}  // namespace
}  // namespace headgate::cli
