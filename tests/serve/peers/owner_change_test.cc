// Targets that are on their way from one server to another.

#include <string>

#include "gtest/gtest.h"
#include "tests/serve/peers/peers_fixture.h"

namespace headgate::peers {
namespace {

using Kind = cluster::Owner::Kind;

class OwnerChange : public testing::Test {
 protected:
  // Of a permit that nobody has issued.
  grpc::Status Report(int server) {
    v1::ReportRequest request;
    v1::PermitReport& report = *request.add_reports();
    report.set_permit_id(4711);
    report.set_actual_cost(1);
    return CallRpc(servers_[server].caller, &v1::ThrottlerService::Stub::Report, request);
  }

  Servers servers_{2};
};

TEST_F(OwnerChange, APermitThatNobodyKnowsIsUnknownWhileAllTargetsHaveOwners) {
  EXPECT_TRUE(Report(0).ok());
  EXPECT_TRUE(Report(1).ok());
}

TEST_F(OwnerChange, APermitThatNobodyKnowsIsToBeReportedAgainWhileATargetIsNobodys) {
  servers_.Give("t0", -1);
  for (const int server : {0, 1}) {
    const grpc::Status status = Report(server);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(DetailsOf(status).reason, "OWNER_CHANGES");
    EXPECT_TRUE(DetailsOf(status).retry);
  }
  servers_.Give("t0", 1);
  EXPECT_TRUE(Report(0).ok());
}

// Whoever is asked for the report may not have heard of it yet.
TEST_F(OwnerChange, TheServerThatIsTakingATargetOverDeniesNoPermit) {
  servers_[1].owners.Set("t0", {.kind = Kind::kNobody});
  EXPECT_EQ(DetailsOf(Report(0)).reason, "OWNER_CHANGES");
}

TEST_F(OwnerChange, TheNewOwnerIsTold) {
  peer::v1::GivenTarget given;
  given.set_target("t0");
  given.set_generation(7);
  given.set_incarnation(11);
  // There is no connection yet.
  servers_[0].forwarder->Tell(servers_[1].own_address, given);
  OneOfSeveral& to = servers_[1];
  ASSERT_TRUE(WaitUntil([&] {
    const MutexLock lock(&to.mutex);
    return !to.told.empty();
  }));
  const MutexLock lock(&to.mutex);
  EXPECT_EQ(to.told[0].target(), "t0");
  EXPECT_EQ(to.told[0].generation(), 7U);
  EXPECT_EQ(to.told[0].incarnation(), 11U);
}

TEST_F(OwnerChange, ATellToAServerThatIsGoneIsLost) {
  const std::string address = servers_[1].own_address;
  servers_.Kill(1);
  for (int i = 0; i < 3; ++i) servers_[0].forwarder->Tell(address, {});
}

}  // namespace
}  // namespace headgate::peers
