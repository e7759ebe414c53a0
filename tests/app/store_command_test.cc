// headgated --store-tables: a target of the configuration is never the store.

#include "server/app/store_command.h"

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "gmock/gmock.h"
#include "tests/testing/shared_postgres.h"
#include "tests/testing/temp_folder.h"

namespace headgate::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class StoreCommandTest : public testing::Test {
 protected:
  static PostgresServer& server() { return SharedPostgres(); }

  absl::StatusOr<StoreAnswer> Run(const std::string& action, const std::string& target_dsn) {
    const std::string config = folder_.File("headgate.yaml");
    std::ofstream(config) << "targets:\n  - name: orders\n    primary:\n      dsn: " << target_dsn
                          << "\n";
    return RunStoreCommand(
        {.action = action, .dsn = server().Dsn("postgres", "template1"), .config_path = config},
        clock_);
  }

  SystemClock clock_;
  TempFolder folder_;
};

TEST_F(StoreCommandTest, ADatabaseThatIsATargetIsRefused) {
  const auto answer = Run("init", server().SocketDsn("postgres", "template1"));
  EXPECT_TRUE(absl::IsFailedPrecondition(answer.status())) << answer.status();
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("it is target orders"));
}

TEST_F(StoreCommandTest, OneBesideATargetIsTaken) {
  const auto answer = Run("init", server().Dsn("postgres", "postgres"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->warnings, IsEmpty());
  EXPECT_TRUE(Run("check", server().Dsn("postgres", "postgres")).ok());
}

TEST_F(StoreCommandTest, ATargetThatIsAwayIsAWarning) {
  const auto answer = Run("init", absl::StrCat("host=", folder_.File("nowhere")));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->warnings, ElementsAre(HasSubstr("whether target orders is the store")));
}

// For a Job, which runs the same before each upgrade.
TEST_F(StoreCommandTest, EnsureMakesWhatIsMissingAndLeavesAloneWhatIsNewer) {
  ASSERT_TRUE(server().RunSql("CREATE DATABASE ensured TEMPLATE template0").ok());
  auto session = server().Open("ensured");
  ASSERT_TRUE(session.ok()) << session.status();
  const auto ensure = [&] {
    return RunStoreCommand(
        {.action = "ensure", .dsn = server().Dsn("postgres", "ensured"), .config_path = ""},
        clock_);
  };
  auto answer = ensure();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->said, HasSubstr("made: the store's tables"));
  answer = ensure();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->said, HasSubstr("already; nothing was changed"));
  ASSERT_TRUE(session->Run("UPDATE headgate_store.version SET version = 99").ok());
  answer = ensure();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->said, HasSubstr("are of version 99, and role postgres may do"));
  ASSERT_TRUE(session->Run("UPDATE headgate_store.version SET works_with = 99").ok());
  answer = ensure();
  EXPECT_TRUE(absl::IsFailedPrecondition(answer.status())) << answer.status();
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("newer than what this headgated"));
}

TEST_F(StoreCommandTest, AConfigurationThatCannotBeReadIsTheInputsFault) {
  const auto answer = RunStoreCommand(
      {.action = "check", .dsn = server().Dsn(), .config_path = "/nowhere/headgate.yaml"}, clock_);
  EXPECT_TRUE(absl::IsInvalidArgument(answer.status())) << answer.status();
}

}  // namespace
}  // namespace headgate::app
