// A target is never taken for the store, at a start and when the configuration is read anew.

#include "server/app/protected_targets.h"

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/system_clock.h"
#include "gmock/gmock.h"
#include "server/share/store/admin.h"
#include "tests/testing/shared_postgres.h"

namespace headgate::app {
namespace {

using testing::HasSubstr;

class ProtectedTargetsTest : public testing::Test {
 protected:
  static PostgresServer& server() { return SharedPostgres(); }
  static std::vector<config::TargetSettings> Target(const std::string& dsn) {
    config::TargetSettings target;
    target.name = "orders";
    target.primary.emplace().dsn = dsn;
    return {target};
  }
  store::DatabaseIdentity Store() {
    auto identity =
        store::Identify(server().Dsn("postgres", "postgres"), absl::Seconds(30), clock_);
    EXPECT_TRUE(identity.ok()) << identity.status();
    return identity.value_or(store::DatabaseIdentity());
  }

  SystemClock clock_;
  ProtectedTargets targets_{clock_};
};

TEST_F(ProtectedTargetsTest, ATargetIsNotAcceptedAsTheStore) {
  ASSERT_TRUE(targets_.Update(Target(server().SocketDsn("postgres", "postgres"))).ok());
  const absl::Status accepted = targets_.Accept(Store());
  EXPECT_TRUE(absl::IsFailedPrecondition(accepted)) << accepted;
  EXPECT_THAT(std::string(accepted.message()), HasSubstr("it is target orders"));
}

TEST_F(ProtectedTargetsTest, TheStoreIsNotAcceptedAsATargetLater) {
  ASSERT_TRUE(targets_.Update({}).ok());
  ASSERT_TRUE(targets_.Accept(Store()).ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(targets_.Update(Target(server().Dsn("postgres", "postgres")))));
  EXPECT_TRUE(targets_.Update(Target(server().Dsn("postgres", "template1"))).ok());
  EXPECT_TRUE(targets_.Accept(Store()).ok());
}

TEST_F(ProtectedTargetsTest, ATargetThatCannotBeAskedIsNoReasonNotToStart) {
  EXPECT_TRUE(targets_.Update(Target("host=/nowhere")).ok());
  EXPECT_TRUE(targets_.Accept(Store()).ok());
}

}  // namespace
}  // namespace headgate::app
