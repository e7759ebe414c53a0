// headgate store: making, upgrading and checking the tables, and what is refused.

#include "server/store/admin.h"

#include <pqxx/transaction>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "server/store/schema.h"
#include "tests/store/store_database.h"

namespace headgate::store {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

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
  EXPECT_EQ(Refused(Check(database_.Admin("lacks"), clock_)),
            "role lacks lacks UPDATE on headgate_store.ownership");
  EXPECT_TRUE(absl::IsPermissionDenied(Init(database_.Admin("lacks"), clock_).status()) ||
              Init(database_.Admin("lacks"), clock_).ok());
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

// Upgrading is tried with steps of its own, as there is one version so far.
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
  MigrateTo({{.sql = "SELECT 1 / 0", .works_with = 1},
             {.sql = "ALTER TABLE headgate_store.member ADD COLUMN zone text", .works_with = 1}});
  EXPECT_THAT(database_.RunSql("SELECT version, works_with FROM headgate_store.version"),
              ElementsAre(ElementsAre("2", "1")));
  EXPECT_THAT(database_.RunSql("SELECT count(zone) FROM headgate_store.member"),
              ElementsAre(ElementsAre("0")));
}

}  // namespace
}  // namespace headgate::store
