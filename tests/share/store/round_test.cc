// Rounds: who is here, who owns what, and that no two servers get the same target.

#include <atomic>
#include <barrier>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/share/store/postgres_store.h"
#include "tests/share/store/store_database.h"
#include "tests/testing/wait_until.h"

namespace headgate::store {
namespace {

using cluster::Claim;
using cluster::OwnershipView;
using cluster::RoundReply;
using cluster::RoundRequest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RoundTest : public testing::Test {
 protected:
  RoundRequest From(const std::string& name, uint64_t incarnation = ~uint64_t{0}) {
    RoundRequest request;
    request.self = {.name = name, .incarnation = incarnation, .address = name + ":8083"};
    request.number = ++rounds_;
    request.lease = absl::Minutes(1);
    return request;
  }
  RoundRequest Claiming(const std::string& name, const Claim& claim) {
    RoundRequest request = From(name);
    request.claim = {claim};
    return request;
  }
  RoundRequest Renewing(const std::string& name, const std::string& target, uint64_t generation) {
    RoundRequest request = From(name);
    request.renew = {{.target = target, .generation = generation}};
    return request;
  }
  RoundRequest Giving(const std::string& name, const std::string& target, uint64_t generation,
                      const std::string& to) {
    RoundRequest request = From(name);
    request.give = {{.target = target,
                     .generation = generation,
                     .to = to,
                     .to_incarnation = to.empty() ? 0 : ~uint64_t{0}}};
    return request;
  }
  RoundReply Ask(const RoundRequest& request) { return Ask(store_, request); }
  static RoundReply Ask(PostgresStore& store, const RoundRequest& request) {
    absl::StatusOr<RoundReply> reply = store.Round(request, kLong);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *std::move(reply) : RoundReply();
  }
  // "owner generation.renewal", or nothing.
  static std::string Row(const RoundReply& reply, const std::string& target) {
    for (const OwnershipView& row : reply.ownership) {
      if (row.target != target) continue;
      return absl::StrCat(row.owner, " ", row.generation, ".", row.renewal);
    }
    return "";
  }
  static std::optional<OwnershipView> ViewOf(const RoundReply& reply, const std::string& target) {
    for (const OwnershipView& row : reply.ownership) {
      if (row.target == target) return row;
    }
    return std::nullopt;
  }
  // As another member hears it.
  cluster::SharedOffers OffersOf(const std::string& name) {
    for (const cluster::MemberView& member : Ask(From("b")).members) {
      if (member.row.name == name) return member.row.offers;
    }
    ADD_FAILURE() << "there is no member " << name;
    return {};
  }
  void Expire() {
    database_.RunSql("UPDATE headgate_store.ownership SET expires_at = now() - interval '1 ms'");
  }

  SystemClock clock_;
  StoreDatabase database_;
  PostgresStore store_{database_.Options(), clock_};
  std::atomic<uint64_t> rounds_ = 0;  // asked for, by all threads
};

TEST_F(RoundTest, MakesAMemberAndCountsItsRounds) {
  Ask(From("a", 7));
  const RoundReply reply = Ask(From("a", 7));
  ASSERT_EQ(reply.members.size(), 1U);
  EXPECT_EQ(reply.members[0].row.name, "a");
  EXPECT_EQ(reply.members[0].row.incarnation, 7U);
  EXPECT_EQ(reply.members[0].row.address, "a:8083");
  EXPECT_EQ(reply.members[0].row.state, cluster::MemberState::kServing);
  EXPECT_EQ(reply.members[0].round, 2U);
  EXPECT_EQ(reply.members[0].last_seen, absl::ZeroDuration());
  EXPECT_FALSE(reply.members[0].is_drained);
  EXPECT_FALSE(reply.name_is_taken);
  EXPECT_THAT(reply.ownership, IsEmpty());
}

TEST_F(RoundTest, TellsWhomAMemberAsks) {
  RoundRequest request = From("a");
  request.self.asks = {"b", "it's \\ \"c\", {d}"};
  EXPECT_EQ(Ask(request).members[0].row.asks, request.self.asks);
  request.self.asks->clear();
  EXPECT_EQ(Ask(request).members[0].row.asks, request.self.asks);
  EXPECT_EQ(Ask(From("a")).members[0].row.asks, std::nullopt);
}

// One that was given up and reaches the store after those that followed it.
TEST_F(RoundTest, TellsWhatAMemberCouldOwn) {
  RoundRequest request = From("a");
  request.self.offers =
      cluster::Offers{{"it's \\ {\"orders\"}",
                       {.configuration = ~uint64_t{0},
                        .measures = cluster::Measures::kNothing,
                        .why = "it's {refused}, \"again\""}},
                      {"billing", {.configuration = 7, .measures = cluster::Measures::kAll}}};
  Ask(request);
  EXPECT_EQ(OffersOf("a"), request.self.offers);
  request.number = ++rounds_;
  request.self.offers = cluster::Offers();
  Ask(request);
  EXPECT_EQ(OffersOf("a"), cluster::Offers());
}

// As one of an earlier release under the name of a newer one leaves them.
TEST_F(RoundTest, WhatAnEarlierProcessOfTheNameCouldOwnIsNotTold) {
  RoundRequest request = From("a", 7);
  request.self.offers = cluster::Offers{{"orders", {.configuration = 7}}};
  Ask(request);
  database_.RunSql("UPDATE headgate_store.member SET incarnation = 8 WHERE name = 'a'");
  EXPECT_FALSE(OffersOf("a").has_value());
}

// What a server of the first release asks, to the letter, for name `a` and process 9.
constexpr char kRoundOfTheFirstRelease[] = R"sql(
WITH self AS (
  INSERT INTO headgate_store.member AS m
    (name, incarnation, address, state, round, last_seen, drained, asks)
  SELECT 'a', 9, 'a:8083', 1, 5, now(), false, NULL::text[] FROM headgate_store.version
  WHERE version >= 1 AND works_with <= 1
  ON CONFLICT (name) DO UPDATE SET incarnation = excluded.incarnation, address = excluded.address,
    state = excluded.state, round = excluded.round, last_seen = excluded.last_seen,
    asks = excluded.asks
  WHERE CASE WHEN m.incarnation = excluded.incarnation THEN m.round <= excluded.round
    ELSE m.last_seen <= now() - interval '1 microseconds'
      OR m.last_seen >= now() + interval '1 microseconds' END
  RETURNING *
)
SELECT 's' AS kind, '' AS a, '' AS b, '' AS c, version::bigint AS i, works_with::bigint AS j,
  (SELECT revision FROM headgate_store.override_revision) AS k, 0::bigint AS micros,
  EXISTS (SELECT FROM self) AS flag, NULL::text[] AS names
FROM headgate_store.version
UNION ALL
SELECT 'm', name, address, '', incarnation, round, state,
  (extract(epoch FROM now() - last_seen) * 1000000)::bigint, drained, asks
FROM (SELECT * FROM self UNION ALL SELECT m.* FROM headgate_store.member AS m
  WHERE NOT EXISTS (SELECT FROM self WHERE self.name = m.name)) AS members
ORDER BY 1, 2
)sql";

TEST_F(RoundTest, AServerOfTheFirstReleaseGoesOnBesideNewerOnes) {
  RoundRequest request = From("a", 7);
  request.self.offers = cluster::Offers{{"orders", {.configuration = 7}}};
  Ask(request);
  Ask(From("b"));
  const SqlRows rows = database_.RunSql(kRoundOfTheFirstRelease);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0][4], "9");  // its own row, by which it has the name of a newer one
  EXPECT_EQ(rows[1][1], "b");
  EXPECT_EQ(rows[2][8], "t");
  const RoundReply reply = Ask(From("b"));
  ASSERT_EQ(reply.members.size(), 2U);
  for (const cluster::MemberView& member : reply.members) {
    if (member.row.name != "a") continue;
    EXPECT_EQ(member.row.incarnation, 9U);
    EXPECT_FALSE(member.row.offers.has_value());  // which are those of process 7
  }
}

