// headgate.v1.OverrideService: what operators change while the server runs.
//
// Runs on gRPC's threads; a change waits for the disk. Thread-safe.
//
//   OverrideService service(registry.get());
//   options.more_services = {&service};

#ifndef HEADGATE_SERVER_RPC_OVERRIDE_SERVICE_H_
#define HEADGATE_SERVER_RPC_OVERRIDE_SERVICE_H_

#include <grpcpp/support/status.h>
#include <headgate/v1/override_service.pb.h>

#include "server/overrides/registry.h"
#include "server/rpc/service.h"

namespace headgate::rpc {

class OverrideService final : public Service {
 public:
  // The registry outlives this. Null: there is no state folder, and so there are no overrides.
  explicit OverrideService(overrides::Registry* registry);

 private:
  grpc::Status Create(const grpc::ServerContext& context, const v1::CreateOverrideRequest& request,
                      v1::CreateOverrideResponse& response);
  grpc::Status List(const v1::ListOverridesRequest& request, v1::ListOverridesResponse& response);
  grpc::Status Delete(const grpc::ServerContext& context, const v1::DeleteOverrideRequest& request,
                      v1::DeleteOverrideResponse& response);
  grpc::Status ListEvents(const v1::ListOverrideEventsRequest& request,
                          v1::ListOverrideEventsResponse& response);

  overrides::Registry* const registry_;
};

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_OVERRIDE_SERVICE_H_
