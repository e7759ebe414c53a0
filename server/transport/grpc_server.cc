#include "server/transport/grpc_server.h"

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/transport/received_bytes.h"
#include "server/transport/reflection.h"

namespace headgate::transport {
namespace {

// Threads of gRPC's for whatever is not answered on the loops, besides one for each health watch.
constexpr int kOtherThreads = 80;
// Of them, those that may wait for callers to read their answers.
constexpr size_t kMaxUnreadAnswers = 32;
// Calls at once on one connection, streams among them: the next ones wait on the caller's side. The
// SDK's and the benchmarks' callers have fewer.
constexpr int kMaxCallsOnConnection = 128;
// What gRPC may hold of messages on their way, for all connections: beyond it, it ends calls. A
// caller is known only when its message is complete. What gRPC does not count is for MemoryLimit.
constexpr size_t kMaxTransportBytes = size_t{128} << 20;

absl::Status Validate(const GrpcServerOptions& options) {
  absl::Status status;
  const auto in_range = [&](const char* name, int64_t value, int64_t least, int64_t most) {
    if (value >= least && value <= most) return;
    status.Update(absl::InvalidArgumentError(
        absl::StrCat(name, ": must be ", least, " to ", most, "; it is ", value)));
  };
  in_range("max_message_bytes", options.max_message_bytes, 1024, 1 << 30);
  in_range("max_health_watches", options.max_health_watches, 0, 1024);
  const bool has_health_port = !options.ports.health_address.empty();
  if (has_health_port && options.ports.credentials == nullptr) {
    status.Update(absl::InvalidArgumentError(
        "health_address: without TLS the main port answers probes as well"));
  }
  for (grpc::Service* const service : options.services) {
    if (!has_health_port || dynamic_cast<Service*>(service) != nullptr) continue;
    status.Update(
        absl::InvalidArgumentError("services: one would be called over health_address as well"));
  }
  return status;
}

void SetLimits(const GrpcServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  RefuseCompression(builder);
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

GrpcServer::GrpcServer(GrpcServerOptions options)
    : options_(std::move(options)),
      health_(options_.health_names, options_.max_health_watches),
      answer_watch_(options_.unread_answers, kMaxUnreadAnswers) {}

absl::Status GrpcServer::Start() {
  if (absl::Status valid = Validate(options_); !valid.ok()) return valid;
  absl::StatusOr<std::unique_ptr<Ports>> ports = Ports::Open(options_.ports);
  if (!ports.ok()) return ports.status();
  ports_ = *std::move(ports);
  grpc::ServerBuilder builder;
  SetLimits(options_, builder);
  if (options_.reflection) {
    const auto plaintext = ports_->has_health() ? ReflectionService::Plaintext::kRefused
                                                : ReflectionService::Plaintext::kAnswered;
    builder.SetOption(std::make_unique<ReflectionOption>(
        std::make_shared<ReflectionService>(plaintext, options_.may_reflect)));
  }
  ports_->AddTo(builder);
  builder.RegisterService(&health_);
  for (AsyncService* const service : options_.async_services) Register(*service, builder);
  for (grpc::Service* const service : options_.services) Register(*service, builder);
  for (int i = 0; i < options_.threads; ++i) {
    loops_.push_back(std::make_unique<ServingLoop>(builder.AddCompletionQueue(), options_.clock));
  }
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::UnavailableError("gRPC cannot start its server");
  for (const auto& loop : loops_) {
    for (AsyncService* const service : options_.async_services) service->Open(*loop);
    health_.Open(*loop);
    loop->Start();
  }
  return ports_->Start();
}

void GrpcServer::Register(grpc::Service& service, grpc::ServerBuilder& builder) {
  auto* const ours = dynamic_cast<Service*>(&service);
  if (ours != nullptr && ports_->has_health()) ours->RequireTls();
  if (ours != nullptr) ours->WatchAnswers(answer_watch_);
  builder.RegisterService(&service);
}

void GrpcServer::Shutdown(absl::Duration grace) {
  if (server_ == nullptr) return;
  health_.Stop();
  ports_->Stop();
  const auto holding = grace > absl::ZeroDuration() ? ServingLoop::Holding::kUntilShutdown
                                                    : ServingLoop::Holding::kNot;
  for (const auto& loop : loops_) loop->Drain(holding);
  const int64_t grace_ms = std::clamp<int64_t>(absl::ToInt64Milliseconds(grace), 0, INT32_MAX);
  server_->Shutdown(gpr_time_from_millis(grace_ms, GPR_TIMESPAN));
  // The calls, which point to the server, go first.
  for (const auto& loop : loops_) loop->Stop();
  server_.reset();
}

}  // namespace headgate::transport