TEST_F(RoundTest, ARoundThatComesTooLateChangesNothing) {
  RoundRequest late = Claiming("a", {.target = "t"});
  late.self.asks = {"b"};
  Ask(From("a"));
  Ask(late);
  const RoundReply reply = Ask(From("b"));
  EXPECT_EQ(Row(reply, "t"), "");
  ASSERT_EQ(reply.members.size(), 2U);
  const cluster::MemberView& a = reply.members[reply.members[0].row.name == "a" ? 0 : 1];
  EXPECT_EQ(a.row.asks, std::nullopt);
  EXPECT_EQ(a.round, 2U);
}

TEST_F(RoundTest, TellsOfTheOthers) {
  Ask(From("a"));
  RoundRequest leaving = From("b");
  leaving.self.state = cluster::MemberState::kLeaving;
  Ask(leaving);
  const RoundReply reply = Ask(From("a"));
  ASSERT_EQ(reply.members.size(), 2U);
  const cluster::MemberView& other = reply.members[reply.members[0].row.name == "b" ? 0 : 1];
  EXPECT_EQ(other.row.incarnation, ~uint64_t{0});
  EXPECT_EQ(other.row.state, cluster::MemberState::kLeaving);
  EXPECT_GT(other.last_seen, absl::ZeroDuration());
}

