// What the command line takes for `headgate agent`.

#include "client/cli/arguments/arguments.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headgate::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

AgentArguments ParseAgent(std::vector<std::string> words) {
  words.insert(words.begin(), "agent");
  const Parsed parsed = ParseArguments(words);
  if (const auto* ended = std::get_if<Ended>(&parsed)) {
    ADD_FAILURE() << ended->text;
    return {};
  }
  return std::get<AgentArguments>(std::get<Arguments>(parsed).command);
}

std::string RefusalOfAgent(std::vector<std::string> words) {
  words.insert(words.begin(), "agent");
  const Parsed parsed = ParseArguments(words);
  const auto* ended = std::get_if<Ended>(&parsed);
  return ended == nullptr ? "taken" : ended->text;
}

TEST(AgentOptions, BatchWorkIsNamedByRolesAndApplicationNames) {
  const AgentArguments agent = ParseAgent({"--batch", "role=etl,application_name=backfill*",
                                           "--batch", "role=night shift", "--dsn", "dbname=x"});
  EXPECT_EQ(agent.action, AgentArguments::Action::kRun);
  EXPECT_THAT(agent.roles, ElementsAre("etl", "night shift"));
  EXPECT_THAT(agent.application_names, ElementsAre("backfill*"));
  EXPECT_EQ(agent.dsn, "dbname=x");
  EXPECT_EQ(agent.state_folder, "/run/headgate-agent");
}

TEST(AgentOptions, WhatTheServerRefusesOfBatchWorkIsRefused) {
  EXPECT_THAT(RefusalOfAgent({}), HasSubstr("--batch: is missing"));
  EXPECT_THAT(RefusalOfAgent({"--batch", "role=etl,nightly"}), HasSubstr("'nightly' is neither"));
  EXPECT_THAT(RefusalOfAgent({"--batch", "role= "}), HasSubstr("a role has no name"));
  EXPECT_THAT(RefusalOfAgent({"--batch", "role=etl*"}), HasSubstr("has a '*'"));
  EXPECT_THAT(RefusalOfAgent({"--batch", "application_name=*"}), HasSubstr("every session's"));
  EXPECT_THAT(RefusalOfAgent({"--batch", "application_name="}), HasSubstr("is empty"));
}

TEST(AgentOptions, CheckAndRestoreAreOneOrTheOther) {
  EXPECT_EQ(ParseAgent({"--batch", "role=a", "--check"}).action, AgentArguments::Action::kCheck);
  EXPECT_EQ(ParseAgent({"--restore"}).action, AgentArguments::Action::kRestore);
  EXPECT_THAT(RefusalOfAgent({"--restore", "--check"}), HasSubstr("does not go with"));
  EXPECT_THAT(RefusalOfAgent({"--restore", "--state-dir", ""}), HasSubstr("--state-dir"));
}

TEST(AgentOptions, TheFloorIsAShareUpToHalf) {
  EXPECT_EQ(ParseAgent({"--batch", "role=a"}).floor, 0.05);
  EXPECT_EQ(ParseAgent({"--batch", "role=a", "--floor", "0"}).floor, 0);
  EXPECT_EQ(ParseAgent({"--batch", "role=a", "--floor=0.5"}).floor, 0.5);
  EXPECT_EQ(ParseAgent({"--batch", "role=a", "--floor=5%"}).floor, 0.05);
  for (const char* text : {"0.51", "-1", "nan", "51%"}) {
    EXPECT_THAT(RefusalOfAgent({"--batch", "role=a", std::string("--floor=") + text}),
                HasSubstr("--floor: '"))
        << text;
  }
}

TEST(AgentOptions, WithAnAddressBatchWorkMayBeLeftToTheServer) {
  const AgentArguments agent = ParseAgent({"--address", "headgate:8081", "--target", "orders"});
  EXPECT_TRUE(agent.tells_server);
  EXPECT_TRUE(agent.roles.empty() && agent.application_names.empty());
  EXPECT_FALSE(ParseAgent({"--batch", "role=a"}).tells_server);
  // These ask no server.
  EXPECT_FALSE(ParseAgent({"--restore", "--address", "headgate"}).tells_server);
  EXPECT_THAT(RefusalOfAgent({"--check", "--address", "headgate"}),
              HasSubstr("--batch: is missing"));
}

TEST(AgentOptions, AddressAndTargetMayBeInTheEnvironment) {
  // NOLINTBEGIN(concurrency-mt-unsafe): a test has one thread.
  setenv("HEADGATE_ADDRESS", "headgate:8081", 1);
  setenv("HEADGATE_AGENT_TARGET", "orders", 1);
  const Parsed parsed = ParseArguments({"agent"});
  const Parsed named = ParseArguments({"agent", "--target", "billing"});
  unsetenv("HEADGATE_ADDRESS");
  unsetenv("HEADGATE_AGENT_TARGET");
  EXPECT_TRUE(std::get<AgentArguments>(std::get<Arguments>(parsed).command).tells_server);
  EXPECT_EQ(std::get<Arguments>(parsed).globals.target, "orders");
  EXPECT_EQ(std::get<Arguments>(named).globals.target, "billing");
  // NOLINTEND(concurrency-mt-unsafe)
}

}  // namespace
}  // namespace headgate::cli
