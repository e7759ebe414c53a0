#include "server/serve/rpc/rpc_server.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/govern/config/config.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/status_service.h"
#include "server/serve/rpc/throttler_service.h"

namespace headgate::rpc {
namespace {

template <typename Number>
absl::Status InRange(const char* name, Number value, Number least, Number most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": must be ", least, " to ", most, "; it is ", value));
}

absl::Status Validate(const RpcServerOptions& options) {
  absl::Status status;
  status.Update(InRange("threads", options.threads, 1, config::kMaxThreads));
  status.Update(InRange("streams.all", options.streams.all, 0, 1 << 20));
  status.Update(InRange("streams.of_one_caller", options.streams.of_one_caller, 1, 1 << 20));
  status.Update(
      InRange("connections.max_open", options.connections.max_open, 1, config::kMaxConnections));
  return status;
}

std::vector<transport::MemoryOwner> MemoryOwners(const RpcServerOptions& options,
                                                 const Dependencies& on) {
  std::vector<transport::MemoryOwner> owners = options.memory_owners;
  owners.push_back({"lines", [&lines = on.lines] { return lines.held_bytes(); }});
  owners.push_back({"log_tables", [&log = on.recorder] { return log.held().bytes(); }});
  return owners;
}

transport::GrpcServerOptions GrpcOptions(const RpcServerOptions& options, const Dependencies& on,
                                         ThrottlerService& throttler, StatusService& status) {
  transport::GrpcServerOptions grpc{
      .ports = {.address = options.address,
                .credentials = options.credentials,
                .health_address = options.health_address,
                .limits = options.connections,
                .memory_owners = MemoryOwners(options, on)},
      .max_message_bytes = options.max_message_bytes,
      .threads = options.threads,
      .clock = &on.clock,
      .max_health_watches = options.max_health_watches,
      .unread_answers = options.unread_answers,
      .reflection = options.reflection,
      .may_reflect =
          [&access = on.access](grpc::ServerContext& context) {
            access::Asker asker;
            return Identify(access, CallEvidence(context), asker);
          },
      .health_names = {"headgate.v1.ThrottlerService", "headgate.v1.StatusService"},
      .async_services = options.more_async_services,
      .services = options.more_services};
  if (options.peers != nullptr) grpc.async_services.push_back(options.peers);
  grpc.async_services.insert(grpc.async_services.begin(), &throttler);
  if (options.questions != nullptr) grpc.services.push_back(options.questions);
  grpc.services.insert(grpc.services.begin(), options.guarded_services.begin(),
                       options.guarded_services.end());
  grpc.services.insert(grpc.services.begin(), &status);
  return grpc;
}

std::unique_ptr<const Api> MakeApi(const RpcServerOptions& options, const Dependencies& on,
                                   ThrottlerService& throttler, const StatusService& status) {
  std::vector<Method> methods = status.methods();
  methods.push_back(throttler.explain());
  for (const GuardedService* const service : options.guarded_services) {
    methods.insert(methods.end(), service->methods().begin(), service->methods().end());
  }
  return std::make_unique<const Api>(on, throttler.waiting(), std::move(methods));
}

}  // namespace

RpcServer::RpcServer(const RpcServerOptions& options, const Dependencies& on)
    : throttler_(std::make_unique<ThrottlerService>(on, options.streams)),
      status_(
          std::make_unique<StatusService>(options.version, on, [this] { return connections(); })),
      on_(on),
      api_(MakeApi(options, on, *throttler_, *status_)),
      line_thread_(on.lines, on.clock),
      grpc_(GrpcOptions(options, on, *throttler_, *status_)) {
  on.access.SetOnChange([&lines = on.lines] { lines.AskAgain(); });
  if (options.peers != nullptr) {
    options.peers->Use(*api_);
    options.peers->Observe(on.calls);
  }
  if (options.questions != nullptr) {
    options.questions->Use(*api_);
    options.questions->Observe(on.calls);
  }
  throttler_->Observe(on.calls);
  status_->Observe(on.calls);
}

RpcServer::~RpcServer() {
  Shutdown(absl::ZeroDuration());
  on_.access.SetOnChange({});
}

void RpcServer::Shutdown(absl::Duration grace) {
  on_.lines.Close(absl::UnavailableError("the server is shutting down"), on_.clock.Read());
  if (on_.remote_decider != nullptr) on_.remote_decider->Close();
  grpc_.Shutdown(grace);
  line_thread_.Stop();
}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const RpcServerOptions& options,
                                                            const Dependencies& on) {
  if (absl::Status valid = Validate(options); !valid.ok()) return valid;
  // make_unique cannot call the private constructor.
  std::unique_ptr<RpcServer> server(new RpcServer(options, on));
  if (absl::Status started = server->grpc_.Start(); !started.ok()) return started;
  return server;
}

int RpcServer::streams_open() const { return throttler_->streams_open(); }

}  // namespace headgate::rpc
