// headgate store: making, upgrading and checking the tables, and what is refused.

#include "server/share/store/admin.h"

#include <barrier>
#include <pqxx/transaction>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "server/share/store/postgres_store.h"
#include "server/share/store/schema.h"
#include "tests/share/store/store_database.h"

namespace headgate::store {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class AdminTest : public testing::Test {
 protected:
  std::string Said(const absl::StatusOr<std::string>& answer) {
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : std::string();
  }
  std::string Refused(const absl::StatusOr<std::string>& answer) {
    EXPECT_FALSE(answer.ok()) << *answer;
    return std::string(answer.status().message());
  }
  void SetVersion(int version, int works_with) {
    database_.RunSql(absl::StrCat("UPDATE headgate_store.version SET version = ", version,
                                  ", works_with = ", works_with));
  }

  SystemClock clock_;
  StoreDatabase database_{StoreDatabase::Tables::kMissing};
};

TEST_F(AdminTest, WhatHasNoTablesIsToldToMakeThem) {
  EXPECT_EQ(Refused(Check(database_.Admin(), clock_)),
            "the store has no tables yet: run headgate store init");
  EXPECT_EQ(Refused(Upgrade(database_.Admin(), clock_)),
            "the store has no tables yet: run headgate store init");
}

TEST_F(AdminTest, TablesAreMadeOnceAndNotTouchedAgain) {
  EXPECT_THAT(Said(Init(database_.Admin(), clock_)), HasSubstr("made: "));
  database_.RunSql("INSERT INTO headgate_store.member VALUES ('a', 1, 'a:1', 1, 1, now(), false)");
  EXPECT_THAT(Said(Init(database_.Admin(), clock_)), HasSubstr("nothing was changed"));
  EXPECT_THAT(Said(Upgrade(database_.Admin(), clock_)), HasSubstr("nothing was changed"));
  EXPECT_THAT(database_.RunSql("SELECT name FROM headgate_store.member"),
              ElementsAre(ElementsAre("a")));
}

// YugabyteDB commits each change of a schema by itself, and a machine may stop between two.
TEST_F(AdminTest, TablesThatWereLeftHalfMadeAreFinished) {
  database_.RunSql("CREATE SCHEMA headgate_store");
  database_.RunSql(
      "CREATE TABLE headgate_store.version (one boolean PRIMARY KEY DEFAULT true CHECK (one),"
      " version int NOT NULL, works_with int NOT NULL)");
  EXPECT_THAT(Refused(Check(database_.Admin(), clock_)), HasSubstr("store init"));
  Said(Init(database_.Admin(), clock_));
  Said(Check(database_.Admin(), clock_));
}

TEST_F(AdminTest, ARoleThatOwnsTheSchemaMayMakeTheTables) {
  database_.RunSql("CREATE ROLE owns_the_schema LOGIN");
  database_.RunSql("CREATE SCHEMA headgate_store AUTHORIZATION owns_the_schema");
  Said(Init(database_.Admin("owns_the_schema"), clock_));
}

TEST_F(AdminTest, TheGrantsOfTheDocumentationSufficeForAServer) {
  Said(Init(database_.Admin(), clock_));
  database_.CreateServerRole("serves");
  EXPECT_THAT(Said(Check(database_.Admin("serves"), clock_)),
              AllOf(HasSubstr("role serves may do what a server does"),
                    HasSubstr("transactions are read committed")));
}

TEST_F(AdminTest, APrivilegeThatIsMissingIsNamed) {
  Said(Init(database_.Admin(), clock_));
  database_.CreateServerRole("lacks");
  database_.RunSql("REVOKE UPDATE ON headgate_store.ownership FROM lacks");
  EXPECT_THAT(Refused(Check(database_.Admin("lacks"), clock_)),
              StartsWith("role lacks lacks UPDATE on headgate_store.ownership: grant it"));
  // It cannot help itself, and its owner can.
  EXPECT_THAT(Said(Init(database_.Admin("lacks"), clock_)), HasSubstr("nothing was changed"));
  EXPECT_THAT(Said(Init(database_.Admin(), clock_)),
              EndsWith("they lacked UPDATE on headgate_store.ownership to lacks"));
  Said(Check(database_.Admin("lacks"), clock_));
}

TEST_F(AdminTest, WithoutTheSchemaOrItsVersionItIsAPrivilegeThatIsMissing) {
  Said(Init(database_.Admin(), clock_));
  database_.CreateServerRole("blind");
  for (const char* const what :
       {"USAGE ON SCHEMA headgate_store", "SELECT ON headgate_store.version"}) {
    database_.RunSql(absl::StrCat("REVOKE ", what, " FROM blind"));
    EXPECT_TRUE(absl::IsPermissionDenied(Check(database_.Admin("blind"), clock_).status())) << what;
    Said(Init(database_.Admin(), clock_));
    Said(Check(database_.Admin("blind"), clock_));
  }
}

// A role that only looks is granted nothing more.
TEST_F(AdminTest, WhoMayOnlyReadIsNoServersRole) {
  Said(Init(database_.Admin(), clock_));
  database_.RunSql("CREATE ROLE looks LOGIN");
  database_.RunSql("GRANT SELECT ON headgate_store.member TO looks");
  EXPECT_THAT(Said(Init(database_.Admin(), clock_)), HasSubstr("nothing was changed"));
}

TEST_F(AdminTest, ATableThatIsMissingIsNamedAndMadeAnewForTheServersToo) {
  Said(Init(database_.Admin(), clock_));
  database_.CreateServerRole("bereft");
  for (const char* const table :
       {"member", "ownership", "state", "override", "override_event", "override_revision"}) {
    database_.RunSql(absl::StrCat("DROP TABLE headgate_store.", table));
    EXPECT_THAT(Refused(Check(database_.Admin("bereft"), clock_)),
                AllOf(HasSubstr(absl::StrCat("but lack table headgate_store.", table, ":")),
                      HasSubstr("headgate store init")));
    EXPECT_THAT(Said(Init(database_.Admin(), clock_)),
                HasSubstr(absl::StrCat("they lacked table headgate_store.", table)));
    Said(Check(database_.Admin("bereft"), clock_));
  }
}

TEST_F(AdminTest, AColumnThatIsMissingIsNamedAndMadeAnew) {
  Said(Init(database_.Admin(), clock_));
  database_.CreateServerRole("shorn");
  const SqlRows columns = database_.RunSql(
      "SELECT table_name || '.' || column_name, table_name FROM information_schema.columns"
      " WHERE table_schema = 'headgate_store' AND table_name NOT IN ('version', 'override')");
  ASSERT_GT(columns.size(), 30U);
  for (const auto& row : columns) {
    const std::string& column = row[0];
    database_.RunSql(
        "INSERT INTO headgate_store.member (name, incarnation, address, state, round, last_seen,"
        " drained) VALUES ('a', 1, 'a:1', 1, 1, now(), false) ON CONFLICT (name) DO NOTHING");
    database_.RunSql(
        "INSERT INTO headgate_store.ownership (target, owner, incarnation, generation, renewal,"
        " expires_at, preferred, state_generation, state_sequence) VALUES ('t', 'a', 1, 7, 9, "
        "now(),"
        " '', 7, 1) ON CONFLICT (target) DO NOTHING");
    database_.RunSql(absl::StrCat("ALTER TABLE headgate_store.", row[1], " DROP COLUMN ",
                                  column.substr(column.find('.') + 1), " CASCADE"));
    EXPECT_THAT(Refused(Check(database_.Admin("shorn"), clock_)),
                HasSubstr(absl::StrCat("lack column headgate_store.", column, ":")));
    EXPECT_THAT(Said(Init(database_.Admin(), clock_)), HasSubstr("repaired: ")) << column;
    Said(Check(database_.Admin("shorn"), clock_));
    // A server goes on with it.
    PostgresStore store(database_.Options(), clock_);
    const auto reply = store.Round({.self = {.name = "a", .incarnation = 2, .address = "a:1"},
                                    .number = 1,
                                    .lease = absl::Nanoseconds(1),
                                    .claim = {{.target = "u"}}},
                                   kLong);
    EXPECT_TRUE(reply.ok() && !reply->name_is_taken) << column << ": " << reply.status();
    database_.RunSql("DELETE FROM headgate_store.ownership");
  }
}

// To run what somebody has paused is not for a program to decide.
TEST_F(AdminTest, WhatOperatorsHaveOrderedIsNotMadeUp) {
  Said(Init(database_.Admin(), clock_));
  database_.RunSql("ALTER TABLE headgate_store.override DROP COLUMN kind");
  EXPECT_THAT(Refused(Init(database_.Admin(), clock_)),
              AllOf(StartsWith("the store lacks column headgate_store.override.kind"),
                    HasSubstr("DROP TABLE headgate_store.override")));
  database_.RunSql("DROP TABLE headgate_store.override");
  Said(Init(database_.Admin(), clock_));
  Said(Check(database_.Admin(), clock_));
}

// Nobody may take a target for one that was never owned.
TEST_F(AdminTest, GenerationsGoOnWhereOwnershipWasLost) {
  Said(Init(database_.Admin(), clock_));
  PostgresStore store(database_.Options(), clock_);
  cluster::RoundRequest request{.self = {.name = "a", .incarnation = 1, .address = "a:1"},
                                .number = 1,
                                .lease = absl::Minutes(1),
                                .claim = {{.target = "t"}}};
  ASSERT_TRUE(store.Round(request, kLong).ok());
  ASSERT_TRUE(store
                  .WriteState({.target = "t",
                               .generation = 1,
                               .sequence = 1,
                               .age = absl::ZeroDuration(),
                               .bytes = "debt"},
                              kLong)
                  .ok());
  database_.RunSql("DROP TABLE headgate_store.ownership");
  Said(Init(database_.Admin(), clock_));
  request.number = 2;
  request.claim.clear();
  const auto reply = store.Round(request, kLong);
  ASSERT_TRUE(reply.ok() && reply->ownership.size() == 1) << reply.status();
  EXPECT_EQ(reply->ownership[0].generation, 2U);
  EXPECT_NE(reply->ownership[0].owner, "");  // nobody takes it before a lease has passed
}

// As the pods of a deployment may.
TEST_F(AdminTest, CommandsThatMakeTheTablesAtOnceAllSucceed) {
  constexpr int kCommands = 8;
  for (int round = 0; round < 5; ++round) {
    std::vector<absl::StatusOr<std::string>> said(kCommands, std::string());
    std::barrier together(kCommands);
    std::vector<std::thread> commands;
    for (int i = 0; i < kCommands; ++i) {
      commands.emplace_back([&, i] {
        SystemClock clock;
        together.arrive_and_wait();
        said[static_cast<size_t>(i)] = Init(database_.Admin(), clock);
      });
    }
    for (std::thread& command : commands) command.join();
    int made = 0;
    for (const auto& answer : said) made += Said(answer).starts_with("made: ") ? 1 : 0;
    EXPECT_GE(made, 1);  // one that comes late finds nothing to do, and may not know it
    Said(Check(database_.Admin(), clock_));
    database_.RunSql("DROP SCHEMA headgate_store CASCADE");
  }
}

TEST_F(AdminTest, AnotherVersionIsRefusedUnlessItSaysThatItWorksWithThisOne) {
  Said(Init(database_.Admin(), clock_));
  SetVersion(kSchemaVersion + 1, kSchemaVersion + 1);
  EXPECT_THAT(Refused(Check(database_.Admin(), clock_)), HasSubstr("for a newer Headgate"));
  EXPECT_THAT(Refused(Upgrade(database_.Admin(), clock_)), HasSubstr("use the newer one"));
  EXPECT_THAT(Refused(Init(database_.Admin(), clock_)), HasSubstr("use the newer one"));
  SetVersion(kSchemaVersion + 1, kSchemaVersion);
  Said(Check(database_.Admin(), clock_));
}

TEST_F(AdminTest, AReadOnlyDatabaseIsNoStore) {
  Said(Init(database_.Admin(), clock_));
  database_.RunSql(
      absl::StrCat("ALTER DATABASE ", database_.name(), " SET default_transaction_read_only = on"));
  EXPECT_THAT(Refused(Check(database_.Admin(), clock_)), HasSubstr("is read-only"));
}

TEST_F(AdminTest, ATargetIsNoStoreByWhateverAddressAndAnotherDatabaseBesideItIs) {
  const absl::StatusOr<DatabaseIdentity> target =
      Identify(StoreDatabase::server().SocketDsn("postgres", database_.name()), kLong, clock_);
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_FALSE(target->system_identifier.empty());
  AdminOptions options = database_.Admin();
  options.protected_databases = {{"orders", *target}};
  EXPECT_THAT(Refused(Init(options, clock_)), HasSubstr("it is target orders"));
  options.protected_databases[0].second.database = "another";
  Said(Init(options, clock_));
}

TEST_F(AdminTest, ARoleThatIsNotToldTheIdentityIsNotRefused) {
  Said(Init(database_.Admin(), clock_));
  database_.CreateServerRole("not_told");
  database_.RunSql("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
  const absl::StatusOr<DatabaseIdentity> identity =
      Identify(database_.Dsn("not_told"), kLong, clock_);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->system_identifier, "");
  EXPECT_EQ(identity->database, database_.name());
  EXPECT_FALSE(IsSame(*identity, *identity));
}

class MigrateTest : public AdminTest {
 protected:
  void MigrateTo(const std::vector<SchemaStep>& steps) {
    Transactor transactor(AnySchema(), clock_);
    const absl::Status status = transactor.Run(
        Scope::kTransaction, kLong,
        [&](pqxx::transaction_base& work) { Migrate(work, ReadSchemaVersion(work), steps); });
    EXPECT_TRUE(status.ok()) << status;
  }
  TransactorOptions AnySchema() {
    Said(Init(database_.Admin(), clock_));
    return database_.Options();
  }
};

TEST_F(MigrateTest, TakesTheStepsThatAreMissingAndNoOthers) {
  std::vector<SchemaStep> steps(kSchemaVersion, {.sql = "SELECT 1 / 0", .works_with = 1});
  steps.push_back(
      {.sql = "ALTER TABLE headgate_store.member ADD COLUMN zone text", .works_with = 1});
  MigrateTo(steps);
  EXPECT_THAT(database_.RunSql("SELECT version, works_with FROM headgate_store.version"),
              ElementsAre(ElementsAre(absl::StrCat(kSchemaVersion + 1), "1")));
  EXPECT_THAT(database_.RunSql("SELECT count(zone) FROM headgate_store.member"),
              ElementsAre(ElementsAre("0")));
}

// The tables of the first release, with a server in them that goes on.
TEST_F(MigrateTest, TheFirstVersionIsUpgradedAndItsServersGoOn) {
  Said(Init(database_.Admin(), clock_));
  database_.RunSql("DROP SCHEMA headgate_store CASCADE");
  database_.RunSql("CREATE SCHEMA headgate_store");
  database_.RunSql(
      "CREATE TABLE headgate_store.version (one boolean PRIMARY KEY DEFAULT true, version int NOT"
      " NULL, works_with int NOT NULL)");
  database_.RunSql(SchemaSteps().front().sql);
  database_.RunSql("INSERT INTO headgate_store.version (version, works_with) VALUES (1, 1)");
  database_.RunSql(
      "INSERT INTO headgate_store.member VALUES ('a', 1, 'a:1', 1, 1, now(), false, NULL)");
  EXPECT_THAT(Refused(Check(database_.Admin(), clock_)), HasSubstr("run headgate store upgrade"));
  EXPECT_THAT(Said(Upgrade(database_.Admin(), clock_)), HasSubstr("upgraded from version 1"));
  Said(Check(database_.Admin(), clock_));
  EXPECT_THAT(database_.RunSql("SELECT version, works_with FROM headgate_store.version"),
              ElementsAre(ElementsAre(absl::StrCat(kSchemaVersion), "1")));
  EXPECT_THAT(database_.RunSql("SELECT name, offers IS NULL FROM headgate_store.member"),
              ElementsAre(ElementsAre("a", "t")));
}

}  // namespace
}  // namespace headgate::store
