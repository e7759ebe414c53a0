// GuardedService: a service whose unary methods are told who calls.
//
// Who is not known is refused before a method runs; what each caller may is the methods' own to
// ask. Runs on gRPC's threads. Thread-safe.
//
//   class CostService final : public GuardedService {
//    public:
//     explicit CostService(access::AccessControl& access) : GuardedService(access) {
//       AddGuarded("/headgate.v1.CostService/ListCosts", &CostService::List);
//     }
//    private:
//     grpc::Status List(const Asked& asked, const v1::ListCostsRequest& request,
//                       v1::ListCostsResponse& response);

#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <functional>

#include "server/access/access_control.h"
#include "server/rpc/access_status.h"
#include "server/transport/service.h"

namespace headgate::rpc {

class GuardedService : public transport::Service {
 protected:
  // Who calls, and by which call.
  struct Asked {
    const grpc::ServerContext& context;
    access::Asker who = {};
  };

  // `access` outlives the service.
  explicit GuardedService(access::AccessControl& access) : access_(access) {}

  // `run` is called as run(asked, request, response).
  template <typename Request, typename Response, typename Run>
  void AddGuarded(const char* path, Run run) {
    AddSync<Request, Response>(path, [this, run](grpc::ServerContext& context,
                                                 const Request& request, Response& response) {
      const CallEvidence call(context);
      Asked asked{.context = context};
      grpc::Status known = Identify(access_, call, asked.who);
      return known.ok() ? run(asked, request, response) : known;
    });
  }
  template <typename Self, typename Request, typename Response>
  void AddGuarded(const char* path,
                  grpc::Status (Self::*run)(const Asked&, const Request&, Response&)) {
    AddGuarded<Request, Response>(path, std::bind_front(run, static_cast<Self*>(this)));
  }

  access::AccessControl& access_;
};

}  // namespace headgate::rpc
