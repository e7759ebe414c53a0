// A server that nobody has configured.

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/running_headgated.h"

namespace headgate {
namespace {

using testing::HasSubstr;

TEST(NoConfiguration, ChecksAreAnsweredWithoutBudgetsAndWithoutHealth) {
  const RunningHeadgated server({.stateless = true});
  const v1::Decision decision = server.Check("job-1:backfill");
  EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED);
  EXPECT_FALSE(decision.has_health());
}

TEST(NoConfiguration, AFileThatIsNotThereIsAnError) {
  HeadgatedProcess server({.flags = {"--config=/nowhere/headgate.yaml"}});
  EXPECT_FALSE(server.Start().ok());
}

TEST(NoConfiguration, AnAddressThatIsTakenIsAnError) {
  const RunningHeadgated first;
  const absl::Status second = HeadgatedProcess({.grpc_address = first.address()}).Start();
  EXPECT_THAT(std::string(second.message()), HasSubstr("exit status 1"));
  EXPECT_THAT(std::string(second.message()), HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace headgate
