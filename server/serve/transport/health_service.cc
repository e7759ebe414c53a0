#include "server/serve/transport/health_service.h"

#include <chrono>
#include <memory>
#include <utility>

#include "server/serve/transport/error_status.h"
#include "server/serve/transport/unary_route.h"

namespace headgate::transport {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

namespace {

// A caller that goes away says nothing to a synchronous method: it is looked for so often.
constexpr std::chrono::seconds kLookForCaller{1};

// Calls that wait for callers, on each loop.
constexpr int kWaitingChecks = 16;

}  // namespace

HealthService::HealthService(std::set<std::string> services, int max_watchers)
    : services_([&] {
        services.insert("");
        services.insert(kLiveness);
        return std::move(services);
      }()),
      max_watchers_(max_watchers),
      check_(AddAsync("/grpc.health.v1.Health/Check", Kind::NORMAL_RPC)) {
  AddSyncStream<HealthCheckRequest, HealthCheckResponse>(
      "/grpc.health.v1.Health/Watch", [this](auto& context, auto& request, auto& writer) {
        return Watch(context, request, writer);
      });
}

void HealthService::Open(ServingLoop& loop) {
  loop.Own(std::make_unique<UnaryRoute<HealthCheckRequest, HealthCheckResponse>>(
      *this, UnaryRouteOptions{.method = check_, .loop = loop, .waiting_calls = kWaitingChecks},
      [this](size_t /*thread*/, auto& /*context*/, auto& request, auto& response) {
        return Check(request, response);
      }));
}

void HealthService::SetServing(bool serving) {
  const std::lock_guard lock(mutex_);
  serving_ = serving && !stopped_;
  changed_.notify_all();
}

void HealthService::Stop() {
  const std::lock_guard lock(mutex_);
  serving_ = false;
  stopped_ = true;
  changed_.notify_all();
}

int HealthService::watchers() const {
  const std::lock_guard lock(mutex_);
  return watchers_;
}

HealthService::State HealthService::StateOf(const std::string& service) const {
  if (!Knows(service)) return HealthCheckResponse::SERVICE_UNKNOWN;
  const bool serves = serving_ || service == kLiveness;
  return serves ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

grpc::Status HealthService::Check(const HealthCheckRequest& request,
                                  HealthCheckResponse& response) const {
  if (!Knows(request.service())) {
    return MakeStatus(absl::StatusCode::kNotFound, "UNKNOWN_SERVICE",
                      {"service", "there is no such service"});
  }
  const std::lock_guard lock(mutex_);
  response.set_status(StateOf(request.service()));
  return grpc::Status();
}

grpc::Status HealthService::Watch(grpc::ServerContext& context, const HealthCheckRequest& request,
                                  grpc::ServerWriter<HealthCheckResponse>& writer) {
  {
    const std::lock_guard lock(mutex_);
    if (watchers_ >= max_watchers_) {
      return Overloaded("TOO_MANY_WATCHES", "no room for another Watch");
    }
    ++watchers_;
  }
  grpc::Status status = WatchUntilEnd(context, request.service(), writer);
  const std::lock_guard lock(mutex_);
  --watchers_;
  return status;
}

grpc::Status HealthService::WatchUntilEnd(grpc::ServerContext& context, const std::string& service,
                                          grpc::ServerWriter<HealthCheckResponse>& writer) {
  State sent = HealthCheckResponse::UNKNOWN;
  std::unique_lock lock(mutex_);
  for (;;) {
    const State state = StateOf(service);
    const bool stopped = stopped_;
    lock.unlock();
    if (state != sent) {
      HealthCheckResponse response;
      response.set_status(state);
      if (!writer.Write(response)) break;
      sent = state;
    }
    if (stopped) return ShuttingDown();
    if (context.IsCancelled()) break;
    lock.lock();
    changed_.wait_for(lock, kLookForCaller, [&] { return stopped_ || StateOf(service) != sent; });
  }
  return {grpc::StatusCode::CANCELLED, "the caller is gone"};
}

}  // namespace headgate::transport
