// What an owner writes of a target, and who reads it: fenced by generation, in order, and not lost.

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "server/share/store/postgres_store.h"
#include "tests/share/store/store_database.h"

namespace headgate::store {
namespace {

using cluster::StateWrite;
using cluster::StoredState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kWhole = StateWrite::Kind::kWhole;
constexpr auto kChange = StateWrite::Kind::kChange;

class StateTest : public testing::Test {
 protected:
  void SetUp() override { Own("a", 0); }

  // The target becomes this server's, by the next generation.
  void Own(const std::string& name, uint64_t generation) {
    cluster::RoundRequest request;
    request.self = {.name = name, .incarnation = 1, .address = ""};
    request.lease = absl::Minutes(1);
    request.claim = {{.target = "t",
                      .generation = generation,
                      .renewal = generation,
                      .condition = cluster::Claim::Condition::kUnchanged}};
    const absl::StatusOr<cluster::RoundReply> reply = store_.Round(request, kLong);
    ASSERT_TRUE(reply.ok()) << reply.status();
    ASSERT_EQ(reply->ownership.at(0).owner, name);
  }
  absl::Status Write(uint64_t generation, uint64_t sequence, StateWrite::Kind kind,
                     std::string_view bytes, bool is_final = false) {
    return store_.WriteState({.target = "t",
                              .generation = generation,
                              .sequence = sequence,
                              .kind = kind,
                              .age = absl::Milliseconds(100),
                              .is_final = is_final,
                              .bytes = bytes},
                             kLong);
  }
  absl::StatusOr<std::optional<StoredState>> Read(uint64_t generation) {
    return store_.ReadOne({.target = "t", .generation = generation}, kLong);
  }
  StoredState Stored(uint64_t generation) {
    absl::StatusOr<std::optional<StoredState>> state = Read(generation);
    EXPECT_TRUE(state.ok()) << state.status();
    EXPECT_TRUE(state.ok() && state->has_value());
    return state.ok() ? state->value_or(StoredState()) : StoredState();
  }

