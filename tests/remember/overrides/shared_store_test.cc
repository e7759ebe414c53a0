// The registry over a store that others change too, whose answers may be lost.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "server/remember/overrides/follower.h"
#include "tests/remember/overrides/overrides_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::overrides {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What the store has, and how it fails.
struct Rows {
  Contents contents;
  bool is_away = false;
  bool is_read_only = false;
  enum class Outcome { kDone, kDoneButLost, kLost } outcome = Outcome::kDone;
  bool answers_no_read = false;  // after a lost answer
  int writes = 0;
  std::function<void()> on_write = {};  // in the middle of each

  // As another server would.
  void MakeElsewhere(const Override& override) {
    contents.open.push_back(override);
    contents.last_id = override.id;
    ++contents.revision;
  }
};

class SharedRows final : public Store {
 public:
  explicit SharedRows(Rows& rows) : rows_(rows) {}

  absl::StatusOr<Contents> Read() override {
    if (rows_.is_away) return absl::UnavailableError("the store is away");
    return rows_.contents;
  }
  absl::StatusOr<std::unique_ptr<Change>> Prepare(const Edit& edit, uint64_t revision) override {
    return std::make_unique<Write>(rows_, edit, revision);
  }
  absl::StatusOr<std::vector<Event>> ReadEvents(const EventQuery& /*query*/) override {
    return std::vector<Event>();
  }
  bool IsShared() const override { return true; }

 private:
  struct Write final : public Change {
    Write(Rows& all, Edit what, uint64_t at) : rows(all), edit(std::move(what)), revision(at) {}

    absl::Status Commit() override {
      ++rows.writes;
      if (rows.on_write) rows.on_write();
      if (rows.is_away || rows.is_read_only) return absl::UnavailableError("cannot be written");
      if (rows.outcome != Rows::Outcome::kLost) {
        if (revision != rows.contents.revision) return absl::AbortedError("others were first");
        for (const Override& made : edit.made) rows.MakeElsewhere(made);
        for (const auto& [id, end] : edit.ended) {
          std::erase_if(rows.contents.open, [id = id](const auto& one) { return one.id == id; });
          ++rows.contents.revision;
        }
      }
      if (rows.outcome == Rows::Outcome::kDone) return absl::OkStatus();
      rows.is_away = rows.answers_no_read;
      return absl::UnknownError("the answer was lost");
    }

    Rows& rows;
    const Edit edit;
    const uint64_t revision;
  };

  Rows& rows_;
};

class SharedStoreTest : public testing::Test {
 protected:
  std::unique_ptr<Registry> Open() {
    auto opened = Registry::Open(std::make_unique<SharedRows>(rows_),
                                 {.put =
                                      [this](const engine::PolicySpec& spec) {
                                        rules_ = spec.rules.size() - SomePolicy().rules.size();
                                        return absl::OkStatus();
                                      }},
                                 clock_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    EXPECT_TRUE((*opened)->Install(SomePolicy()).ok());
    return *std::move(opened);
  }
  Override Elsewhere(int64_t id) {
    return {.id = id,
            .selector = {.identity = "elsewhere"},
            .actor = "carol",
            .reason = "r",
            .created_at = clock_.Read().wall()};
  }

  FakeClock clock_;
  Rows rows_;
  size_t rules_ = 0;  // of overrides, in force
};

TEST_F(SharedStoreTest, WhoNeverReadItKnowsSo) {
  rows_.MakeElsewhere(Elsewhere(1));
  rows_.is_away = true;
  const auto registry = Open();
  EXPECT_FALSE(registry->GetState().is_loaded);
  EXPECT_TRUE(absl::IsUnavailable(registry->Create(Pause("etl")).status()));
  EXPECT_EQ(rows_.writes, 0);
  rows_.is_away = false;
  ASSERT_TRUE(registry->Follow(1).ok());
  EXPECT_TRUE(registry->GetState().is_loaded);
  EXPECT_EQ(rules_, 1U);
}

TEST_F(SharedStoreTest, AChangeThatOthersOvertakeIsMadeToTheirs) {
  const auto registry = Open();
  rows_.MakeElsewhere(Elsewhere(1));
  const auto made = registry->Create(Pause("etl"));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(rows_.writes, 2);
  EXPECT_EQ(rules_, 2U);
  EXPECT_EQ(registry->GetState().revision, 2U);
}

// Whoever was told its id there may end it here at once.
TEST_F(SharedStoreTest, WhatWasOrderedElsewhereJustNowCanBeEnded) {
  const auto registry = Open();
  const Override made = Elsewhere(1);
  rows_.MakeElsewhere(made);
  EXPECT_TRUE(registry->Delete(Ending(made.id)).ok());
  EXPECT_EQ(rules_, 0U);
  EXPECT_TRUE(absl::IsNotFound(registry->Delete(Ending(made.id)).status()));
}

// Who was asked whether it may be ended has not heard of it.
TEST_F(SharedStoreTest, WhatMayNotBeEndedIsNotThoughItWasOrderedElsewhereJustNow) {
  const auto registry = Open();
  rows_.MakeElsewhere(Elsewhere(1));
  DeleteRequest request = Ending(1);
  request.may_end = [](const Override& override) {
    return override.selector.identity != "elsewhere";
  };
  EXPECT_TRUE(absl::IsPermissionDenied(registry->Delete(request).status()));
  EXPECT_EQ(rules_, 1U);
}

TEST_F(SharedStoreTest, ALostAnswerOfWhatHappenedIsFoundOut) {
  const auto registry = Open();
  rows_.outcome = Rows::Outcome::kDoneButLost;
  const auto made = registry->Create(Pause("etl"));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(rules_, 1U);
  EXPECT_TRUE(registry->Delete(Ending(made->id)).ok());
  EXPECT_EQ(rules_, 0U);
  EXPECT_THAT(registry->List({}), IsEmpty());
}

TEST_F(SharedStoreTest, ALostAnswerThatNobodyCanFindOutIsSaidToBeOne) {
  const auto registry = Open();
  rows_.outcome = Rows::Outcome::kDoneButLost;
  rows_.answers_no_read = true;
  const auto made = registry->Create(Pause("etl"));
  EXPECT_TRUE(absl::IsUnavailable(made.status())) << made.status();
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("nobody knows"));
  EXPECT_EQ(rules_, 0U);
  // It is followed as soon as the store is back.
  rows_.is_away = false;
  ASSERT_TRUE(registry->Follow(rows_.contents.revision).ok());
  EXPECT_EQ(rules_, 1U);
}

