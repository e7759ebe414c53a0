// A whole server in this process, over real sockets, with a configuration file that a test
// rewrites.
//
//   RunningServer server(R"(budgets: ...)");
//   EXPECT_EQ(server.Check("job:etl").verdict(), v1::VERDICT_ALLOWED);
//   server.Rewrite(R"(...)");
//
// Thread-compatible, but Check and Status may be called by any thread.

#ifndef HEADGATE_TESTS_INTEGRATION_RUNNING_SERVER_H_
#define HEADGATE_TESTS_INTEGRATION_RUNNING_SERVER_H_

#include <grpcpp/grpcpp.h>
#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "common/system_clock.h"
#include "server/app/server.h"
#include "tests/testing/temp_folder.h"

namespace headgate {

class RunningServer {
 public:
  // Fails the test if it does not start. It keeps its state in `state_dir`; empty: in a folder of
  // its own.
  explicit RunningServer(const std::string& yaml, std::filesystem::path state_dir = {});
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  const std::filesystem::path& folder() const { return folder_.path(); }
  std::string config_path() const { return folder_.File("headgate.yaml"); }
  const std::filesystem::path& state_dir() const { return state_dir_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // Another file under its name, as an editor saves it.
  void Rewrite(const std::string& yaml);

  v1::Decision Check(const std::string& identity, double cost = 1);
  v1::GetStatusResponse Status();
  // The decision's health state, once it is this or the time is up.
  bool AwaitHealth(v1::HealthState state, const std::string& identity = "job");
  // Whether `condition` held for a status in time.
  bool AwaitStatus(const std::function<bool(const v1::GetStatusResponse&)>& condition);

 private:
  const TempFolder folder_;
  const std::filesystem::path state_dir_;
  SystemClock clock_;
  std::unique_ptr<app::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ThrottlerService::Stub> throttler_;
  std::unique_ptr<v1::StatusService::Stub> status_;
};

}  // namespace headgate

#endif  // HEADGATE_TESTS_INTEGRATION_RUNNING_SERVER_H_
