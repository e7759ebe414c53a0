// grpc.health.v1: whether the server can be used, for probes and load balancers.
//
// gRPC's own implementation is invisible to reflection and slows every call of the server down.
// Check is answered on the serving loops, where callers who do not read their answers keep nobody
// from theirs. A Watch occupies a thread of gRPC's for as long as it lasts, so there are only so
// many of them.
//
// The service "liveness" is SERVING for as long as the process answers, whatever it waits for: for
// a liveness probe that speaks gRPC. A restart would mend nothing, and a server that is killed over
// and over while its store is away is not there when that is back.
//
// Thread-safe.
//
//   HealthService health({"headgate.v1.ThrottlerService"}, 64);
//   health.SetServing(true);
//   ...
//   health.Stop();  // NOT_SERVING, and every Watch ends

#pragma once

#include <grpc/health/v1/health.pb.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

#include "server/serve/transport/service.h"

namespace headgate::transport {

class HealthService final : public AsyncService {
 public:
  // SERVING as long as the process answers.
  static constexpr char kLiveness[] = "liveness";

  // The server as a whole, which has no name, is always among the services, and so is kLiveness.
  HealthService(std::set<std::string> services, int max_watchers);

  // At first it is not.
  void SetServing(bool serving);
  // For good.
  void Stop();

  int watchers() const;

  void Open(ServingLoop& loop) override;

 private:
  using State = grpc::health::v1::HealthCheckResponse::ServingStatus;

  bool Knows(const std::string& service) const { return services_.contains(service); }
  State StateOf(const std::string& service) const;
  grpc::Status Check(const grpc::health::v1::HealthCheckRequest& request,
                     grpc::health::v1::HealthCheckResponse& response) const;
  grpc::Status Watch(grpc::ServerContext& context,
                     const grpc::health::v1::HealthCheckRequest& request,
                     grpc::ServerWriter<grpc::health::v1::HealthCheckResponse>& writer);
  grpc::Status WatchUntilEnd(grpc::ServerContext& context, const std::string& service,
                             grpc::ServerWriter<grpc::health::v1::HealthCheckResponse>& writer);

  const std::set<std::string> services_;
  const int max_watchers_;
  const int check_;

  // Guards all below. A standard one, as condition variables take it.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool serving_ = false;
  bool stopped_ = false;
  int watchers_ = 0;
};

}  // namespace headgate::transport
