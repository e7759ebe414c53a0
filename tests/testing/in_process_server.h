// A whole gRPC server in this process: on a free port, over a real engine, a clock that is moved by
// hand and a status that is set, with overrides and a throttle log where they are asked for. What
// it consists of is public, for tests to look at and to change; until they do, access control lets
// everybody do everything.
//
//   InProcessServer server(engine::OneBudget(engine::RateBudget("b", 10, 100)));
//   v1::Decision decision = server.Allowed("job:etl", 5);

#pragma once

#include <grpc/health/v1/health.grpc.pb.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <headgate/v1/cost_service.grpc.pb.h>
#include <headgate/v1/override_service.grpc.pb.h>
#include <headgate/v1/status_service.grpc.pb.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/fake_clock.h"
#include "common/mutex.h"
#include "server/observe/agents/agent_registry.h"
#include "server/remember/overrides/registry.h"
#include "server/remember/throttle_log/writer.h"
#include "server/serve/gateway/gateway.h"
#include "server/serve/http/http_server.h"
#include "server/serve/rpc/agent_service.h"
#include "server/serve/rpc/cluster_service.h"
#include "server/serve/rpc/cost_service.h"
#include "server/serve/rpc/override_service.h"
#include "server/serve/rpc/rpc_server.h"
#include "server/serve/rpc/throttle_log_service.h"
#include "tests/testing/engine_fixture.h"
#include "tests/testing/fake_status.h"
#include "tests/testing/rpc_call.h"
#include "tests/testing/temp_folder.h"

namespace headgate {

// The targets of Checks and batches, as they come.
class RecordedActivity final : public rpc::CheckListener {
 public:
  void OnCheck(std::string_view target) override {
    MutexLock lock(&mutex_);
    targets_.emplace_back(target);
  }
  size_t size() const {
    MutexLock lock(&mutex_);
    return targets_.size();
  }
  std::vector<std::string> Take() {
    MutexLock lock(&mutex_);
    return std::exchange(targets_, {});
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> targets_ ABSL_GUARDED_BY(mutex_);
};

class InProcessServer;

// What makes a server one of several: see server/serve/peers.
struct PeerParts {
  rpc::RemoteDecider* remote_decider = nullptr;
  rpc::ApiService* service = nullptr;
  rpc::Fleet* fleet = nullptr;
  approximate::ApproximateLimits* approximate = nullptr;
  rpc::PeerQuestions* questions = nullptr;
  cluster::Control* control = nullptr;
};

struct InProcessOptions {
  rpc::RpcServerOptions rpc = {.address = "127.0.0.1:0", .version = "1.2.3"};
  engine::EngineOptions engine = engine::TestEngine::Options();
  enum { kNoService, kKept, kWithoutStateFolder } overrides = kNoService;
  size_t max_overrides = 10'000;
  const throttle_log::Store* log_store = nullptr;  // null: no service
  // The same store, for counts to be written to whenever the log is read; null: they are not.
  throttle_log::Store* written_log = nullptr;
  // That a replay is compared with; null: none.
  std::function<std::shared_ptr<const config::Config>()> in_force = nullptr;
  std::function<void(const access::ToldRefusal&)> on_refused = {};
  FakeClock* clock = nullptr;  // null: one of its own
  bool http = false;           // whether the API is there over HTTP too
  // Its options but the address; a port with TLS takes calls over nothing else.
  http::HttpServerOptions http_options = {};
  gateway::PageRules pages = {};
  line::LineOptions lines = {};
  // What it knows of several servers; null: it is alone.
  cluster::Control* control = nullptr;
  // Called when all but the server is there; what it returns outlives the server. Null: it is
  // alone.
  std::function<PeerParts(InProcessServer&)> join = nullptr;
};

class InProcessServer {
 public:
  static rpc::RpcServerOptions Rpc() { return InProcessOptions().rpc; }

  explicit InProcessServer(engine::PolicySpec policy, const InProcessOptions& options = {});

  rpc::RpcServer* operator->() const { return server_.get(); }
  rpc::Dependencies dependencies();
  // Whoever waits is told so, over HTTP too.
  void Stop();
  line::LineStats line_stats() { return lines.ReadStats(clock.Read()); }
  // Moves the clock, and lets those who wait see it.
  void Advance(absl::Duration span) {
    clock.Advance(span);
    lines.Changed();
  }
  int port() const { return server_->port(); }
  std::string address() const;
  int http_port() const { return http_->port(); }
  http::HttpConnectionCounts http_connections() const { return http_->connections(); }
  // A connection of its own, in plaintext.
  std::shared_ptr<grpc::Channel> Connect() const;

  grpc::Status TryCheck(const v1::CheckRequest& request, v1::Decision& decision);
  v1::Decision Check(const v1::CheckRequest& request);
  v1::Decision Check(const std::string& identity, double cost);
  v1::Decision Allowed(const std::string& identity, double cost);
  v1::Decision Denied(const std::string& identity, double cost);
  v1::BatchCheckResponse Batch(const v1::BatchCheckRequest& request);
  v1::ReportResponse Report(const v1::ReportRequest& request);
  v1::ReportResult Report(uint64_t permit, double cost);
  // Bytes to a method and back, whatever they are.
  grpc::Status Send(const std::string& method, const std::string& bytes,
                    std::string* answer = nullptr);

  // What the one bucket of a Check by this identity owes.
  double Debt(std::string_view identity);
  size_t permits() { return engine.ReadStats(clock.Read()).permits_live; }

 private:
  FakeClock own_clock_;

 public:
  FakeClock& clock;
  engine::Engine engine;
  line::WaitingLines lines;  // a server that stops closes them for good
  FakeStatus status;
  RecordedActivity activity;
  agents::AgentRegistry agents;
  throttle_log::Recorder recorder{{.seed = 7}};
  std::optional<throttle_log::Writer> log_writer;  // has no threads
  access::AccessControl access;
  absl::Status refusal;                           // the engine's, of what overrides change
  std::unique_ptr<overrides::Registry> registry;  // null: overrides are not kept

 private:
  TempFolder folder_;
  transport::CallListener call_listener_;
  transport::Calls calls_{clock, 7, call_listener_};
  std::optional<rpc::OverrideService> override_service_;
  std::optional<rpc::CostService> cost_service_;
  std::optional<rpc::ThrottleLogService> log_service_;
  std::optional<rpc::ClusterService> cluster_service_;
  std::optional<rpc::AgentService> agent_service_;
  std::unique_ptr<rpc::RpcServer> server_;
  rpc::RemoteDecider* remote_decider_ = nullptr;  // null: the server is alone
  rpc::Fleet* fleet_ = nullptr;                   // likewise
  approximate::ApproximateLimits* approximate_ = nullptr;
  std::optional<gateway::Gateway> gateway_;
  std::unique_ptr<http::HttpServer> http_;  // null: the API is there over gRPC alone

 public:
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::ThrottlerService::Stub> throttler;
  std::unique_ptr<v1::StatusService::Stub> status_service;
  std::unique_ptr<grpc::health::v1::Health::Stub> health;
};

}  // namespace headgate
