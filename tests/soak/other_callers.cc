#include "tests/soak/other_callers.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace headgate::soak {
namespace {

using grpc::StatusCode;

v1::CheckRequest CheckOf(const std::string& identity) {
  v1::CheckRequest check;
  check.set_identity(identity);
  check.set_target("plain");
  check.set_estimated_cost(1);
  return check;
}

}  // namespace

OtherCallers::OtherCallers(SoakState& state)
    : state_(state),
      channel_(state.Connect()),
      throttler_(v1::ThrottlerService::NewStub(channel_)),
      status_(v1::StatusService::NewStub(channel_)),
      log_(v1::ThrottleLogService::NewStub(channel_)),
      overrides_(v1::OverrideService::NewStub(channel_)) {}

OtherCallers::~OtherCallers() {
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

void OtherCallers::LookOnce() {
  {
    Context context;
    v1::GetStatusResponse response;
    state_.calls.Expect("status", status_->GetStatus(&context, {}, &response));
  }
  {
    Context context;
    v1::ListBudgetsResponse response;
    state_.calls.Expect("budgets", status_->ListBudgets(&context, {}, &response));
  }
  {
    Context context;
    v1::ListBucketsResponse response;
    state_.calls.Expect("buckets", status_->ListBuckets(&context, {}, &response));
  }
  Context context;
  v1::ExplainRequest request;
  v1::ExplainResponse response;
  *request.mutable_check() = CheckOf(absl::StrCat("asked-", ++acts_, ":job-1-7:etl"));
  state_.calls.Expect("explain", throttler_->Explain(&context, request, &response));
}

void OtherCallers::ReadLogOnce() {
  v1::QueryThrottleLogRequest query;
  query.mutable_filter()->set_identity("etl");
  query.add_group_by(v1::LOG_GROUP_IDENTITY);
  query.add_group_by(v1::LOG_GROUP_OUTCOME);
  query.set_page_size(200);
  for (int page = 0; page < 5; ++page) {
    Context context;
    v1::QueryThrottleLogResponse response;
    // A full disk is said so.
    if (!state_.calls.Expect("log sums", log_->QueryThrottleLog(&context, query, &response),
                             {StatusCode::UNAVAILABLE}) ||
        response.next_page_token().empty()) {
      break;
    }
    query.set_page_token(response.next_page_token());
  }
  {
    Context context;
    v1::ListThrottledIntervalsRequest request;
    v1::ListThrottledIntervalsResponse response;
    request.set_level(1);
    state_.calls.Expect("log intervals", log_->ListThrottledIntervals(&context, request, &response),
                        {StatusCode::UNAVAILABLE});
  }
  Context context;
  v1::ListDenialsResponse response;
  state_.calls.Expect("log denials", log_->ListDenials(&context, {}, &response));
}

void OtherCallers::OverrideOnce() {
  v1::CreateOverrideRequest create;
  create.set_kind(++acts_ % 2 == 0 ? v1::OVERRIDE_KIND_PAUSE : v1::OVERRIDE_KIND_THROTTLE);
  if (create.kind() == v1::OVERRIDE_KIND_THROTTLE) create.set_ratio(0.5);
  create.mutable_selector()->set_identity(absl::StrCat("job-1-", acts_ % 300, ":etl"));
  create.set_actor("soak");
  create.set_reason("a test");
  create.mutable_expires_in()->set_seconds(2);
  v1::CreateOverrideResponse created;
  {
    Context context;
    // On a full disk nothing is acknowledged.
    const grpc::Status status = overrides_->CreateOverride(&context, create, &created);
    if (!state_.calls.Expect("override made", status,
                             {StatusCode::UNAVAILABLE, StatusCode::RESOURCE_EXHAUSTED})) {
      return;
    }
  }
  {
    Context context;
    v1::ListOverridesResponse response;
    state_.calls.Expect("overrides", overrides_->ListOverrides(&context, {}, &response));
  }
  if (acts_ % 3 != 0) {  // the others expire
    Context context;
    v1::DeleteOverrideRequest request;
    v1::DeleteOverrideResponse response;
    request.set_id(created.override().id());
    request.set_actor("soak");
    request.set_reason("enough");
    state_.calls.Expect(
        "override ended", overrides_->DeleteOverride(&context, request, &response),
        {StatusCode::NOT_FOUND, StatusCode::UNAVAILABLE, StatusCode::RESOURCE_EXHAUSTED});
  }
  Context context;
  v1::ListOverrideEventsRequest request;
  v1::ListOverrideEventsResponse response;
  request.set_page_size(20);
  state_.calls.Expect("override events",
                      overrides_->ListOverrideEvents(&context, request, &response),
                      {StatusCode::UNAVAILABLE});
}

void OtherCallers::WatchOnce() {
  const auto health = grpc::health::v1::Health::NewStub(state_.Connect());
  Context context;
  context.set_wait_for_ready(true);  // what the machine refuses once is tried again
  const auto watch = health->Watch(&context, {});
  grpc::health::v1::HealthCheckResponse response;
  if (watch->Read(&response)) {
    state_.calls.Require(response.status() == grpc::health::v1::HealthCheckResponse::SERVING,
                         "a server that serves says that it does not");
  }
  context.TryCancel();
  state_.calls.Expect("health watch", watch->Finish(), {StatusCode::CANCELLED});
}

void OtherCallers::ErrOnce() {
  const auto refused = [&](const v1::CheckRequest& check, StatusCode code) {
    Context context;
    v1::CheckResponse response;
    const grpc::Status status = throttler_->Check(&context, check, &response);
    state_.calls.Expect("bad request", status, {code});
    state_.calls.Require(!status.ok(), "a bad request was answered");
  };
  refused(CheckOf(std::string(600, 'x')), StatusCode::INVALID_ARGUMENT);
  refused(CheckOf("a::b"), StatusCode::INVALID_ARGUMENT);
  v1::CheckRequest elsewhere = CheckOf("a:etl");
  elsewhere.set_target(absl::StrCat("nowhere-", ++acts_));
  refused(elsewhere, StatusCode::NOT_FOUND);
  v1::BatchCheckRequest batch;
  for (int i = 0; i <= 1000; ++i) batch.add_checks()->set_identity("a");
  Context context;
  v1::BatchCheckResponse response;
  state_.calls.Expect("bad request", throttler_->BatchCheck(&context, batch, &response),
                      {StatusCode::INVALID_ARGUMENT});
}

void OtherCallers::VisitOnce() {
  const std::shared_ptr<grpc::Channel> channel = state_.Connect();
  const auto stub = v1::ThrottlerService::NewStub(channel);
  Context context;
  context.set_wait_for_ready(true);
  v1::CheckResponse response;
  const v1::CheckRequest check = CheckOf(absl::StrCat("visit-", ++acts_, ":other"));
  if (acts_ % 2 == 0) {
    const grpc::Status status = stub->Check(&context, check, &response);
    state_.calls.Expect("new connection", status, {StatusCode::RESOURCE_EXHAUSTED});
    return;
  }
  // gRPC keeps a connection for good if its channel goes while it is being made.
  channel->WaitForConnected(gpr_time_from_seconds(30, GPR_TIMESPAN));
  const auto call = stub->AsyncCheck(&context, check, &queue_);
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  poll(nullptr, 0, static_cast<int>(acts_ % 4));  // in each stage of the call
  context.TryCancel();
  void* tag = nullptr;
  bool ok = false;
  queue_.Next(&tag, &ok);
  state_.calls.Expect("vanished caller", status,
                      {StatusCode::CANCELLED, StatusCode::RESOURCE_EXHAUSTED});
}

}  // namespace headgate::soak
