#include "server/govern/config/reloader.h"

#include <string>
#include <utility>
#include <vector>

#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace headgate::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ConfigStoreTest : public testing::Test {
 protected:
  ConfigStoreTest() { folder_.WriteInPlace("f.yaml", "budgets: [{name: first}]"); }

  absl::Status Apply(const Config& config) {
    if (!refuse_.empty()) return absl::ResourceExhaustedError(refuse_);
    applied_.push_back(config.policy.budgets.empty() ? "" : config.policy.budgets[0].name);
    return absl::OkStatus();
  }

  absl::Status Start(ConfigStore& store) {
    if (absl::Status loaded = store.Load().status(); !loaded.ok()) return loaded;
    return store.Start([this](const Config& config) { return Apply(config); });
  }
  absl::Status Start() { return Start(store_); }

  absl::Time Now() { return clock_.Read().wall(); }

  TempFolder folder_;
  FakeClock clock_;
  std::string refuse_;
  std::vector<std::string> applied_;
  const std::string path_ = folder_.File("f.yaml");
  ConfigStore store_{path_, clock_};
};

TEST_F(ConfigStoreTest, StartAppliesTheFile) {
  EXPECT_EQ(store_.current(), nullptr);
  ASSERT_EQ(Start(), absl::OkStatus());
  EXPECT_THAT(applied_, ElementsAre("first"));
  EXPECT_EQ(store_.current()->policy.budgets[0].name, "first");
  const LoadStatus status = store_.status();
  EXPECT_EQ(status.path, path_);
  EXPECT_EQ(status.version, 1);
  EXPECT_EQ(status.loaded_at, Now());
  EXPECT_THAT(status.errors, IsEmpty());
  EXPECT_EQ(status.refused_at, absl::InfinitePast());
  EXPECT_THAT(status.pending_restart, IsEmpty());
}

TEST_F(ConfigStoreTest, WithoutAPathThereAreTheDefaults) {
  ConfigStore store("", clock_);
  ASSERT_EQ(Start(store), absl::OkStatus());
  EXPECT_EQ(store.current()->server, ServerSettings());
  EXPECT_EQ(store.status().path, "");
  EXPECT_EQ(store.status().version, 1);
}

TEST_F(ConfigStoreTest, StartFailsWithEverythingThatIsWrong) {
  folder_.WriteInPlace("f.yaml", "budgts: []\nrulse: []\n");
  const absl::Status status = Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            path_ + ":1:1: unknown key 'budgts'; did you mean 'budgets'?\n" + path_ +
                ":2:1: unknown key 'rulse'; did you mean 'rules'?");
  EXPECT_THAT(applied_, IsEmpty());
  EXPECT_EQ(store_.current(), nullptr);
}

TEST_F(ConfigStoreTest, StartFailsWithAFileThatWasEmptied) {
  for (const char* text : {"", "  \n", "# nothing but a remark\n", "---\n"}) {
    folder_.WriteInPlace("f.yaml", text);
    ConfigStore store(path_, clock_);
    const absl::Status status = Start(store);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("has no content")) << text;
  }
  EXPECT_THAT(applied_, IsEmpty());
}

// Cut off after some of its settings it limits as little.
TEST_F(ConfigStoreTest, AFileThatLostItsRulesIsRefusedAndWhatWasInForceStays) {
  folder_.WriteInPlace("f.yaml", "rules: [{name: r, priority: 1}]");
  ASSERT_EQ(Start(), absl::OkStatus());
  for (const char* text :
       {"", "# nothing but a remark\n", "{}", "rules:\nbudgets:\n", "rules: []\nbudgets: []\n",
        "server: {threads: 1}\n", "budgets: [{name: b, rate: 1, burst: 1}]\n"}) {
    store_.Update(std::string(text));
    EXPECT_EQ(store_.current()->policy.rules.size(), 1) << text;
    EXPECT_EQ(store_.status().version, 1) << text;
    ASSERT_EQ(store_.status().errors.size(), 1) << text;
    EXPECT_THAT(store_.status().errors[0], testing::HasSubstr("nothing is limited")) << text;
  }
}

TEST_F(ConfigStoreTest, NothingCanBeConfiguredOnPurpose) {
  folder_.WriteInPlace("f.yaml", "{}");
  ASSERT_EQ(Start(), absl::OkStatus());
  store_.Update(std::string("{}  # still"));
  EXPECT_EQ(store_.status().version, 2);
}

TEST_F(ConfigStoreTest, WarningsAreOfTheConfigurationInForce) {
  ASSERT_EQ(Start(), absl::OkStatus());
  EXPECT_THAT(store_.status().warnings,
              ElementsAre(path_ + ":1:18: no rule charges budget 'first': it limits nothing"));
  store_.Update(std::string("rules: [{name: r, priority: 1, expires_at: 2020-01-01T00:00:00Z}]"));
  EXPECT_THAT(store_.status().warnings, ElementsAre(testing::HasSubstr("rule 'r' has expired")));
}

TEST_F(ConfigStoreTest, StartFailsWithoutTheFile) {
  folder_.Remove("f.yaml");
  EXPECT_EQ(std::string(Start().message()), path_ + ": cannot be read: No such file or directory");
}

TEST_F(ConfigStoreTest, UpdateReplaces) {
  ASSERT_EQ(Start(), absl::OkStatus());
  clock_.Advance(absl::Seconds(5));
  store_.Update({"budgets: [{name: second}]"});
  EXPECT_THAT(applied_, ElementsAre("first", "second"));
  EXPECT_EQ(store_.current()->policy.budgets[0].name, "second");
  EXPECT_EQ(store_.status().version, 2);
  EXPECT_EQ(store_.status().loaded_at, Now());
}

