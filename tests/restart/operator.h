// What somebody asks of the server as it is now, or tells it: each by one call, which must succeed.
#pragma once

#include <grpcpp/grpcpp.h>
#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "tests/restart/caller.h"
#include "tests/testing/override_requests.h"

namespace headgate {

class Operator {
 public:
  explicit Operator(const std::string& address)
      : channel_(ChannelTo(address)),
        throttler_(v1::ThrottlerService::NewStub(channel_)),
        status_(v1::StatusService::NewStub(channel_)),
        overrides_(v1::OverrideService::NewStub(channel_)),
        throttle_log_(v1::ThrottleLogService::NewStub(channel_)) {}

  uint64_t Take(double cost) const {
    v1::CheckRequest request;
    request.set_identity("chunk:chunks");
    request.set_estimated_cost(cost);
    v1::CheckResponse response;
    Expect([&](auto* context) { return throttler_->Check(context, request, &response); });
    EXPECT_EQ(response.decision().verdict(), v1::VERDICT_ALLOWED);
    return response.decision().permit_id();
  }
  v1::ReportOutcome Report(uint64_t permit, double actual) const {
    v1::ReportRequest request;
    request.add_reports()->set_permit_id(permit);
    request.mutable_reports(0)->set_actual_cost(actual);
    v1::ReportResponse response;
    Expect([&](auto* context) { return throttler_->Report(context, request, &response); });
    EXPECT_EQ(response.results_size(), 1);
    EXPECT_FALSE(response.results(0).has_error()) << response.DebugString();
    return response.results(0).outcome();
  }
  double Owed(const std::string& budget) const {
    v1::ListBudgetsResponse response;
    Expect([&](auto* context) { return status_->ListBudgets(context, {}, &response); });
    for (const v1::BudgetStatus& one : response.budgets()) {
      if (one.budget() == budget) return one.debt();
    }
    ADD_FAILURE() << "no budget " << budget;
    return 0;
  }
  v1::SnapshotStatus Snapshot() const {
    v1::GetStatusResponse response;
    Expect([&](auto* context) { return status_->GetStatus(context, {}, &response); });
    return response.snapshot();
  }
  int64_t Pause(const std::string& identity) const {
    const v1::CreateOverrideRequest request = PauseForGood(identity);
    v1::CreateOverrideResponse response;
    Expect([&](auto* context) { return overrides_->CreateOverride(context, request, &response); });
    return response.override().id();
  }
  // Checks of the last hour.
  int64_t Logged() const {
    v1::QueryThrottleLogResponse response;
    Expect([&](auto* context) { return throttle_log_->QueryThrottleLog(context, {}, &response); });
    int64_t checks = 0;
    for (const v1::LogSum& sum : response.sums()) {
      checks += sum.allowed() + sum.would_be_denied() + sum.denied();
    }
    return checks;
  }
  std::set<int64_t> InForce() const {
    v1::ListOverridesRequest request;
    request.set_page_size(1000);
    v1::ListOverridesResponse response;
    Expect([&](auto* context) { return overrides_->ListOverrides(context, request, &response); });
    std::set<int64_t> ids;
    for (const v1::Override& one : response.overrides()) ids.insert(one.id());
    return ids;
  }

 private:
  template <typename Call>
  static void Expect(const Call& call) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    const grpc::Status status = call(&context);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::ThrottlerService::Stub> throttler_;
  const std::unique_ptr<v1::StatusService::Stub> status_;
  const std::unique_ptr<v1::OverrideService::Stub> overrides_;
  const std::unique_ptr<v1::ThrottleLogService::Stub> throttle_log_;
};

}  // namespace headgate
