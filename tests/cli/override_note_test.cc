// Overrides of names that nobody asks by: they are made, and it is said.

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <headgate/v1/override_service.grpc.pb.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/log_server.h"
#include "tests/cli/subprocess.h"

namespace headgate::cli {
namespace {

// Makes any override.
class FakeOverrides final : public v1::OverrideService::Service {
 public:
  grpc::Status CreateOverride(grpc::ServerContext*, const v1::CreateOverrideRequest* request,
                              v1::CreateOverrideResponse* response) override {
    v1::Override& made = *response->mutable_override();
    made.set_id(1);
    made.set_kind(request->kind());
    *made.mutable_selector() = request->selector();
    Set(Today(7, 0), made.mutable_created_at());
    return grpc::Status();
  }
};

class OverrideNote : public ::testing::Test {
 protected:
  OverrideNote() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&log_);
    builder.RegisterService(&overrides_);
    server_ = builder.BuildAndStart();
  }

  Finished Pause(std::vector<std::string> whom) {
    std::vector<std::string> words = {"pause", "--for", "never", "--reason", "r", "--address"};
    words.push_back(absl::StrCat("127.0.0.1:", port_));
    words.insert(words.end(), whom.begin(), whom.end());
    return RunHeadgate(words);
  }

  FakeLog log_;
  FakeOverrides overrides_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;  // last: it uses all of the above
};

TEST_F(OverrideNote, IsThereWhereTheLogHasNoCheckBySuchANameOfLate) {
  const Finished paused = Pause({"backfil", "--target", "main"});
  EXPECT_EQ(paused.status, 0);
  EXPECT_EQ(paused.out, "override 1: paused backfil on main until it is deleted\n");
  EXPECT_EQ(paused.err,
            "headgate: note: the throttle log has no Check by backfil on main in the last 24h; is "
            "the name right?\n");
  ASSERT_EQ(log_.queries().size(), 1U);
  const v1::LogFilter filter = log_.queries()[0].filter();
  EXPECT_EQ(filter.identity(), "backfil");
  EXPECT_EQ(filter.target(), "main");
  EXPECT_EQ(filter.from().seconds(), absl::ToUnixSeconds(Today(7, 0) - absl::Hours(24)));
}

TEST_F(OverrideNote, IsNotThereWhereSomebodyAsks) {
  log_.total.set_denied(1);
  const Finished paused = Pause({"--segment", "backfill"});
  EXPECT_EQ(paused.status, 0);
  EXPECT_EQ(paused.err, "");
  ASSERT_EQ(log_.queries().size(), 1U);
  EXPECT_EQ(log_.queries()[0].filter().segment(), "backfill");
}

TEST_F(OverrideNote, IsNotThereWhereTheLogCannotBeAsked) {
  log_.query_status = grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "no logs for you");
  const Finished paused = Pause({"backfil"});
  EXPECT_EQ(paused.status, 0);
  EXPECT_EQ(paused.err, "");
}

}  // namespace
}  // namespace headgate::cli
