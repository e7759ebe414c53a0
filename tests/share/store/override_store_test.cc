// Overrides of several servers in one store: what one orders holds for all, and no two changes are
// made to the same state.

#include "server/share/store/override_store.h"

#include <algorithm>
#include <barrier>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "server/remember/overrides/registry.h"
#include "server/share/store/postgres_store.h"
#include "tests/share/store/store_database.h"

namespace headgate::store {
namespace {

using overrides::CreateRequest;
using overrides::Event;
using overrides::EventKind;
using overrides::Kind;
using overrides::Override;
using overrides::Registry;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

CreateRequest Pause(const std::string& identity, overrides::Expiry expiry = absl::Hours(1)) {
  CreateRequest request;
  request.selector.identity = identity;
  request.actor = "alice";
  request.reason = "it's \"stuck\"";
  request.expiry = expiry;
  return request;
}

// One server's.
class Desk {
 public:
  Desk(const StoreDatabase& database, FakeClock& clock, size_t max_in_force = 10'000,
       const std::string& role = "postgres") {
    TransactorOptions options = database.Options();
    options.dsn = [dsn = database.Dsn(role)] { return dsn; };
    static uint64_t seed = 0;
    options.seed = ++seed;
    auto opened = Registry::Open(std::make_unique<OverrideStore>(options, clock, kLong),
                                 {.put =
                                      [this](const engine::PolicySpec& spec) {
                                        rules_ = spec.rules.size();
                                        return absl::OkStatus();
                                      },
                                  .max_in_force = max_in_force},
                                 clock);
    EXPECT_TRUE(opened.ok()) << opened.status();
    registry_ = *std::move(opened);
    EXPECT_TRUE(registry_->Install({}).ok());
  }

  Registry& operator*() { return *registry_; }
  Registry* operator->() { return registry_.get(); }
  Override Make(const CreateRequest& request) {
    const absl::StatusOr<Override> made = registry_->Create(request);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *made : Override();
  }
  // Of overrides, in force in the engine.
  size_t rules() const { return rules_; }

 private:
  size_t rules_ = 0;
  std::unique_ptr<Registry> registry_;
};

class OverrideStoreTest : public testing::Test {
 protected:
  // As a server's next round would tell.
  uint64_t Revision() {
    PostgresStore store(database_.Options(), real_clock_);
    const auto reply = store.Round(
        {.self = {.name = "r", .incarnation = 1, .address = "r:1"}, .lease = absl::Seconds(3)},
        kLong);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? reply->overrides_revision : 0;
  }