  SystemClock clock_;
  StoreDatabase database_;
  PostgresStore store_{database_.Options(), clock_};
};

TEST_F(StateTest, WhatNobodyWroteIsNone) {
  const auto state = Read(1);
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_FALSE(state->has_value());
}

TEST_F(StateTest, AWholeAndItsChangesAreReadInOrder) {
  const std::string bytes("\0'\\\xff whole", 10);
  ASSERT_TRUE(Write(1, 1, kWhole, bytes).ok());
  ASSERT_TRUE(Write(1, 2, kChange, "one").ok());
  ASSERT_TRUE(Write(1, 3, kChange, "").ok());
  const StoredState state = Stored(1);
  EXPECT_EQ(state.generation, 1U);
  EXPECT_EQ(state.whole, bytes);
  EXPECT_THAT(state.changes, ElementsAre("one", ""));
  EXPECT_GE(state.age, absl::Milliseconds(100));
  EXPECT_LT(state.age, kLong);
  EXPECT_FALSE(state.is_final);
}

TEST_F(StateTest, SeveralTargetsAreReadTogetherAndEachHasItsOwnAnswer) {
  database_.RunSql(
      "INSERT INTO headgate_store.ownership SELECT 'u', owner, incarnation, generation, renewal,"
      " expires_at, preferred, state_generation, state_sequence FROM headgate_store.ownership");
  ASSERT_TRUE(Write(1, 1, kWhole, "of t").ok());
  const std::vector<cluster::ReadState> states =
      store_.ReadStates(std::vector<cluster::Held>{{"u", 1}, {"t", 1}, {"v", 1}}, kLong);
  ASSERT_EQ(states.size(), 3U);
  ASSERT_TRUE(states[0].ok()) << states[0].status();
  EXPECT_FALSE(states[0]->has_value());
  ASSERT_TRUE(states[1].ok() && states[1]->has_value());
  EXPECT_EQ((*states[1])->whole, "of t");
  EXPECT_TRUE(absl::IsAborted(states[2].status())) << states[2].status();
}

TEST_F(StateTest, WhatWasMeasuredGoesWithTheWhole) {
  const std::string sample("\0\xff sample", 9);
  ASSERT_TRUE(store_
                  .WriteState({.target = "t",
                               .generation = 1,
                               .sequence = 1,
                               .age = absl::ZeroDuration(),
                               .bytes = "debts",
                               .health = sample},
                              kLong)
                  .ok());
  EXPECT_EQ(Stored(1).health, sample);
  EXPECT_EQ(Stored(1).whole, "debts");
  // As a server of an earlier release leaves it.
  database_.RunSql("UPDATE headgate_store.state SET health = NULL");
  EXPECT_EQ(Stored(1).health, "");
}

TEST_F(StateTest, AWholeReplacesWhatWasBefore) {
  ASSERT_TRUE(Write(1, 1, kWhole, "first").ok());
  ASSERT_TRUE(Write(1, 2, kChange, "one").ok());
  ASSERT_TRUE(Write(1, 3, kWhole, "second", /*is_final=*/true).ok());
  const StoredState state = Stored(1);
  EXPECT_EQ(state.whole, "second");
  EXPECT_THAT(state.changes, IsEmpty());
  EXPECT_TRUE(state.is_final);
  EXPECT_EQ(database_.RunSql("SELECT count(*) FROM headgate_store.state")[0][0], "1");
}

TEST_F(StateTest, AnOwnerThatLostTheTargetWritesAndReadsNothing) {
  ASSERT_TRUE(Write(1, 1, kWhole, "first").ok());
  Own("b", 1);
  EXPECT_TRUE(absl::IsAborted(Write(1, 2, kChange, "late")));
  EXPECT_TRUE(absl::IsAborted(Write(1, 2, kWhole, "late")));
  EXPECT_TRUE(absl::IsAborted(Read(1).status()));
  const StoredState state = Stored(2);
  EXPECT_EQ(state.whole, "first");
  EXPECT_EQ(state.generation, 1U);
}

TEST_F(StateTest, ANewOwnersFirstWholeReplacesTheLastOnes) {
  ASSERT_TRUE(Write(1, 1, kWhole, "first").ok());
  ASSERT_TRUE(Write(1, 2, kChange, "one").ok());
  Own("b", 1);
  EXPECT_TRUE(absl::IsDataLoss(Write(2, 3, kChange, "of another's")));
  ASSERT_TRUE(Write(2, 1, kWhole, "second").ok());
  EXPECT_EQ(Stored(2).whole, "second");
  EXPECT_THAT(Stored(2).changes, IsEmpty());
}

// Whoever was given the target and never read this decided nothing.
TEST_F(StateTest, AFinalStateThatNobodyWentOnFromIsFinalForTheNextOwner) {
  ASSERT_TRUE(Write(1, 1, kWhole, "last", /*is_final=*/true).ok());
  Own("b", 1);
  Own("c", 2);
  for (int i = 0; i < 2; ++i) {  // an answer may be lost
    EXPECT_EQ(Stored(3).whole, "last");
    EXPECT_TRUE(Stored(3).is_final);
  }
}

TEST_F(StateTest, WhoReadsAFinalStateMayHaveGoneOnFromIt) {
  ASSERT_TRUE(Write(1, 1, kWhole, "last", /*is_final=*/true).ok());
  EXPECT_TRUE(Stored(1).is_final);  // its writer
  Own("b", 1);
  EXPECT_TRUE(Stored(2).is_final);
  Own("c", 2);
  EXPECT_FALSE(Stored(3).is_final);
  EXPECT_EQ(Stored(3).whole, "last");
  ASSERT_TRUE(Write(3, 1, kWhole, "next").ok());
  EXPECT_EQ(database_.RunSql("SELECT count(*) FROM headgate_store.state")[0][0], "1");
  ASSERT_TRUE(Write(3, 2, kWhole, "last of c", /*is_final=*/true).ok());
  Own("d", 3);
  EXPECT_TRUE(Stored(4).is_final);
}

TEST_F(StateTest, AChangeThatDoesNotFollowIsRefused) {
  EXPECT_TRUE(absl::IsDataLoss(Write(1, 1, kChange, "of nothing")));
  ASSERT_TRUE(Write(1, 1, kWhole, "first").ok());
  EXPECT_TRUE(absl::IsDataLoss(Write(1, 3, kChange, "too far")));
  EXPECT_THAT(Stored(1).changes, IsEmpty());
}

// The first try may have got through though nobody heard of it.
TEST_F(StateTest, AWriteThatIsRepeatedIsHarmless) {
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Write(1, 1, kWhole, "first").ok());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Write(1, 2, kChange, "one").ok());
  EXPECT_EQ(Stored(1).whole, "first");
  EXPECT_THAT(Stored(1).changes, ElementsAre("one"));
}

// One that was given up and reaches the store after those that followed it.
TEST_F(StateTest, AWriteThatComesTooLateChangesNothing) {
  ASSERT_TRUE(Write(1, 1, kWhole, "first").ok());
  ASSERT_TRUE(Write(1, 2, kChange, "one").ok());
  ASSERT_TRUE(Write(1, 3, kWhole, "second").ok());
  EXPECT_TRUE(absl::IsDataLoss(Write(1, 1, kWhole, "first")));
  EXPECT_TRUE(absl::IsDataLoss(Write(1, 2, kChange, "one")));
  EXPECT_EQ(Stored(1).whole, "second");
}

