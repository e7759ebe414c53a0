// A server that nobody has configured.

#include <grpcpp/grpcpp.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include "absl/strings/str_cat.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"
#include "server/app/server.h"

namespace headgate {
namespace {

TEST(NoConfiguration, ChecksAreAnsweredWithoutBudgetsAndWithoutHealth) {
  SystemClock clock;
  auto server = app::Server::Start({.grpc_address = "127.0.0.1:0"}, clock);
  ASSERT_TRUE(server.ok()) << server.status();
  auto stub = v1::ThrottlerService::NewStub(grpc::CreateChannel(
      absl::StrCat("127.0.0.1:", (*server)->port()), grpc::InsecureChannelCredentials()));
  v1::CheckRequest request;
  request.set_identity("job-1:backfill");
  v1::CheckResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(stub->Check(&context, request, &response).ok());
  EXPECT_EQ(response.decision().verdict(), v1::VERDICT_ALLOWED);
  EXPECT_FALSE(response.decision().has_health());
}

TEST(NoConfiguration, AFileThatIsNotThereIsAnError) {
  SystemClock clock;
  const auto server = app::Server::Start(
      {.config_path = "/nowhere/headgate.yaml", .grpc_address = "127.0.0.1:0"}, clock);
  EXPECT_FALSE(server.ok());
}

TEST(NoConfiguration, AnAddressThatIsTakenIsAnError) {
  SystemClock clock;
  auto first = app::Server::Start({.grpc_address = "127.0.0.1:0"}, clock);
  ASSERT_TRUE(first.ok());
  const auto second =
      app::Server::Start({.grpc_address = absl::StrCat("127.0.0.1:", (*first)->port())}, clock);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace headgate
