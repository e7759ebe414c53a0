// headgate.v1.ClusterService: which servers there are, and what operators want of them.
//
// Runs on gRPC's threads; an order waits for the store. Thread-safe.
//
//   ClusterService service({.control = &control, .registry = registry, .access = access});
//   options.guarded_services = {&service};

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/cluster_service.pb.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "server/govern/access/access_control.h"
#include "server/remember/overrides/registry.h"
#include "server/serve/rpc/guarded_service.h"
#include "server/share/cluster/view.h"

namespace headgate::rpc {

class ClusterService final : public GuardedService {
 public:
  // All outlive this.
  struct Sources {
    cluster::Control* control;      // null: the server is alone
    overrides::Registry* registry;  // keeps who ordered what; null: nothing can be ordered
    access::AccessControl& access;
  };

  explicit ClusterService(const Sources& sources);

 private:
  grpc::Status List(const Asked& asked, const v1::ListMembersRequest& request,
                    v1::ListMembersResponse& response);
  grpc::Status Move(const Asked& asked, const v1::MoveTargetRequest& request,
                    v1::MoveTargetResponse& response);
  grpc::Status Drain(const Asked& asked, const v1::DrainMemberRequest& request,
                     v1::DrainMemberResponse& response);
  grpc::Status Undrain(const Asked& asked, const v1::UndrainMemberRequest& request,
                       v1::UndrainMemberResponse& response);

  // An order: who gives it, what it is for a person, and how it is carried out.
  struct Order {
    const char* method;
    std::string change;
    std::string actor;
    std::string reason;
    // NotFound where it names nobody that is there.
    std::function<absl::Status(const cluster::ClusterView&)> validate;
    std::function<absl::Status()> run;
  };
  absl::Status MayGoTo(const cluster::ClusterView& view,
                       const v1::MoveTargetRequest& request) const;
  struct Draining {
    const char* method;
    const std::string& member;
    bool drained = false;
    const std::string& actor;
    const std::string& reason;
  };
  grpc::Status SetDrained(const Asked& asked, const Draining& draining);
  grpc::Status Carry(const Asked& asked, Order order);

  const Sources on_;
};

}  // namespace headgate::rpc
