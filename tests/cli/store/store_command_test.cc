// headgate store: what it has the server's program do, and what it says of the outcome. The tables
// themselves are tests/share/store's.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/run_headgate.h"
#include "tests/testing/temp_folder.h"

namespace headgate::cli {
namespace {

using ::testing::HasSubstr;

class StoreCommand : public ::testing::Test {
 protected:
  // The program beside a server that is this script.
  Finished RunBeside(const std::string& script, std::vector<std::string> words) {
    const std::string server = folder_.File("headgated");
    std::ofstream(server) << "#!/bin/sh\n" << script;
    EXPECT_EQ(chmod(server.c_str(), 0755), 0);
    return RunAlone(std::move(words));
  }
  Finished RunAlone(std::vector<std::string> words) {
    std::filesystem::copy_file(HEADGATE_PROGRAM, folder_.File("headgate"));
    words.insert(words.begin(), folder_.File("headgate"));
    return Subprocess(words, {.environment = {{"PATH", "/nowhere"}}}).Wait();
  }

  TempFolder folder_;
};

TEST_F(StoreCommand, RunsTheServersProgramWithWhatItWasGiven) {
  const Finished store = RunBeside(
      "echo \"$@\"; echo 'warning: one target is away' >&2\n",
      {"store", "check", "--dsn", "host=db dbname=headgate", "--config", "headgate.yaml"});
  EXPECT_EQ(store.status, 0);
  EXPECT_EQ(store.out,
            "--store-tables=check --store-dsn=host=db dbname=headgate --config=headgate.yaml\n");
  EXPECT_EQ(store.err, "headgate: warning: one target is away\n");
}

TEST_F(StoreCommand, LeavesTheConnectionStringToTheEnvironment) {
  EXPECT_EQ(RunBeside("echo \"$@\"\n", {"store", "init"}).out, "--store-tables=init\n");
}

TEST_F(StoreCommand, WhatTheStoreRefusesIsFourAndWhatIsWrongWithTheInputTwo) {
  const Finished store = RunBeside("echo 'is read-only' >&2; exit 1\n", {"store", "upgrade"});
  EXPECT_EQ(store.status, 4);
  EXPECT_EQ(store.out, "");
  EXPECT_EQ(store.err, "headgate: is read-only\n");
  std::filesystem::remove(folder_.File("headgate"));
  EXPECT_EQ(RunBeside("exit 2\n", {"store", "upgrade"}).status, 2);
}

TEST_F(StoreCommand, SaysThatThereIsNoServerToRun) {
  const Finished store = RunAlone({"store", "init"});
  EXPECT_EQ(store.status, 4);
  EXPECT_EQ(store.err,
            "headgate: cannot init the store: headgated is neither beside headgate nor on PATH\n");
}

TEST_F(StoreCommand, TakesOneOfItsThreeActions) {
  EXPECT_EQ(RunHeadgate({"store"}).status, 2);
  EXPECT_EQ(RunHeadgate({"store", "drop"}).status, 2);
  EXPECT_THAT(RunHeadgate({"store", "--help"}).out, HasSubstr("upgrade"));
}

// The real one, far enough that it looks at what it was given.
TEST_F(StoreCommand, ADatabaseHasToBeNamed) {
  const Finished store = RunHeadgate({"store", "check"});
  EXPECT_EQ(store.status, 2);
  EXPECT_EQ(store.err,
            "headgate: the store's connection string is missing: --dsn, or "
            "HEADGATE_STORE_DSN\n");
}

}  // namespace
}  // namespace headgate::cli
