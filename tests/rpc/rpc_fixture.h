// What the tests of the gRPC server share: a real server on a free port, over a real engine and a
// clock that is moved by hand, and what a caller needs to talk to it.
//
//   TestServer server(engine::OneBudget(engine::RateBudget("b", 10, 100)));
//   v1::Decision decision = server.Allowed("job:etl", 5);

#pragma once

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpc/health/v1/health.grpc.pb.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "common/mutex.h"
#include "gtest/gtest.h"
#include "server/rpc/rpc_server.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/quiet_dependencies.h"

namespace headgate::rpc {

class FakeStatus final : public StatusSource {
 public:
  absl::Time StartedAt() const override { return started_at; }
  config::LoadStatus Config() const override { return config; }
  std::vector<health::TargetSnapshot> Targets() const override { return targets; }
  throttle_log::ThrottleLogSnapshot ThrottleLog() const override { return throttle_log; }
  overrides::OverridesSnapshot Overrides() const override { return overrides; }

  absl::Time started_at = absl::FromUnixSeconds(1'767'000'000);
  config::LoadStatus config;
  std::vector<health::TargetSnapshot> targets;
  throttle_log::ThrottleLogSnapshot throttle_log;
  overrides::OverridesSnapshot overrides;
};

class RecordedDemand final : public CheckListener {
 public:
  void OnCheck(std::string_view target) override {
    MutexLock lock(&mutex_);
    targets_.emplace_back(target);
  }
  std::vector<std::string> Take() {
    MutexLock lock(&mutex_);
    return std::exchange(targets_, {});
  }

 private:
  Mutex mutex_;
  std::vector<std::string> targets_ ABSL_GUARDED_BY(mutex_);
};

// What an RPC error says besides its code and message.
struct ErrorDetails {
  std::string reason;
  std::string domain;
  std::vector<std::string> fields;
  std::string description;  // of the last field
  bool retry = false;
};

inline ErrorDetails DetailsOf(const grpc::Status& status) {
  ErrorDetails details;
  google::rpc::Status decoded;
  EXPECT_TRUE(decoded.ParseFromString(status.error_details()));
  EXPECT_EQ(decoded.code(), static_cast<int>(status.error_code()));
  EXPECT_EQ(decoded.message(), status.error_message());
  for (const google::protobuf::Any& any : decoded.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    if (any.UnpackTo(&info)) {
      details.reason = info.reason();
      details.domain = info.domain();
    }
    if (any.UnpackTo(&bad)) {
      for (const auto& violation : bad.field_violations()) {
        details.fields.push_back(violation.field());
        details.description = violation.description();
      }
    }
    details.retry |= any.Is<google::rpc::RetryInfo>();
  }
  return details;
}

// One call's context: no test waits for ever.
struct Context : grpc::ClientContext {
  Context() { set_deadline(gpr_time_from_seconds(60, GPR_TIMESPAN)); }
};

inline v1::CheckRequest CheckOf(const std::string& identity, double cost) {
  v1::CheckRequest request;
  request.set_identity(identity);
  request.set_estimated_cost(cost);
  return request;
}

class TestServer {
 public:
  static RpcServerOptions Options() {
    RpcServerOptions options;
    options.address = "127.0.0.1:0";
    options.version = "1.2.3";
    return options;
  }
  static engine::EngineOptions EngineOptions() {
    engine::EngineOptions options;
    options.seed = 7;
    options.max_permits = 1024;
    return options;
  }

  // Null: everybody may do everything.
  explicit TestServer(engine::PolicySpec spec, const RpcServerOptions& options = Options(),
                      access::AccessControl* access = nullptr)
      : engine(EngineOptions()) {
    const absl::Status installed = engine.Install(std::move(spec), clock.Read());
    EXPECT_TRUE(installed.ok()) << installed;
    auto started = RpcServer::Start(options, {.engine = engine,
                                              .clock = clock,
                                              .status = status,
                                              .activity = demand,
                                              .recorder = quiet.recorder,
                                              .access = access == nullptr ? quiet.access : *access,
                                              .calls = quiet.calls});
    EXPECT_TRUE(started.ok()) << started.status();
    server = *std::move(started);
    server->SetServing(true);
    channel = Connect();
    throttler = v1::ThrottlerService::NewStub(channel);
    status_service = v1::StatusService::NewStub(channel);
    health = grpc::health::v1::Health::NewStub(channel);
  }

  // A connection of its own.
  std::shared_ptr<grpc::Channel> Connect() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server->port()),
                                     grpc::InsecureChannelCredentials(), arguments);
  }

  grpc::Status TryCheck(const v1::CheckRequest& request, v1::Decision& decision) {
    Context context;
    v1::CheckResponse response;
    grpc::Status result = throttler->Check(&context, request, &response);
    decision = response.decision();
    return result;
  }
  v1::Decision Check(const v1::CheckRequest& request) {
    v1::Decision decision;
    const grpc::Status result = TryCheck(request, decision);
    EXPECT_TRUE(result.ok()) << result.error_message();
    return decision;
  }
  v1::Decision Check(const std::string& identity, double cost) {
    return Check(CheckOf(identity, cost));
  }
  v1::Decision Allowed(const std::string& identity, double cost) {
    v1::Decision decision = Check(identity, cost);
    EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED) << decision.message();
    return decision;
  }
  v1::Decision Denied(const std::string& identity, double cost) {
    v1::Decision decision = Check(identity, cost);
    EXPECT_EQ(decision.verdict(), v1::VERDICT_DENIED) << decision.message();
    return decision;
  }

  v1::BatchCheckResponse Batch(const v1::BatchCheckRequest& request) {
    Context context;
    v1::BatchCheckResponse response;
    const grpc::Status result = throttler->BatchCheck(&context, request, &response);
    EXPECT_TRUE(result.ok()) << result.error_message();
    return response;
  }

  v1::ReportResponse Report(const v1::ReportRequest& request) {
    Context context;
    v1::ReportResponse response;
    const grpc::Status result = throttler->Report(&context, request, &response);
    EXPECT_TRUE(result.ok()) << result.error_message();
    return response;
  }
  v1::ReportResult Report(uint64_t permit, double cost) {
    v1::ReportRequest request;
    request.add_reports()->set_permit_id(permit);
    request.mutable_reports(0)->set_actual_cost(cost);
    return Report(request).results(0);
  }

  // Bytes to a method and back, whatever they are.
  grpc::Status Send(const std::string& method, const std::string& bytes,
                    std::string* answer = nullptr) {
    grpc::GenericStub stub(channel);
    grpc::CompletionQueue queue;
    Context context;
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
    call->StartCall();
    grpc::ByteBuffer response;
    grpc::Status result;
    call->Finish(&response, &result, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    std::vector<grpc::Slice> slices;
    if (answer != nullptr && result.ok() && response.Dump(&slices).ok()) {
      for (const grpc::Slice& part : slices) answer->append(part.begin(), part.end());
    }
    return result;
  }

  FakeClock clock;
  engine::Engine engine;
  FakeStatus status;
  RecordedDemand demand;
  QuietDependencies quiet{engine, clock};
  std::unique_ptr<RpcServer> server;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::ThrottlerService::Stub> throttler;
  std::unique_ptr<v1::StatusService::Stub> status_service;
  std::unique_ptr<grpc::health::v1::Health::Stub> health;
};

}  // namespace headgate::rpc
