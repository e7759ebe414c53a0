// RunningHeadgated: headgated as a process of its own that serves as soon as this is constructed,
// and the calls that tests make most.
//
// It fails the test if it does not start, or does not end well at the end. Thread-compatible, but
// the calls may be made by any thread.
//
//   RunningHeadgated server({.yaml = "budgets: ..."});
//   EXPECT_EQ(server.Check("job:etl").verdict(), v1::VERDICT_ALLOWED);
//   server.Rewrite("budgets: ...");
#pragma once

#include <grpcpp/grpcpp.h>
#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <functional>
#include <memory>
#include <string>

#include "tests/testing/headgated_process.h"

namespace headgate {

class RunningHeadgated : public HeadgatedProcess {
 public:
  explicit RunningHeadgated(HeadgatedOptions options = {});
  ~RunningHeadgated();
  RunningHeadgated(const RunningHeadgated&) = delete;
  RunningHeadgated& operator=(const RunningHeadgated&) = delete;

  // SIGTERM: it has to end well.
  void Terminate();
  // After that, or a kill.
  void Restart();

  // In plaintext, over every restart.
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  v1::Decision Check(const std::string& identity, double cost = 1,
                     const std::string& target = "") const;
  v1::GetStatusResponse Status() const;
  // Whether the decision's health came to this state in time.
  bool AwaitHealth(v1::HealthState state, const std::string& identity = "job") const;
  // Whether `condition` held for a status in time.
  bool AwaitStatus(const std::function<bool(const v1::GetStatusResponse&)>& condition) const;
  // Whether this stood in the log in time, after its first `from` bytes: lines are written when
  // there is time.
  bool AwaitLog(const std::string& text, size_t from = 0) const;

 private:
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace headgate
