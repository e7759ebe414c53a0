// headgate.v1.OverrideService: what operators change while the server runs.
//
// Runs on gRPC's threads; a change waits for the disk. Thread-safe.
//
//   OverrideService service(registry.get(), access);
//   options.guarded_services = {&service};

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/override_service.pb.h>

#include <cstdint>

#include "server/govern/access/access_control.h"
#include "server/remember/overrides/registry.h"
#include "server/serve/rpc/fleet.h"
#include "server/serve/rpc/guarded_service.h"

namespace headgate::rpc {

class OverrideService final : public GuardedService {
 public:
  // Both outlive this. Without a registry there is no state folder, and so there are no overrides.
  OverrideService(overrides::Registry* registry, access::AccessControl& access);

  // Other servers put into force at once what is ordered here. Before the server starts; `fleet`
  // outlives this.
  void Tell(Fleet& fleet) { fleet_ = &fleet; }

 private:
  grpc::Status Create(const Asked& asked, const v1::CreateOverrideRequest& request,
                      v1::CreateOverrideResponse& response);
  grpc::Status List(const Asked& asked, const v1::ListOverridesRequest& request,
                    v1::ListOverridesResponse& response);
  grpc::Status Delete(const Asked& asked, const v1::DeleteOverrideRequest& request,
                      v1::DeleteOverrideResponse& response);
  grpc::Status ListEvents(const Asked& asked, const v1::ListOverrideEventsRequest& request,
                          v1::ListOverrideEventsResponse& response);

  // Ok if the caller may end the override, or if there is none with this id.
  grpc::Status MayDelete(const access::Asker& who, int64_t id);
  // Of a caller that may end some.
  grpc::Status MayEnd(const access::Asker& who, const overrides::Override& override) const;

  // Has all others put into force what was changed here; the names of those that did not say so.
  template <typename Response>
  void Spread(Response& response) const;

  overrides::Registry* const registry_;
  Fleet* fleet_ = nullptr;  // null: this server is alone
};

}  // namespace headgate::rpc