TEST_F(RoundTest, ATargetThatIsNewIsTheFirstClaimants) {
  const RoundReply first = Ask(Claiming("a", {.target = "t"}));
  EXPECT_EQ(Row(first, "t"), "a 1.1");
  EXPECT_EQ(ViewOf(first, "t")->remaining, absl::Minutes(1));
  EXPECT_EQ(Row(Ask(Claiming("b", {.target = "t"})), "t"), "a 1.1");
}

TEST_F(RoundTest, RenewsWhatIsItsOwnAndNothingElse) {
  Ask(Claiming("a", {.target = "t"}));
  Expire();
  EXPECT_EQ(Row(Ask(Renewing("b", "t", 1)), "t"), "a 1.1");
  EXPECT_EQ(Row(Ask(Renewing("a", "t", 2)), "t"), "a 1.1");
  EXPECT_LT(ViewOf(Ask(From("a")), "t")->remaining, absl::ZeroDuration());
  const RoundReply renewed = Ask(Renewing("a", "t", 1));
  EXPECT_EQ(Row(renewed, "t"), "a 1.2");
  EXPECT_EQ(ViewOf(renewed, "t")->remaining, absl::Minutes(1));
}

TEST_F(RoundTest, WhatHasExpiredIsTakenByTheNextGenerationAndOnlyThen) {
  Ask(Claiming("a", {.target = "t"}));
  const Claim claim{.target = "t", .generation = 1, .renewal = 1};
  EXPECT_EQ(Row(Ask(Claiming("b", claim)), "t"), "a 1.1");
  Expire();
  EXPECT_EQ(Row(Ask(Claiming("b", claim)), "t"), "b 2.2");
  EXPECT_EQ(Row(Ask(Renewing("a", "t", 1)), "t"), "b 2.2");
}

TEST_F(RoundTest, AClaimOfWhatHasChangedSinceIsNotGranted) {
  Ask(Claiming("a", {.target = "t"}));
  Ask(Renewing("a", "t", 1));
  Expire();
  EXPECT_EQ(Row(Ask(Claiming("b", {.target = "t", .generation = 1, .renewal = 1})), "t"), "a 1.2");
}

// A claimant that has waited long enough by its own clock does not ask the store's.
TEST_F(RoundTest, AClaimOfWhatIsUnchangedNeedNotHaveExpired) {
  Ask(Claiming("a", {.target = "t"}));
  const Claim claim{
      .target = "t", .generation = 1, .renewal = 1, .condition = Claim::Condition::kUnchanged};
  EXPECT_EQ(Row(Ask(Claiming("b", claim)), "t"), "b 2.2");
}

TEST_F(RoundTest, WhatIsGivenIsTheReceiversOrFreeAtOnce) {
  Ask(Claiming("a", {.target = "t"}));
  EXPECT_EQ(Row(Ask(Giving("b", "t", 1, "b")), "t"), "a 1.1");
  EXPECT_EQ(Row(Ask(Giving("a", "t", 1, "b")), "t"), "b 2.2");
  EXPECT_EQ(Row(Ask(Giving("b", "t", 2, "")), "t"), " 2.3");
  EXPECT_EQ(Row(Ask(Claiming("c", {.target = "t", .generation = 2, .renewal = 3})), "t"), "c 3.4");
}

// Such as of servers that stop together: what nobody receives stays, and is told as it is.
TEST_F(RoundTest, NothingIsGivenToWhoIsNotThereToReceiveIt) {
  Ask(Claiming("a", {.target = "t"}));
  EXPECT_EQ(Row(Ask(Giving("a", "t", 1, "b")), "t"), "a 1.1");
  RoundRequest b = From("b");
  b.self.state = cluster::MemberState::kLeaving;
  Ask(b);
  EXPECT_EQ(Row(Ask(Giving("a", "t", 1, "b")), "t"), "a 1.1");
  b.leave = true;
  b.number = ++rounds_;
  Ask(b);
  EXPECT_EQ(Row(Ask(Giving("a", "t", 1, "b")), "t"), "a 1.1");
  Ask(From("b", 5));
  EXPECT_EQ(Row(Ask(Giving("a", "t", 1, "b")), "t"), "a 1.1");  // another process has the name
  RoundRequest give = From("a");
  give.give = {{.target = "t", .generation = 1, .to = "b", .to_incarnation = 5}};
  EXPECT_EQ(Row(Ask(give), "t"), "b 2.2");
}

