#include "tests/testing/running_headgated.h"

#include <cstdlib>
#include <utility>

#include "gtest/gtest.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/wait_until.h"

namespace headgate {

RunningHeadgated::RunningHeadgated(HeadgatedOptions options)
    : HeadgatedProcess(std::move(options)) {
  Restart();
  channel_ = grpc::CreateChannel(address(), grpc::InsecureChannelCredentials());
}

RunningHeadgated::~RunningHeadgated() {
  if (!HasEnded()) Terminate();
}

void RunningHeadgated::Terminate() {
  const absl::Status stopped = Stop();
  EXPECT_TRUE(stopped.ok()) << stopped;
}

void RunningHeadgated::Restart() {
  const absl::Status started = Start();
  EXPECT_TRUE(started.ok()) << started;
  if (!started.ok()) std::abort();
}

v1::Decision RunningHeadgated::Check(const std::string& identity, double cost,
                                     const std::string& target) const {
  v1::CheckRequest request = CheckOf(identity, cost);
  request.set_target(target);
  const v1::CheckResponse response =
      AnswerOf(channel_, &v1::ThrottlerService::Stub::Check, request);
  return response.decision();
}

v1::GetStatusResponse RunningHeadgated::Status() const {
  return AnswerOf(channel_, &v1::StatusService::Stub::GetStatus);
}

bool RunningHeadgated::AwaitHealth(v1::HealthState state, const std::string& identity) const {
  const bool came = WaitUntil([&] { return Check(identity).health().state() == state; });
  EXPECT_TRUE(came) << Status().DebugString();
  return came;
}

bool RunningHeadgated::AwaitStatus(
    const std::function<bool(const v1::GetStatusResponse&)>& condition) const {
  const bool came = WaitUntil([&] { return condition(Status()); });
  EXPECT_TRUE(came) << Status().DebugString();
  return came;
}

bool RunningHeadgated::AwaitLog(const std::string& text, size_t from) const {
  const bool came = WaitUntil([&] { return Log().find(text, from) != std::string::npos; });
  EXPECT_TRUE(came) << text << " is not in the log:\n" << Log();
  return came;
}

}  // namespace headgate
