// headgate.v1.CostService: what was learnt of costs, forgetting it, and forgiving debt.
//
// A change is kept in the registry's list of events before it is made, and made before it is
// answered: what is not on the disk has not happened. A crash in between leaves an event of
// something that was not done; whoever asked for it got no answer, and asks again.
//
// A caller that may not speak for all sees, and forgets, what its own Reports taught; where callers
// share what is learnt (access.share_patterns), what its own identities' work is predicted with.
//
// Runs on gRPC's threads; a change waits for the disk, and for another one. Thread-safe.
//
//   CostService service({.engine = engine, .clock = clock, .registry = registry, .access =
//   access}); options.guarded_services = {&service};

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/cost_service.pb.h>

#include <string>

#include "common/clock.h"
#include "common/mutex.h"
#include "server/decide/engine/engine.h"
#include "server/govern/access/access_control.h"
#include "server/remember/overrides/registry.h"
#include "server/serve/rpc/fleet.h"
#include "server/serve/rpc/guarded_service.h"

namespace headgate::rpc {

class CostService final : public GuardedService {
 public:
  // All outlive the service.
  struct Sources {
    engine::Engine& engine;
    Clock& clock;
    overrides::Registry* registry;  // null: there is no state folder, and so there are no changes
    access::AccessControl& access;
  };

  explicit CostService(const Sources& sources);

  // Each target's owner lists and forgets what it has learnt, and forgives debts. Before the server
  // starts; `fleet` outlives this.
  void Tell(Fleet& fleet) { fleet_ = &fleet; }

 private:
  grpc::Status List(const Asked& asked, const v1::ListCostsRequest& request,
                    v1::ListCostsResponse& response);
  grpc::Status Forget(const Asked& asked, const v1::ForgetCostsRequest& request,
                      v1::ForgetCostsResponse& response);
  grpc::Status Forgive(const Asked& asked, const v1::ForgiveDebtRequest& request,
                       v1::ForgiveDebtResponse& response);

  // Narrows the filter to what the caller may see or forget; the refusal, if that is nothing.
  // `identity` is the one that has to be the caller's where callers share.
  grpc::Status Narrow(const access::Asker& who, const std::string& identity,
                      engine::LearntCostFilter& filter);
  // With who asks for it and why, valid; or what is wrong.
  grpc::Status Attributed(const access::Asker& who, const std::string& actor,
                          const std::string& reason, overrides::Deed& deed);

  const Sources on_;
  Fleet* fleet_ = nullptr;  // null: this server is alone
  Mutex changes_;           // one at a time, so that what is written down is what is done
};

}  // namespace headgate::rpc
