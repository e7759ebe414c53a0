// Everybody but the jobs: operators with status, log and overrides, load balancers that watch
// health, callers with bad requests, callers that come and go, and those that vanish.
//
// Each function acts once; call them again and again, each object from one thread.

#pragma once

#include <grpc/health/v1/health.grpc.pb.h>
#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <cstdint>
#include <memory>

#include "tests/soak/soak_state.h"

namespace headgate::soak {

class OtherCallers {
 public:
  explicit OtherCallers(SoakState& state);
  ~OtherCallers();
  OtherCallers(const OtherCallers&) = delete;
  OtherCallers& operator=(const OtherCallers&) = delete;

  void LookOnce();      // status, budgets, buckets, explain
  void ReadLogOnce();   // sums by page, intervals, denials
  void OverrideOnce();  // made, listed, deleted or left to expire, history
  void WatchOnce();     // a health watch, opened and left
  void ErrOnce();       // requests that are wrong
  void VisitOnce();     // a connection for one Check, which may not wait for its answer

 private:
  SoakState& state_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::ThrottlerService::Stub> throttler_;
  const std::unique_ptr<v1::StatusService::Stub> status_;
  const std::unique_ptr<v1::ThrottleLogService::Stub> log_;
  const std::unique_ptr<v1::OverrideService::Stub> overrides_;
  grpc::CompletionQueue queue_;  // of the calls that are not waited for
  uint64_t acts_ = 0;
};

}  // namespace headgate::soak
