#include "server/rpc/rpc_server.h"

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/config/config.h"
#include "server/rpc/access_status.h"
#include "server/rpc/status_service.h"
#include "server/rpc/throttler_service.h"
#include "server/transport/answer_watch.h"
#include "server/transport/health_service.h"
#include "server/transport/ports.h"
#include "server/transport/reflection.h"
#include "server/transport/serving_loop.h"

namespace headgate::rpc {
namespace {

// Threads of gRPC's for whatever is not decided on the loops, besides one for each health watch.
constexpr int kOtherThreads = 80;
// Of them, those that may wait for callers to read their answers.
constexpr size_t kMaxUnreadAnswers = 32;
// Calls at once on one connection, streams among them: the next ones wait on the caller's side. The
// SDK's and the benchmarks' callers have fewer.
constexpr int kMaxCallsOnConnection = 128;
// What gRPC may hold of messages on their way, for all connections: beyond it, it ends calls. A
// caller is known only when its message is complete, so nothing else bounds what anybody may send.
constexpr size_t kMaxTransportBytes = size_t{256} << 20;

template <typename Number>
absl::Status InRange(const char* name, Number value, Number least, Number most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": must be ", least, " to ", most, "; it is ", value));
}

absl::Status Validate(const RpcServerOptions& options) {
  absl::Status status;
  status.Update(InRange("threads", options.threads, 1, config::kMaxThreads));
  status.Update(InRange<int64_t>("max_message_bytes", options.max_message_bytes, 1024, 1 << 30));
  status.Update(InRange("streams.all", options.streams.all, 0, 1 << 20));
  status.Update(InRange("streams.of_one_caller", options.streams.of_one_caller, 1, 1 << 20));
  status.Update(InRange("max_health_watches", options.max_health_watches, 0, 1024));
  status.Update(InRange("connections.most", options.connections.most, 1, config::kMaxConnections));
  if (!options.health_address.empty() && options.credentials == nullptr) {
    status.Update(absl::InvalidArgumentError(
        "health_address: without TLS the main port answers probes as well"));
  }
  for (grpc::Service* const service : options.more_services) {
    if (options.health_address.empty() || dynamic_cast<transport::Service*>(service) != nullptr)
      continue;
    status.Update(absl::InvalidArgumentError(
        "more_services: one would be called over health_address as well"));
  }
  return status;
}

void SetLimits(const RpcServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  // One queue and mostly one thread for what runs on gRPC's threads.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  builder.SetResourceQuota(grpc::ResourceQuota("headgate")
                               .Resize(kMaxTransportBytes)
                               .SetMaxThreads(options.max_health_watches + kOtherThreads));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsOnConnection);
}

}  // namespace

RpcServer::RpcServer(const RpcServerOptions& options, engine::Engine& engine, Clock& clock,
                     StatusSource& status, CheckListener* activity)
    : throttler_(std::make_unique<ThrottlerService>(engine, clock, activity, options.recorder,
                                                    options.access, options.streams,
                                                    options.calls)),
      status_(std::make_unique<StatusService>(
          options.version, engine, clock, status, [this] { return connections(); },
          options.access)),
      health_(std::make_unique<transport::HealthService>(
          std::set<std::string>{"headgate.v1.ThrottlerService", "headgate.v1.StatusService"},
          options.max_health_watches)),
      answer_watch_(
          std::make_unique<transport::AnswerWatch>(options.unread_answers, kMaxUnreadAnswers)) {
  if (options.calls == nullptr) return;
  throttler_->Observe(*options.calls);
  status_->Observe(*options.calls);
}

RpcServer::~RpcServer() { Shutdown(absl::ZeroDuration()); }

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const RpcServerOptions& options,
                                                            engine::Engine& engine, Clock& clock,
                                                            StatusSource& status,
                                                            CheckListener* activity) {
  if (absl::Status valid = Validate(options); !valid.ok()) return valid;
  // make_unique cannot call the private constructor.
  std::unique_ptr<RpcServer> server(new RpcServer(options, engine, clock, status, activity));
  if (absl::Status listening = server->Listen(options); !listening.ok()) return listening;
  return server;
}

absl::Status RpcServer::Listen(const RpcServerOptions& options) {
  absl::StatusOr<std::unique_ptr<transport::Ports>> ports =
      transport::Ports::Open({.address = options.address,
                              .credentials = options.credentials,
                              .health_address = options.health_address,
                              .limits = options.connections});
  if (!ports.ok()) return ports.status();
  ports_ = *std::move(ports);
  grpc::ServerBuilder builder;
  SetLimits(options, builder);
  if (options.reflection) {
    builder.SetOption(std::make_unique<transport::ReflectionOption>(
        std::make_shared<transport::ReflectionService>(
            ports_->has_health() ? transport::ReflectionService::Plaintext::kRefused
                                 : transport::ReflectionService::Plaintext::kAnswered,
            [access = options.access](grpc::ServerContext& context) {
              const access::Caller* caller = nullptr;
              return Identify(access, context, nullptr, caller);
            })));
  }
  ports_->AddTo(builder);
  builder.RegisterService(health_.get());
  std::vector<grpc::Service*> services = {throttler_.get(), status_.get()};
  if (options.another_service != nullptr) services.push_back(options.another_service);
  services.insert(services.end(), options.more_services.begin(), options.more_services.end());
  for (grpc::Service* const service : services) {
    if (ports_->has_health()) dynamic_cast<transport::Service&>(*service).RequireTls();
    if (auto* const ours = dynamic_cast<transport::Service*>(service); ours != nullptr) {
      ours->WatchAnswers(*answer_watch_);
    }
    builder.RegisterService(service);
  }
  for (int i = 0; i < options.threads; ++i) {
    loops_.push_back(std::make_unique<transport::ServingLoop>(builder.AddCompletionQueue()));
  }
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return absl::UnavailableError("gRPC cannot start its server");
  }
  for (const auto& loop : loops_) {
    throttler_->Open(*loop);
    health_->Open(*loop);
    if (options.another_service != nullptr) options.another_service->Open(*loop);
    loop->Start();
  }
  return ports_->Start();
}

void RpcServer::SetServing(bool serving) { health_->SetServing(serving); }

void RpcServer::Shutdown(absl::Duration grace) {
  if (server_ == nullptr) return;
  health_->Stop();
  ports_->Stop();
  const auto holding = grace > absl::ZeroDuration()
                           ? transport::ServingLoop::Holding::kUntilShutdown
                           : transport::ServingLoop::Holding::kNot;
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