TEST_F(RoundTest, AServerMayGiveAnewToItself) {
  Ask(Claiming("a", {.target = "t"}));
  EXPECT_EQ(Row(Ask(Giving("a", "t", 1, "a")), "t"), "a 2.2");
}

TEST_F(RoundTest, ANameThatAnotherProcessHasIsRefusedAndNothingIsDone) {
  Ask(From("a", 1));
  RoundRequest other = From("a", 2);
  other.claim = {{.target = "t"}};
  const RoundReply refused = Ask(other);
  EXPECT_TRUE(refused.name_is_taken);
  EXPECT_THAT(refused.ownership, IsEmpty());
  ASSERT_EQ(refused.members.size(), 1U);
  EXPECT_EQ(refused.members[0].row.incarnation, 1U);
  other.leave = true;
  EXPECT_TRUE(Ask(other).name_is_taken);
  other.leave = false;
  database_.RunSql("UPDATE headgate_store.member SET last_seen = now() - interval '1 min'");
  const RoundReply taken = Ask(other);
  EXPECT_FALSE(taken.name_is_taken);
  EXPECT_EQ(taken.members[0].row.incarnation, 2U);
  EXPECT_EQ(Row(taken, "t"), "a 1.1");
}

// Otherwise a server that restarts would be refused for as long as the clock was set back.
TEST_F(RoundTest, ANameIsFreeWhoseProcessWasSeenBeforeTheStoresClockWasSetBack) {
  Ask(From("a", 1));
  database_.RunSql("UPDATE headgate_store.member SET last_seen = now() + interval '1 h'");
  EXPECT_FALSE(Ask(From("a", 2)).name_is_taken);
  database_.RunSql("UPDATE headgate_store.member SET last_seen = now() + interval '2 s'");
  EXPECT_TRUE(Ask(From("a", 3)).name_is_taken);
}

TEST_F(RoundTest, AnotherProcessOfTheSameNameOwnsNothingOfIt) {
  RoundRequest first = From("a", 1);
  first.claim = {{.target = "t"}};
  EXPECT_EQ(Ask(first).ownership.at(0).incarnation, 1U);
  database_.RunSql("UPDATE headgate_store.member SET last_seen = now() - interval '1 min'");
  RoundRequest second = From("a", 2);
  second.renew = {{.target = "t", .generation = 1}};
  const RoundReply reply = Ask(second);
  EXPECT_FALSE(reply.name_is_taken);
  EXPECT_EQ(Row(reply, "t"), "a 1.1");
  second.renew = {};
  second.give = {{.target = "t", .generation = 1, .to = "a", .to_incarnation = 2}};
  EXPECT_EQ(Row(Ask(second), "t"), "a 1.1");
}

TEST_F(RoundTest, WhoLeavesIsGoneAndCanGiveAwayInTheSameRound) {
  Ask(From("b"));
  Ask(Claiming("a", {.target = "t"}));
  RoundRequest last = Giving("a", "t", 1, "");
  last.leave = true;
  const RoundReply reply = Ask(last);
  EXPECT_FALSE(reply.name_is_taken);
  ASSERT_EQ(reply.members.size(), 1U);
  EXPECT_EQ(reply.members[0].row.name, "b");
  EXPECT_EQ(Row(reply, "t"), " 1.2");
}

TEST_F(RoundTest, OrdersOfOperatorsAreSeenInTheNextRound) {
  Ask(Claiming("a", {.target = "t"}));
  EXPECT_TRUE(absl::IsNotFound(store_.SetDrained("b", true, kLong)));
  EXPECT_TRUE(absl::IsNotFound(store_.SetPreferred("t", "b", kLong)));
  EXPECT_TRUE(absl::IsNotFound(store_.SetPreferred("u", "a", kLong)));
  ASSERT_TRUE(store_.SetDrained("a", true, kLong).ok());
  ASSERT_TRUE(store_.SetPreferred("t", "a", kLong).ok());
  const RoundReply reply = Ask(From("a"));
  EXPECT_TRUE(reply.members[0].is_drained);
  EXPECT_EQ(ViewOf(reply, "t")->preferred, "a");
  ASSERT_TRUE(store_.SetDrained("a", false, kLong).ok());
  ASSERT_TRUE(store_.SetPreferred("t", "", kLong).ok());
  EXPECT_FALSE(Ask(From("a")).members[0].is_drained);
}

