#include "server/serve/transport/grpc_server.h"

#include <grpc/support/time.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/serve/transport/header_limit.h"
#include "server/serve/transport/reflection.h"

namespace headgate::transport {
namespace {

// Threads of gRPC's for whatever is not answered on the loops, besides one for each health watch.
constexpr int kOtherThreads = 80;
// Of them, those that may wait for callers to read their answers.
constexpr size_t kMaxUnreadAnswers = 32;
// What gRPC may hold of messages on their way, for all connections: beyond it, it ends calls. A
// caller is known only when its message is complete. What gRPC does not count is for MemoryLimit.
constexpr size_t kMaxTransportBytes = size_t{384} << 20;
// While it stops it looks so often whether there is something in progress. Nothing is once that was
// so at several looks; until then calls that were held are refused. A connection is still that was
// sent nothing at several more, and none has longer for reading than the last figure.
constexpr std::chrono::milliseconds kEndLooks{20};
constexpr int kQuietLooks = 3;
constexpr int kStillLooks = 3;
constexpr int kMostReadingLooks = 100;

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

// Of sizes header_limit.h tells it.
void SetThreadsAndQuota(const GrpcServerOptions& options, grpc::ServerBuilder& builder) {
  // One queue and mostly one thread for what runs on gRPC's threads.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  builder.SetResourceQuota(grpc::ResourceQuota("headgate")
                               .Resize(kMaxTransportBytes)
                               .SetMaxThreads(options.max_health_watches + kOtherThreads));
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
  SetThreadsAndQuota(options_, builder);
  SetMessageLimit(options_.max_message_bytes, builder);
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
    loops_.push_back(std::make_unique<ServingLoop>(builder.AddCompletionQueue(), options_.clock,
                                                   &ports_->taken()));
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
  if (ours != nullptr) services_.push_back(ours);
  if (ours != nullptr && ports_->has_health()) ours->RequireTls();
  if (ours != nullptr) ours->WatchAnswers(answer_watch_);
  if (ours != nullptr) ours->TellTaken(ports_->taken());
  builder.RegisterService(&service);
}

bool GrpcServer::IsAnswering() const {
  for (const auto& loop : loops_) {
    if (loop->CountUnanswered() > 0) return true;
  }
  return std::any_of(services_.begin(), services_.end(),
                     [](const Service* service) { return service->running() > 0; });
}

// gRPC waits for every connection to be closed by its other end, be there calls or not. So those
// are ended here that have nothing to wait for: who reads an answer may do so in peace.
void GrpcServer::EndServer(absl::Duration grace) {
  const int64_t grace_ms = std::clamp<int64_t>(absl::ToInt64Milliseconds(grace), 0, INT32_MAX);
  const std::future<void> ended = std::async(std::launch::async, [this, grace_ms] {
    server_->Shutdown(gpr_time_from_millis(grace_ms, GPR_TIMESPAN));
  });
  int quiet = 0;  // looks in a row
  while (ended.wait_for(kEndLooks) != std::future_status::ready) {
    quiet = IsAnswering() ? 0 : quiet + 1;
    if (quiet >= kQuietLooks) ports_->EndStill(quiet < kMostReadingLooks ? kStillLooks : 0);
  }
}

void GrpcServer::Shutdown(absl::Duration grace) {
  if (server_ == nullptr) return;
  health_.Stop();
  ports_->Stop();
  const auto holding = grace > absl::ZeroDuration() ? ServingLoop::Holding::kUntilShutdown
                                                    : ServingLoop::Holding::kNot;
  for (const auto& loop : loops_) loop->Drain(holding);
  EndServer(grace);
  // The calls, which point to the server, go first.
  for (const auto& loop : loops_) loop->Stop();
  server_.reset();
}

}  // namespace headgate::transport