  StoreDatabase database_;
  SystemClock real_clock_;
  FakeClock clock_;
};

TEST_F(OverrideStoreTest, WhatOneServerMadeIsReadByTheNextToTheLastField) {
  Desk first(database_, clock_);
  CreateRequest throttle = Pause("");
  throttle.kind = Kind::kThrottle;
  throttle.ratio = 0.3;
  throttle.selector = {.everything = true};
  throttle.expiry = overrides::Never();
  const Override everything = first.Make(throttle);
  CreateRequest exempt = Pause("");
  exempt.kind = Kind::kExempt;
  exempt.selector = {.segment = "etl"};
  const Override segment = first.Make(exempt);
  const Override identity = first.Make(Pause("nightly:etl"));

  Desk second(database_, clock_);
  EXPECT_THAT(second->List({}), ElementsAre(identity, segment, everything));
  EXPECT_EQ(second.rules(), 3U);
  EXPECT_EQ(Revision(), 3U);
}

TEST_F(OverrideStoreTest, AnotherServerFollowsAndMayEndWhatWasMade) {
  Desk first(database_, clock_);
  Desk second(database_, clock_);
  const Override made = first.Make(Pause("etl"));
  EXPECT_EQ(second.rules(), 0U);
  ASSERT_TRUE(second->Follow(Revision()).ok());
  EXPECT_EQ(second.rules(), 1U);
  EXPECT_THAT(second->List({}), ElementsAre(made));

  ASSERT_TRUE(second->Delete({.id = made.id, .actor = "bob", .reason = "over"}).ok());
  EXPECT_EQ(second.rules(), 0U);
  ASSERT_TRUE(first->Follow(Revision()).ok());
  EXPECT_EQ(first.rules(), 0U);
}

TEST_F(OverrideStoreTest, AChangeIsMadeToWhatOthersHaveChangedMeanwhile) {
  Desk first(database_, clock_);
  Desk second(database_, clock_);
  const Override one = first.Make(Pause("one"));
  const Override two = second.Make(Pause("two"));  // has not followed
  EXPECT_EQ(two.id, one.id + 1);
  EXPECT_EQ(second.rules(), 2U);
  EXPECT_TRUE(first->Delete({.id = two.id, .actor = "bob", .reason = "over"}).ok());  // nor this
  EXPECT_EQ(first.rules(), 1U);
}

TEST_F(OverrideStoreTest, EventsOfAllServersAreOneList) {
  Desk first(database_, clock_);
  Desk second(database_, clock_);
  const Override made = first.Make(Pause("etl"));
  ASSERT_TRUE(second
                  ->Record({.kind = EventKind::kDebtForgiven,
                            .change = "all of etl",
                            .actor = "carol",
                            .reason = "a bad night"})
                  .ok());
  ASSERT_TRUE(first->Delete({.id = made.id, .actor = "bob", .reason = "over"}).ok());
  const absl::StatusOr<std::vector<Event>> events = second->Events({});
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_THAT(*events, SizeIs(3));
  EXPECT_EQ((*events)[0].kind, EventKind::kDeleted);
  EXPECT_EQ((*events)[0].actor, "bob");
  EXPECT_EQ((*events)[0].override.selector.identity, "etl");
  EXPECT_EQ((*events)[1].kind, EventKind::kDebtForgiven);
  EXPECT_EQ((*events)[1].change, "all of etl");
  EXPECT_EQ((*events)[1].override.id, 0);
  EXPECT_EQ((*events)[2].kind, EventKind::kCreated);
  EXPECT_EQ((*events)[2].reason, "it's \"stuck\"");
  const auto of_one = second->Events({.override_id = made.id, .before_id = (*events)[0].id});
  ASSERT_TRUE(of_one.ok()) << of_one.status();
  EXPECT_THAT(*of_one, SizeIs(1));
}

TEST_F(OverrideStoreTest, AnExpiryIsOneEventWhoeverNoticesIt) {
  Desk first(database_, clock_);
  Desk second(database_, clock_);
  first.Make(Pause("etl", absl::Minutes(1)));
  ASSERT_TRUE(second->Follow(Revision()).ok());
  clock_.Advance(absl::Minutes(2));
  EXPECT_THAT(first->List({}), IsEmpty());
  EXPECT_THAT(second->List({}), IsEmpty());
  const auto expect_one = [&] {
    const auto events = second->Events({});
    ASSERT_TRUE(events.ok()) << events.status();
    ASSERT_THAT(*events, SizeIs(2));
    EXPECT_EQ(events->front().kind, EventKind::kExpired);
  };
  expect_one();  // nobody has written it
  first->EndExpired();
  expect_one();  // the other one has, of which this one has not heard
  second->EndExpired();
  ASSERT_TRUE(second->Follow(Revision()).ok());
  expect_one();
}

// What a Headgate that forgot nothing has left is brought down to the bound by the next changes,
// none of which does much.
TEST_F(OverrideStoreTest, TheHistoryIsBounded) {
  Desk desk(database_, clock_);
  database_.RunSql(R"sql(
    INSERT INTO headgate_store.override
      SELECT i, 1, 'job-' || i, '', false, '', 0, 'a', 'r', 0, NULL, true
      FROM generate_series(1, 5200) AS i;
    INSERT INTO headgate_store.override_event
      SELECT 2 * i - 1, 0, 1, i, 'a', 'r', '' FROM generate_series(1, 5200) AS i;
    INSERT INTO headgate_store.override_event
      SELECT 2 * i, 0, 2, i, 'a', 'r', '' FROM generate_series(1, 5200) AS i;
    UPDATE headgate_store.override_revision
      SET revision = revision + 1, last_id = 5200, last_event = 10400)sql");
  const auto count = [&](const std::string& table) {
    return database_.RunSql("SELECT count(*) FROM headgate_store." + table)[0][0];
  };
  ASSERT_TRUE(desk->Follow(Revision()).ok());
  EXPECT_EQ(desk.Make(Pause("etl")).id, 5201);
  EXPECT_EQ(count("override_event"), "10201");
  desk.Make(Pause("etl"));
  desk.Make(Pause("etl"));
  EXPECT_EQ(count("override_event"), "10000");
  // Of the one whose second event is kept the override is, too.
  EXPECT_EQ(count("override WHERE id = 202"), "1");
  EXPECT_EQ(count("override"), "5002");
  // A deed counts as well.
  ASSERT_TRUE(desk->Record({.change = "all of etl", .actor = "bob", .reason = "a bad night"}).ok());
  EXPECT_EQ(count("override_event"), "10000");
  EXPECT_EQ(count("override WHERE id = 202"), "0");
  EXPECT_THAT(desk->List({}), SizeIs(3));
}

// Threads of `servers` servers make `each` overrides at once. How many could be.
size_t MakeAtOnce(const StoreDatabase& database, FakeClock& clock, int servers, int each,
                  size_t most, std::set<int64_t>& ids) {
  std::vector<std::unique_ptr<Desk>> desks;
  for (int i = 0; i < servers; ++i) {
    desks.push_back(std::make_unique<Desk>(database, clock, most));
  }
  std::vector<std::vector<int64_t>> made(desks.size());
  std::barrier begin(servers);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < desks.size(); ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      for (int n = 0; n < each;) {
        const absl::StatusOr<Override> one = (*desks[i])->Create(Pause("etl"));
        if (absl::IsAborted(one.status())) continue;  // overtaken again and again
        EXPECT_TRUE(one.ok() || absl::IsResourceExhausted(one.status())) << one.status();
        if (one.ok()) made[i].push_back(one->id);
        ++n;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  size_t count = 0;
  for (const auto& of_one : made) {
    count += of_one.size();
    ids.insert(of_one.begin(), of_one.end());
  }
  return count;
}

TEST_F(OverrideStoreTest, ServersThatOrderAtOnceNeverGoBeyondTheMostThereMayBe) {
  std::set<int64_t> ids;
  EXPECT_EQ(MakeAtOnce(database_, clock_, 4, 10, 25, ids), 25U);
  EXPECT_EQ(ids.size(), 25U);
  EXPECT_EQ(Revision(), 25U);
}

TEST_F(OverrideStoreTest, AndNeitherWhereTransactionsAreSerializable) {
  database_.MakeSerializable();
  std::set<int64_t> ids;
  EXPECT_EQ(MakeAtOnce(database_, clock_, 3, 6, 15, ids), 15U);
  EXPECT_EQ(ids.size(), 15U);
}

TEST_F(OverrideStoreTest, NothingChangesWhileTheStoreIsAway) {
  Desk desk(database_, clock_);
  desk.Make(Pause("one"));
  ASSERT_TRUE(StoreDatabase::server().Stop().ok());
  const auto made = desk->Create(Pause("two"));
  EXPECT_TRUE(absl::IsUnavailable(made.status())) << made.status();
  EXPECT_EQ(desk.rules(), 1U);
  Desk late(database_, clock_);
  EXPECT_FALSE(late->GetState().is_loaded);
  EXPECT_FALSE(late->GetState().status.ok());
  EXPECT_EQ(late.rules(), 0U);

  ASSERT_TRUE(StoreDatabase::server().Start().ok());
  ASSERT_TRUE(late->Follow(Revision()).ok());
  EXPECT_TRUE(late->GetState().is_loaded);
  EXPECT_EQ(late.rules(), 1U);
  EXPECT_EQ(desk.Make(Pause("two")).id, 3);  // two was not made
}

// Nobody has to order anything for it.
TEST_F(OverrideStoreTest, WhatCannotBeWrittenIsSaidUntilItCanBe) {
  database_.CreateServerRole("orders_of_operators");
  Desk desk(database_, clock_, 10'000, "orders_of_operators");
  const auto privilege = [&](const char* how) {
    database_.RunSql(absl::StrCat(how, " orders_of_operators"));
  };
  privilege("REVOKE INSERT ON headgate_store.override_event FROM");
  EXPECT_TRUE(absl::IsUnavailable(desk->Create(Pause("one")).status()));
  ASSERT_TRUE(desk->Follow(Revision()).ok());
  EXPECT_THAT(std::string(desk->GetState().status.message()), HasSubstr("override_event"));
  privilege("GRANT INSERT ON headgate_store.override_event TO");
  ASSERT_TRUE(desk->Follow(Revision()).ok());
  EXPECT_TRUE(desk->GetState().status.ok()) << desk->GetState().status;
  EXPECT_EQ(Revision(), 0U);
  EXPECT_THAT(database_.RunSql("SELECT count(*) FROM headgate_store.override_event"),
              ElementsAre(ElementsAre("0")));

  ASSERT_TRUE(StoreDatabase::server().Stop().ok());
  EXPECT_FALSE(desk->Create(Pause("two")).ok());
  ASSERT_TRUE(StoreDatabase::server().Start().ok());
  EXPECT_FALSE(desk->GetState().status.ok());
  ASSERT_TRUE(desk->Follow(0).ok());
  EXPECT_TRUE(desk->GetState().status.ok()) << desk->GetState().status;
}

TEST_F(OverrideStoreTest, RowsThatMakeNoSenseAreNotTakenForNone) {
  Desk desk(database_, clock_);
  desk.Make(Pause("one"));
  database_.RunSql("UPDATE headgate_store.override SET kind = 9");
  database_.RunSql("UPDATE headgate_store.override_revision SET revision = revision + 1");
  const absl::Status followed = desk->Follow(Revision());
  EXPECT_TRUE(absl::IsDataLoss(followed)) << followed;
  EXPECT_THAT(std::string(followed.message()), HasSubstr("override 1"));
  EXPECT_EQ(desk.rules(), 1U);
}

}  // namespace
}  // namespace headgate::store