TEST_F(RoundTest, NamesMayHoldWhatSqlTakesForItsOwn) {
  const std::string odd = "o'dd\\$1\"\n;--";
  EXPECT_EQ(Row(Ask(Claiming(odd, {.target = odd})), odd), odd + " 1.1");
  EXPECT_EQ(Row(Ask(Renewing(odd, odd, 1)), odd), odd + " 1.2");
}

// The reply is of the statement's beginning: the target must not look as if it were still a's.
TEST_F(RoundTest, WhatWasTakenWhileTheRoundWaitedIsNotToldAsItWas) {
  Ask(Claiming("a", {.target = "t"}));
  auto other = StoreDatabase::server().Open(database_.name());
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(other->Run("BEGIN").ok());
  ASSERT_TRUE(other->Run("UPDATE headgate_store.ownership SET owner = 'b', generation = 2").ok());
  RoundReply reply;
  std::thread round([&] { reply = Ask(Renewing("a", "t", 1)); });
  EXPECT_TRUE(WaitUntil([&] {
    return database_.RunSql("SELECT count(*) FROM pg_locks WHERE NOT granted")[0][0] == "1";
  }));
  ASSERT_TRUE(other->Run("COMMIT").ok());
  round.join();
  EXPECT_EQ(Row(reply, "t"), "");
  EXPECT_EQ(Row(Ask(From("a")), "t"), "b 2.1");
}

TEST_F(RoundTest, ASchemaThatWasChangedMeanwhileIsRefusedAndNothingIsDone) {
  Ask(From("a"));
  database_.RunSql("UPDATE headgate_store.version SET version = 99, works_with = 99");
  const absl::StatusOr<RoundReply> reply = store_.Round(Claiming("a", {.target = "t"}), kLong);
  EXPECT_TRUE(absl::IsFailedPrecondition(reply.status())) << reply.status();
  EXPECT_THAT(database_.RunSql("SELECT count(*) FROM headgate_store.ownership"),
              ElementsAre(ElementsAre("0")));
}

TEST_F(RoundTest, ARoundIsOneStatementHoweverManyTargetsItHas) {
  database_.RunSql(absl::StrCat("ALTER DATABASE ", database_.name(), " SET log_statement = 'all'"));
  RoundRequest request = From("counted");
  for (int i = 0; i < 50; ++i) request.claim.push_back({.target = absl::StrCat("t", i)});
  Ask(request);
  request.claim.clear();
  for (int i = 0; i < 50; ++i) request.renew.push_back({absl::StrCat("t", i), 1});
  const auto statements = [] {
    std::ifstream log(StoreDatabase::server().log());
    int count = 0;
    for (std::string line; std::getline(log, line);) {
      count +=
          absl::StrContains(line, "LOG:  statement:") || absl::StrContains(line, "LOG:  execute");
    }
    return count;
  };
  const int before = statements();
  for (int i = 0; i < 3; ++i) Ask(request);
  EXPECT_EQ(statements() - before, 3);
}

// Two claim one target at once, again and again: one of them gets it, each time.
class ContendedRounds : public RoundTest {
 protected:
  void Contend(int rounds) {
    PostgresStore other(database_.Options(), clock_);
    Ask(Claiming("a", {.target = "t"}));
    std::barrier together(2);
    std::vector<std::vector<std::string>> rows(2);
    const auto claim = [&](int who, PostgresStore& store) {
      const std::string name = who == 0 ? "a" : "b";
      for (int i = 0; i < rounds; ++i) {
        const uint64_t number = static_cast<uint64_t>(i) + 1;
        const RoundRequest request =
            Claiming(name, {"t", number, number, Claim::Condition::kUnchanged});
        together.arrive_and_wait();
        rows[who].push_back(Row(Ask(store, request), "t"));
      }
    };
    std::thread thread([&] { claim(1, other); });
    claim(0, store_);
    thread.join();
    for (int i = 0; i < rounds; ++i) {
      const std::string next = absl::StrCat(i + 2, ".", i + 2);
      const bool a = rows[0][i] == "a " + next;
      const bool b = rows[1][i] == "b " + next;
      ASSERT_NE(a, b) << i << ": " << rows[0][i] << ", " << rows[1][i];
    }
    rolled_back_ = store_.rolled_back() + other.rolled_back();
  }

  int64_t rolled_back_ = 0;
};

TEST_F(ContendedRounds, OneOfTwoClaimantsWins) {
  Contend(1000);
  EXPECT_EQ(rolled_back_, 0);
}

TEST_F(ContendedRounds, OneOfTwoClaimantsWinsWhereTransactionsAreSerializable) {
  database_.MakeSerializable();
  Contend(200);
  EXPECT_GT(rolled_back_, 0);
}

}  // namespace
}  // namespace headgate::store