TEST_F(ConfigStoreTest, TheTextInForceIsNotAppliedAgain) {
  ASSERT_EQ(Start(), absl::OkStatus());
  store_.Update({"budgets: [{name: first}]"});
  EXPECT_THAT(applied_, ElementsAre("first"));
  EXPECT_EQ(store_.status().version, 1);
}

TEST_F(ConfigStoreTest, BadTextKeepsWhatRunsAndIsTold) {
  ASSERT_EQ(Start(), absl::OkStatus());
  const absl::Time loaded_at = Now();
  clock_.Advance(absl::Seconds(5));
  store_.Update({"budgets: [{name: second}"});
  EXPECT_EQ(store_.current()->policy.budgets[0].name, "first");
  const LoadStatus status = store_.status();
  EXPECT_EQ(status.version, 1);
  EXPECT_EQ(status.loaded_at, loaded_at);
  EXPECT_EQ(status.refused_at, Now());
  EXPECT_EQ(status.errors.size(), 1U);
}

TEST_F(ConfigStoreTest, DeletedFileKeepsWhatRunsAndIsTold) {
  ASSERT_EQ(Start(), absl::OkStatus());
  store_.Update(absl::NotFoundError("cannot be read: No such file or directory"));
  EXPECT_EQ(store_.current()->policy.budgets[0].name, "first");
  EXPECT_THAT(store_.status().errors,
              ElementsAre(path_ + ": cannot be read: No such file or directory"));
}

TEST_F(ConfigStoreTest, WhatApplyRefusesIsNotInForce) {
  ASSERT_EQ(Start(), absl::OkStatus());
  refuse_ = "too many buckets\nand more";
  store_.Update({"budgets: [{name: second}]"});
  EXPECT_EQ(store_.current()->policy.budgets[0].name, "first");
  EXPECT_THAT(store_.status().errors,
              ElementsAre(path_ + ": too many buckets", path_ + ": and more"));
  refuse_ = "";
  store_.Update({"budgets: [{name: second}]"});
  EXPECT_EQ(store_.current()->policy.budgets[0].name, "second");
  EXPECT_THAT(store_.status().errors, IsEmpty());
}

TEST_F(ConfigStoreTest, RetryAppliesWhatCouldNotBeApplied) {
  ASSERT_EQ(Start(), absl::OkStatus());
  refuse_ = "no tokens yet";
  store_.Update({"budgets: [{name: second}]"});
  refuse_ = "";
  store_.Retry();
  EXPECT_EQ(store_.current()->policy.budgets[0].name, "second");
  EXPECT_THAT(store_.status().errors, IsEmpty());
  EXPECT_EQ(store_.status().version, 2);
  store_.Retry();
  EXPECT_THAT(applied_, ElementsAre("first", "second"));
}

TEST_F(ConfigStoreTest, ARetryThatIsRefusedForTheSameReasonIsTheSameRefusal) {
  ASSERT_EQ(Start(), absl::OkStatus());
  refuse_ = "no tokens yet";
  store_.Update({"budgets: [{name: second}]"});
  const absl::Time refused_at = store_.status().refused_at;
  clock_.Advance(absl::Seconds(5));
  store_.Retry();
  EXPECT_EQ(store_.status().refused_at, refused_at);
  refuse_ = "wrong tokens";
  store_.Retry();
  EXPECT_EQ(store_.status().refused_at, Now());
  EXPECT_THAT(store_.status().errors, ElementsAre(path_ + ": wrong tokens"));
}

TEST_F(ConfigStoreTest, OnlyTheNewestTextIsRetriedAndNotForItsOwnMistakes) {
  ASSERT_EQ(Start(), absl::OkStatus());
  refuse_ = "no tokens yet";
  for (const char* const newest : {"budgets: [{name: first}]", "budgets: [{name: third}"}) {
    store_.Update({"budgets: [{name: second}]"});
    store_.Update({newest});
    const LoadStatus before = store_.status();
    store_.Retry();
    EXPECT_EQ(store_.status().errors, before.errors);
    EXPECT_EQ(store_.status().version, 1);
  }
  EXPECT_THAT(applied_, ElementsAre("first"));
}

TEST_F(ConfigStoreTest, TextInForceClearsTheErrorsOfARefusedOne) {
  ASSERT_EQ(Start(), absl::OkStatus());
  store_.Update({"wrong"});
  store_.Update({"budgets: [{name: first}]"});
  EXPECT_THAT(store_.status().errors, IsEmpty());
  EXPECT_EQ(store_.status().refused_at, absl::InfinitePast());
  EXPECT_THAT(applied_, ElementsAre("first"));
}

TEST_F(ConfigStoreTest, ListsWhatOnlyARestartChanges) {
  ASSERT_EQ(Start(), absl::OkStatus());
  store_.Update({"server: {threads: 2, reflection: false}\nengine: {permit_ttl: 2m}"});
  EXPECT_THAT(store_.status().errors, IsEmpty());
  EXPECT_THAT(store_.status().pending_restart,
              ElementsAre("server.reflection", "server.threads", "engine.permit_ttl"));
  store_.Update({"server: {threads: 2}"});
  EXPECT_THAT(store_.status().pending_restart, ElementsAre("server.threads"));
  store_.Update(
      {"server: {max_connections: 9, max_connection_age: 1h}\n"
       "tls: {certificate_file: a.crt, key_file: a.key}"});
  EXPECT_THAT(store_.status().pending_restart,
              ElementsAre("server.max_connections", "server.max_connection_age", "tls"));
  store_.Update({"server: {line: {max_waiting: 10}}"});
  EXPECT_THAT(store_.status().pending_restart, ElementsAre("server.line"));
  store_.Update({"server: {}"});
  EXPECT_THAT(store_.status().pending_restart, IsEmpty());
}

}  // namespace
}  // namespace headgate::config
