// The program and its snapshot: a file that may not grow, and one that cannot be read.

#include <grpcpp/grpcpp.h>
#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>
#include <sys/resource.h>

#include <filesystem>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/load/headgated_process.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

using load::HeadgatedProcess;
using testing::HasSubstr;

class SnapshotProcess : public testing::Test {
 protected:
  SnapshotProcess() { std::filesystem::create_directory(folder_.path() / "state"); }

  absl::StatusOr<std::unique_ptr<HeadgatedProcess>> Start() const {
    return HeadgatedProcess::Start(folder_.path(), {"--state-dir", folder_.File("state")});
  }
  std::filesystem::path snapshot() const { return folder_.path() / "state" / "engine.snapshot"; }

  const TempFolder folder_;
};

grpc::Status Check(const std::shared_ptr<grpc::Channel>& channel) {
  v1::CheckRequest request;
  request.set_identity("job:etl");
  v1::CheckResponse response;
  grpc::ClientContext context;
  return v1::ThrottlerService::NewStub(channel)->Check(&context, request, &response);
}

v1::SnapshotStatus Snapshot(const std::shared_ptr<grpc::Channel>& channel) {
  v1::GetStatusResponse response;
  grpc::ClientContext context;
  const auto stub = v1::StatusService::NewStub(channel);
  EXPECT_TRUE(stub->GetStatus(&context, {}, &response).ok());
  return response.snapshot();
}

TEST_F(SnapshotProcess, AFileThatMayNotGrowEndsNoServer) {
  const auto server = Start();
  ASSERT_TRUE(server.ok()) << server.status();
  const auto channel =
      grpc::CreateChannel((*server)->address(), grpc::InsecureChannelCredentials());
  // Room for the log, and none for a snapshot.
  rlimit small = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &small), 0);
  small.rlim_cur = 64 << 10;
  ASSERT_EQ(prlimit((*server)->pid(), RLIMIT_FSIZE, &small, nullptr), 0);
  EXPECT_TRUE(Check(channel).ok());  // so that there is something to write
  EXPECT_TRUE(
      WaitUntil([&] { return (*server)->HasEnded() || Snapshot(channel).failed_writes() > 0; }));
  EXPECT_THAT(Snapshot(channel).error(), HasSubstr("File too large"));
  EXPECT_TRUE(Check(channel).ok());
  const absl::Status stopped = (*server)->Stop();
  EXPECT_TRUE(stopped.ok()) << stopped;
}

// The file may be sound: to begin without it would be to forget what it holds.
TEST_F(SnapshotProcess, AServerThatCannotReadItDoesNotStartAndLeavesItAlone) {
  std::filesystem::create_symlink("engine.snapshot", snapshot());
  const absl::Status started = Start().status();
  ASSERT_FALSE(started.ok());
  const std::string why(started.message());
  EXPECT_THAT(why, HasSubstr("the engine's state cannot be read"));
  EXPECT_THAT(why, HasSubstr("Too many levels of symbolic links"));
  EXPECT_TRUE(std::filesystem::is_symlink(snapshot()));
  EXPECT_FALSE(std::filesystem::exists(snapshot().string() + ".refused"));
}

}  // namespace
}  // namespace headgate
