// GuardedService: a service whose unary methods are told who calls.
//
// Who is not known is refused before a method runs; what each caller may is the methods' own to
// ask. Runs on gRPC's threads, and on those of whoever else takes calls. Thread-safe.
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
#include <vector>

#include "server/govern/access/access_control.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/call_evidence.h"
#include "server/serve/rpc/method.h"
#include "server/serve/transport/call_context.h"
#include "server/serve/transport/service.h"

namespace headgate::rpc {

class GuardedService : public transport::Service {
 public:
  // All of them, for calls that come otherwise than by gRPC.
  const std::vector<Method>& methods() const { return methods_; }

 protected:
  // Who calls, and by which call.
  struct Asked {
    transport::CallContext& context;
    access::Asker who = {};
  };

  // `access` outlives the service.
  explicit GuardedService(access::AccessControl& access) : access_(access) {}

  // `run` is called as run(asked, request, response).
  template <typename Request, typename Response, typename Run>
  void AddGuarded(const char* path, Run run) {
    const auto guarded = [this, run](transport::CallContext& call, const access::Evidence& evidence,
                                     const Request& request, Response& response) {
      Asked asked{.context = call};
      grpc::Status known = Identify(access_, evidence, asked.who);
      return known.ok() ? run(asked, request, response) : known;
    };
    AddSync<Request, Response>(
        path, [guarded](grpc::ServerContext& context, const Request& request, Response& response) {
          transport::GrpcCallContext call(context);
          return guarded(call, CallEvidence(context), request, response);
        });
    methods_.push_back(MakeMethod<Request, Response>(path, guarded));
  }
  template <typename Self, typename Request, typename Response>
  void AddGuarded(const char* path,
                  grpc::Status (Self::*run)(const Asked&, const Request&, Response&)) {
    AddGuarded<Request, Response>(path, std::bind_front(run, static_cast<Self*>(this)));
  }

  access::AccessControl& access_;

 private:
  std::vector<Method> methods_;
};

}  // namespace headgate::rpc