TEST_F(StateTest, AChangeThatIsMissingIsNoticed) {
  ASSERT_TRUE(Write(1, 1, kWhole, "first").ok());
  ASSERT_TRUE(Write(1, 2, kChange, "one").ok());
  ASSERT_TRUE(Write(1, 3, kChange, "two").ok());
  database_.RunSql("DELETE FROM headgate_store.state WHERE sequence = 2");
  const absl::Status status = Read(1).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("target t"));
}

TEST_F(StateTest, SerializableTransactionsWriteAndReadTheSame) {
  database_.MakeSerializable();
  PostgresStore store(database_.Options(), clock_);
  const StateWrite write{
      .target = "t", .generation = 1, .sequence = 1, .age = {}, .bytes = "first"};
  ASSERT_TRUE(store.WriteState(write, kLong).ok());
  const auto state = store.ReadOne({.target = "t", .generation = 1}, kLong);
  ASSERT_TRUE(state.ok() && state->has_value());
  EXPECT_EQ((*state)->whole, "first");
}

class TryStatesTest : public testing::Test {
 protected:
  TryStatesTest() {
    static int count = 0;
    role_ = absl::StrCat("tries_", ++count);
    database_.CreateServerRole(role_);
  }
  absl::Status Try(uint64_t incarnation = 1) {
    TransactorOptions options = database_.Options();
    options.dsn = [dsn = database_.Dsn(role_)] { return dsn; };
    return PostgresStore(options, clock_).TryStates(incarnation, kLong);
  }
  std::string Rows() {
    return database_.RunSql("SELECT count(*) FROM headgate_store.state WHERE target = ''")[0][0];
  }

  SystemClock clock_;
  StoreDatabase database_;
  std::string role_;
};

TEST_F(TryStatesTest, AProcessHasOneRowWhichGoesAnHourAfterIt) {
  constexpr uint64_t kLast = ~uint64_t{0};
  for (const uint64_t incarnation : {uint64_t{1}, uint64_t{1}, kLast}) {
    EXPECT_TRUE(Try(incarnation).ok());
  }
  EXPECT_EQ(Rows(), "2");
  database_.RunSql("UPDATE headgate_store.state SET copied_at = now() - interval '61 minutes'");
  EXPECT_TRUE(Try(kLast).ok());
  EXPECT_EQ(Rows(), "1");
}

TEST_F(TryStatesTest, WhateverAWriteOrAReadWouldMissIsMissed) {
  for (const char* const right : {"SELECT", "INSERT", "UPDATE", "DELETE"}) {
    for (const char* const table : {"state", "ownership"}) {
      if (table == std::string("ownership") && right != std::string("UPDATE")) continue;
      database_.RunSql(
          absl::StrCat("REVOKE ", right, " ON headgate_store.", table, " FROM ", role_));
      EXPECT_THAT(std::string(Try().message()), HasSubstr("permission denied")) << right << table;
      database_.RunSql(absl::StrCat("GRANT ", right, " ON headgate_store.", table, " TO ", role_));
      EXPECT_TRUE(Try().ok()) << right << table;
    }
  }
  database_.RunSql("ALTER TABLE headgate_store.state DROP COLUMN health");
  EXPECT_THAT(std::string(Try().message()), HasSubstr("health"));
  database_.RunSql("DROP TABLE headgate_store.state");
  EXPECT_THAT(std::string(Try().message()), HasSubstr("state"));
}

TEST_F(TryStatesTest, WhatOthersReadAndWriteIsLeftAlone) {
  PostgresStore store(database_.Options(), clock_);
  cluster::RoundRequest request;
  request.self = {.name = "a", .incarnation = 1, .address = ""};
  request.lease = absl::Minutes(1);
  request.claim = {{.target = "t"}};
  ASSERT_TRUE(store.Round(request, kLong).ok());
  ASSERT_TRUE(
      store
          .WriteState({.target = "t", .generation = 1, .sequence = 1, .age = {}, .bytes = "x"},
                      kLong)
          .ok());
  database_.RunSql("UPDATE headgate_store.state SET copied_at = now() - interval '61 minutes'");
  EXPECT_TRUE(Try().ok());
  const auto state = store.ReadOne({.target = "t", .generation = 1}, kLong);
  ASSERT_TRUE(state.ok() && state->has_value());
  EXPECT_EQ((*state)->whole, "x");
}

TEST_F(StateTest, SixteenMebibytesAreNoTrouble) {
  const std::string large(16 << 20, '\x80');
  ASSERT_TRUE(Write(1, 1, kWhole, large).ok());
  EXPECT_EQ(Stored(1).whole, large);
}

}  // namespace
}  // namespace headgate::store
