#include "server/rpc/rpc_server.h"

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/config/config.h"
#include "server/rpc/health_service.h"
#include "server/rpc/reflection.h"
#include "server/rpc/serving_loop.h"
#include "server/rpc/status_service.h"
#include "server/rpc/throttler_service.h"

namespace headgate::rpc {
namespace {

// Threads of gRPC's for whatever is not decided on the loops, besides one for each health watch.
constexpr int kOtherThreads = 32;
// Calls at once on one connection, besides streams: the next ones wait on the caller's side.
constexpr int kMostCallsOnConnection = 1024;
constexpr int kKeepaliveMs = 60'000;         // a caller that says nothing is asked so often
constexpr int kKeepaliveTimeoutMs = 20'000;  // and is gone if it takes so long to answer
constexpr int kLeastPingMs = 10'000;         // callers may ask this often

template <typename Number>
absl::Status InRange(const char* name, Number value, Number least, Number most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": must be ", least, " to ", most, "; it is ", value));
}

absl::Status Validate(const RpcServerOptions& options) {
  absl::Status status;
  status.Update(InRange("threads", options.threads, 1, config::kMostThreads));
  status.Update(InRange<int64_t>("max_message_bytes", options.max_message_bytes, 1024, 1 << 30));
  status.Update(InRange("max_streams", options.max_streams, 0, 1 << 20));
  status.Update(InRange("max_health_watches", options.max_health_watches, 0, 1024));
  return status;
}

void SetLimits(const RpcServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  // One queue and mostly one thread for what runs on gRPC's threads.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  builder.SetResourceQuota(
      grpc::ResourceQuota("headgate").SetMaxThreads(options.max_health_watches + kOtherThreads));
  // Two servers on one port would each have the whole budget to give away.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             kMostCallsOnConnection + options.max_streams);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingMs);
}

}  // namespace

RpcServer::RpcServer(const RpcServerOptions& options, engine::Engine& engine, Clock& clock,
                     StatusSource& status, DemandListener* demand)
    : throttler_(std::make_unique<ThrottlerService>(engine, clock, demand, options.recorder,
                                                    options.max_streams)),
      status_(std::make_unique<StatusService>(options.version, engine, clock, status)),
      health_(std::make_unique<HealthService>(
          std::set<std::string>{"headgate.v1.ThrottlerService", "headgate.v1.StatusService"},
          options.max_health_watches)) {}

RpcServer::~RpcServer() { Shutdown(absl::ZeroDuration()); }

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const RpcServerOptions& options,
                                                            engine::Engine& engine, Clock& clock,
                                                            StatusSource& status,
                                                            DemandListener* demand) {
  if (absl::Status valid = Validate(options); !valid.ok()) return valid;
  // make_unique cannot call the private constructor.
  std::unique_ptr<RpcServer> server(new RpcServer(options, engine, clock, status, demand));
  if (absl::Status listening = server->Listen(options); !listening.ok()) return listening;
  return server;
}

absl::Status RpcServer::Listen(const RpcServerOptions& options) {
  grpc::ServerBuilder builder;
  SetLimits(options, builder);
  builder.SetOption(std::make_unique<ReflectionOption>(
      options.reflection ? ReflectionOption::Reflection::kOn : ReflectionOption::Reflection::kOff));
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(throttler_.get());
  builder.RegisterService(status_.get());
  builder.RegisterService(health_.get());
  if (options.another_service != nullptr) builder.RegisterService(options.another_service);
  for (grpc::Service* const service : options.more_services) builder.RegisterService(service);
  for (int i = 0; i < options.threads; ++i) {
    loops_.push_back(std::make_unique<ServingLoop>(builder.AddCompletionQueue()));
  }
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot listen on '", options.address,
                                               "': is it taken, or not of this host?"));
  }
  for (const auto& loop : loops_) {
    throttler_->Open(*loop);
    if (options.another_service != nullptr) options.another_service->Open(*loop);
    loop->Start();
  }
  return absl::OkStatus();
}

void RpcServer::SetServing(bool serving) { health_->SetServing(serving); }

void RpcServer::Shutdown(absl::Duration grace) {
  if (server_ == nullptr) return;
  health_->Stop();
  const auto holding = grace > absl::ZeroDuration() ? ServingLoop::Holding::kUntilShutdown
                                                    : ServingLoop::Holding::kNot;
  for (const auto& loop : loops_) loop->Drain(holding);
  const int64_t grace_ms = std::clamp<int64_t>(absl::ToInt64Milliseconds(grace), 0, INT32_MAX);
  server_->Shutdown(gpr_time_from_millis(grace_ms, GPR_TIMESPAN));
  // The calls, which point to the server, go first.
  for (const auto& loop : loops_) loop->Stop();
  server_.reset();
}

int RpcServer::streams_open() const { return throttler_->streams_open(); }
int RpcServer::health_watches() const { return health_->watchers(); }

}  // namespace headgate::rpc