TEST_F(SharedStoreTest, WhatMayStillHappenIsNotSaidToHaveFailed) {
  const auto registry = Open();
  rows_.outcome = Rows::Outcome::kLost;
  const auto made = registry->Create(Pause("etl"));
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("nobody knows"));
  EXPECT_EQ(rules_, 0U);
}

TEST_F(SharedStoreTest, FollowingReadsOnlyWhereSomethingHasChanged) {
  const auto registry = Open();
  rows_.is_away = true;
  EXPECT_TRUE(registry->Follow(0).ok());
  EXPECT_FALSE(registry->Follow(1).ok());
  EXPECT_FALSE(registry->GetState().status.ok());
  rows_.is_away = false;
  rows_.MakeElsewhere(Elsewhere(1));
  EXPECT_TRUE(registry->Follow(1).ok());
  EXPECT_TRUE(registry->GetState().status.ok());
  EXPECT_THAT(registry->List({}), ElementsAre(Elsewhere(1)));
}

// A store that hangs makes nobody wait who only reads, nor a new configuration.
TEST_F(SharedStoreTest, WhoReadsWritesNothingThoughSomethingHasExpired) {
  const auto registry = Open();
  ASSERT_TRUE(registry->Create(Pause("etl", absl::Minutes(1))).ok());
  const int writes = rows_.writes;
  clock_.Advance(absl::Minutes(2));
  EXPECT_THAT(registry->List({}), IsEmpty());
  EXPECT_THAT(registry->Events({})->size(), 1U);
  EXPECT_EQ(registry->ListExemptions("", 10).count, 0U);
  EXPECT_EQ(registry->GetState().in_force, 0U);
  EXPECT_TRUE(registry->Install(SomePolicy()).ok());
  EXPECT_EQ(rows_.writes, writes);
}

// The list is of what was in force before a change that hangs.
TEST_F(SharedStoreTest, AChangeThatHangsHoldsUpNoList) {
  const auto registry = Open();
  ASSERT_TRUE(registry->Create(Pause("etl", absl::Minutes(1))).ok());
  std::vector<Override> listed;
  rows_.on_write = [&] { listed = registry->List({}); };
  ASSERT_TRUE(registry->Create(Pause("other")).ok());
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].selector.identity, "etl");
}

TEST_F(SharedStoreTest, AFollowerWritesWhatHasExpiredWhenTheStoreHasAnswered) {
  const auto registry = Open();
  ASSERT_TRUE(registry->Create(Pause("etl", absl::Minutes(1))).ok());
  clock_.Advance(absl::Minutes(2));
  {
    Follower follower(*registry);
    follower.Notify(1);
    EXPECT_TRUE(WaitUntil([&] { return registry->GetState().revision == 2; }));
  }
  EXPECT_THAT(rows_.contents.open, IsEmpty());
}

// Whether or not anybody ordered anything meanwhile, here or elsewhere.
TEST_F(SharedStoreTest, ThatNothingCouldBeWrittenIsSaidUntilSomethingCan) {
  const auto registry = Open();
  rows_.is_away = true;
  EXPECT_FALSE(registry->Create(Pause("etl")).ok());
  EXPECT_FALSE(registry->GetState().status.ok());
  EXPECT_TRUE(registry->Follow(0).ok());  // nothing is new
  EXPECT_FALSE(registry->GetState().status.ok());
  rows_.is_away = false;
  EXPECT_TRUE(registry->Follow(0).ok());
  EXPECT_TRUE(registry->GetState().status.ok()) << registry->GetState().status;
  EXPECT_EQ(rows_.contents.revision, 0U);
  rows_.writes = 0;
  EXPECT_TRUE(registry->Follow(0).ok());
  EXPECT_EQ(rows_.writes, 0);  // all is well: nothing is tried
}

// That it can be read says nothing.
TEST_F(SharedStoreTest, NewsFromAStoreThatCannotBeWrittenDoNotSayThatItCan) {
  const auto registry = Open();
  rows_.is_read_only = true;
  EXPECT_FALSE(registry->Create(Pause("etl")).ok());
  rows_.MakeElsewhere(Elsewhere(1));
  EXPECT_TRUE(registry->Follow(1).ok());
  EXPECT_EQ(rules_, 1U);
  EXPECT_FALSE(registry->GetState().status.ok());
}

TEST_F(SharedStoreTest, AFollowerPutsIntoForceWhatItIsToldOf) {
  const auto registry = Open();
  Follower follower(*registry);
  rows_.MakeElsewhere(Elsewhere(1));
  follower.Notify(1);
  EXPECT_TRUE(WaitUntil([&] { return registry->GetState().in_force == 1; }));
}

}  // namespace
}  // namespace headgate::overrides
