#include "tests/integration/running_server.h"

#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/wait_until.h"

namespace headgate {

RunningServer::RunningServer(const std::string& yaml, std::filesystem::path state_dir)
    : state_dir_(state_dir.empty() ? folder_.path() / "state" : std::move(state_dir)) {
  Rewrite(yaml);
  std::filesystem::create_directory(state_dir_);
  absl::StatusOr<std::unique_ptr<app::Server>> server =
      app::Server::Start({.config_path = config_path(),
                          .grpc_address = "127.0.0.1:0",
                          .state_dir = state_dir_,
                          .grace = absl::Seconds(2)},
                         clock_);
  EXPECT_TRUE(server.ok()) << server.status();
  if (!server.ok()) std::abort();
  server_ = *std::move(server);
  channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                 grpc::InsecureChannelCredentials());
  throttler_ = v1::ThrottlerService::NewStub(channel_);
  status_ = v1::StatusService::NewStub(channel_);
}

void RunningServer::Rewrite(const std::string& yaml) {
  const std::filesystem::path draft = folder() / "draft";
  std::ofstream(draft) << yaml;
  std::filesystem::rename(draft, config_path());
}

v1::Decision RunningServer::Check(const std::string& identity, double cost) {
  v1::CheckRequest request;
  request.set_identity(identity);
  request.set_estimated_cost(cost);
  v1::CheckResponse response;
  grpc::ClientContext context;
  const grpc::Status status = throttler_->Check(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.decision();
}

v1::GetStatusResponse RunningServer::Status() {
  v1::GetStatusResponse response;
  grpc::ClientContext context;
  const grpc::Status status = status_->GetStatus(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

bool RunningServer::AwaitHealth(v1::HealthState state, const std::string& identity) {
  const bool came = WaitUntil([&] { return Check(identity).health().state() == state; });
  EXPECT_TRUE(came) << Status().DebugString();
  return came;
}

bool RunningServer::AwaitStatus(
    const std::function<bool(const v1::GetStatusResponse&)>& condition) {
  const bool came = WaitUntil([&] { return condition(Status()); });
  EXPECT_TRUE(came) << Status().DebugString();
  return came;
}

}  // namespace headgate
