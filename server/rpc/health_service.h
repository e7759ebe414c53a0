// grpc.health.v1: whether the server can be used, for probes and load balancers.
//
// gRPC's own implementation is invisible to reflection and slows every call of the server down.
// This one runs on gRPC's threads; a Watch occupies one for as long as it lasts, so there are only
// so many of them.
//
// Thread-safe.
//
//   HealthService health({"headgate.v1.ThrottlerService"}, 64);
//   health.SetServing(true);
//   ...
//   health.Stop();  // NOT_SERVING, and every Watch ends

#ifndef HEADGATE_SERVER_RPC_HEALTH_SERVICE_H_
#define HEADGATE_SERVER_RPC_HEALTH_SERVICE_H_

#include <grpc/health/v1/health.grpc.pb.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

namespace headgate::rpc {

class HealthService final : public grpc::health::v1::Health::Service {
 public:
  // The server as a whole, which has no name, is always among the services.
  HealthService(std::set<std::string> services, int max_watchers);

  // At first it is not.
  void SetServing(bool serving);
  // For good.
  void Stop();

  int watchers() const;

  grpc::Status Check(grpc::ServerContext* context,
                     const grpc::health::v1::HealthCheckRequest* request,
                     grpc::health::v1::HealthCheckResponse* response) override;
  grpc::Status Watch(grpc::ServerContext* context,
                     const grpc::health::v1::HealthCheckRequest* request,
                     grpc::ServerWriter<grpc::health::v1::HealthCheckResponse>* writer) override;

 private:
  using State = grpc::health::v1::HealthCheckResponse::ServingStatus;

  bool Knows(const std::string& service) const { return services_.contains(service); }
  State StateNow() const;
  grpc::Status WatchUntilEnd(grpc::ServerContext& context, bool known,
                             grpc::ServerWriter<grpc::health::v1::HealthCheckResponse>& writer);

  const std::set<std::string> services_;
  const int max_watchers_;

  // Guards all below. A standard one, as condition variables take it.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool serving_ = false;
  bool stopped_ = false;
  int watchers_ = 0;
};

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_HEALTH_SERVICE_H_
