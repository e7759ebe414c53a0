#include "tests/testing/in_process_server.h"

#include <grpcpp/generic/generic_stub.h>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/own_channel.h"

namespace headgate {

InProcessServer::InProcessServer(engine::PolicySpec policy, const InProcessOptions& options)
    : clock(options.clock == nullptr ? own_clock_ : *options.clock),
      engine(options.engine),
      lines(options.lines,
            [this](const engine::CheckRequest& request, Now now, engine::CheckAnswer& answer) {
              return engine.Check(request, now, answer);
            }),
      access({.seed = 7, .on_refused = options.on_refused}, clock) {
  engine.AttachLine(&lines);
  rpc::RpcServerOptions rpc_options = options.rpc;
  if (options.overrides == InProcessOptions::kKept) {
    auto opened = overrides::Registry::Open(
        {.path = folder_.File("overrides.db"),
         .put =
             [this](engine::PolicySpec spec) {
               return refusal.ok() ? engine.Install(std::move(spec), clock.Read()) : refusal;
             },
         .max_in_force = options.max_overrides},
        clock);
    EXPECT_TRUE(opened.ok()) << opened.status();
    registry = *std::move(opened);
  }
  const absl::Status installed = registry == nullptr
                                     ? engine.Install(std::move(policy), clock.Read())
                                     : registry->Install(std::move(policy));
  EXPECT_TRUE(installed.ok()) << installed;
  if (options.overrides != InProcessOptions::kNoService) {
    rpc_options.guarded_services.push_back(&override_service_.emplace(registry.get(), access));
    rpc_options.guarded_services.push_back(&cost_service_.emplace(rpc::CostService::Sources{
        .engine = engine, .clock = clock, .registry = registry.get(), .access = access}));
  }
  if (options.written_log != nullptr) {
    log_writer.emplace(recorder, *options.written_log, clock, throttle_log::WriterOptions());
  }
  if (options.log_store != nullptr) {
    rpc_options.guarded_services.push_back(
        &log_service_.emplace(rpc::ThrottleLogSources{.store = *options.log_store,
                                                      .recorder = recorder,
                                                      .writer = log_writer ? &*log_writer : nullptr,
                                                      .clock = clock,
                                                      .in_force = options.in_force,
                                                      .retention = {},
                                                      .seed = 7,
                                                      .access = access}));
  }
  rpc_options.more_async_services.push_back(&agent_service_.emplace(
      rpc::AgentService::Sources{.registry = agents,
                                 .engine = engine,
                                 .clock = clock,
                                 .access = access,
                                 .calls = calls_,
                                 .in_force = [this] { return status.InForce(); }}));
  cluster::Control* control = options.control;
  if (options.join) {
    const PeerParts parts = options.join(*this);
    remote_decider_ = parts.remote_decider;
    fleet_ = parts.fleet;
    approximate_ = parts.approximate;
    if (remote_decider_ != nullptr) agent_service_->Use(*remote_decider_);
    rpc_options.peers = parts.service;
    rpc_options.questions = parts.questions;
    if (fleet_ != nullptr && override_service_.has_value()) {
      override_service_->Tell(*fleet_);
      cost_service_->Tell(*fleet_);
    }
    control = parts.control;
  }
  rpc_options.guarded_services.push_back(&cluster_service_.emplace(rpc::ClusterService::Sources{
      .control = control, .registry = registry.get(), .access = access}));
  auto started = rpc::RpcServer::Start(rpc_options, dependencies());
  EXPECT_TRUE(started.ok()) << started.status();
  server_ = *std::move(started);
  server_->SetServing(true);
  if (options.http) {
    http::HttpServerOptions http_options = options.http_options;
    http_options.address = "127.0.0.1:0";
    gateway_.emplace(server_->api(),
                     gateway::GatewayOptions{.requires_tls = http_options.tls != nullptr,
                                             .pages = options.pages});
    auto listening = http::HttpServer::Start(http_options, clock, *gateway_);
    EXPECT_TRUE(listening.ok()) << listening.status();
    http_ = *std::move(listening);
  }
  channel = Connect();
  throttler = v1::ThrottlerService::NewStub(channel);
  status_service = v1::StatusService::NewStub(channel);
  health = grpc::health::v1::Health::NewStub(channel);
}

rpc::Dependencies InProcessServer::dependencies() {
  return {.engine = engine,
          .clock = clock,
          .status = status,
          .activity = activity,
          .recorder = recorder,
          .access = access,
          .lines = lines,
          .calls = calls_,
          .remote_decider = remote_decider_,
          .fleet = fleet_,
          .approximate = approximate_};
}

void InProcessServer::Stop() {
  if (server_ != nullptr) server_->Shutdown(absl::ZeroDuration());
  http_ = nullptr;
  gateway_.reset();
  server_ = nullptr;
}

std::string InProcessServer::address() const { return absl::StrCat("127.0.0.1:", port()); }

std::shared_ptr<grpc::Channel> InProcessServer::Connect() const { return OwnChannel(port()); }

grpc::Status InProcessServer::TryCheck(const v1::CheckRequest& request, v1::Decision& decision) {
  Context context;
  v1::CheckResponse response;
  grpc::Status result = throttler->Check(&context, request, &response);
  decision = response.decision();
  return result;
}

v1::Decision InProcessServer::Check(const v1::CheckRequest& request) {
  v1::Decision decision;
  const grpc::Status result = TryCheck(request, decision);
  EXPECT_TRUE(result.ok()) << result.error_message();
  return decision;
}

v1::Decision InProcessServer::Check(const std::string& identity, double cost) {
  return Check(CheckOf(identity, cost));
}

v1::Decision InProcessServer::Allowed(const std::string& identity, double cost) {
  v1::Decision decision = Check(identity, cost);
  EXPECT_EQ(decision.verdict(), v1::VERDICT_ALLOWED) << decision.message();
  return decision;
}

v1::Decision InProcessServer::Denied(const std::string& identity, double cost) {
  v1::Decision decision = Check(identity, cost);
  EXPECT_EQ(decision.verdict(), v1::VERDICT_DENIED) << decision.message();
  return decision;
}

v1::BatchCheckResponse InProcessServer::Batch(const v1::BatchCheckRequest& request) {
  Context context;
  v1::BatchCheckResponse response;
  const grpc::Status result = throttler->BatchCheck(&context, request, &response);
  EXPECT_TRUE(result.ok()) << result.error_message();
  return response;
}

v1::ReportResponse InProcessServer::Report(const v1::ReportRequest& request) {
  Context context;
  v1::ReportResponse response;
  const grpc::Status result = throttler->Report(&context, request, &response);
  EXPECT_TRUE(result.ok()) << result.error_message();
  return response;
}

v1::ReportResult InProcessServer::Report(uint64_t permit, double cost) {
  v1::ReportRequest request;
  request.add_reports()->set_permit_id(permit);
  request.mutable_reports(0)->set_actual_cost(cost);
  return Report(request).results(0);
}

grpc::Status InProcessServer::Send(const std::string& method, const std::string& bytes,
                                   std::string* answer) {
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
  if (answer == nullptr || !result.ok()) return result;
  grpc::Slice whole;
  if (!response.DumpToSingleSlice(&whole).ok()) {
    return {grpc::StatusCode::INTERNAL, "an answer that cannot be read"};
  }
  answer->assign(whole.begin(), whole.end());
  return result;
}

double InProcessServer::Debt(std::string_view identity) {
  const auto explained = engine.Explain({.identity = identity}, clock.Read());
  EXPECT_TRUE(explained.ok()) << explained.status();
  return explained.ok() ? explained->buckets.at(0).debt : -1;
}

}  // namespace headgate
