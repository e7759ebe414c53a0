// Api: the methods of all services here, for calls that come otherwise than by gRPC. They have the
// same handlers as those that do: access, limits, lines and log are one.
//
// Check, BatchCheck and Report are answered by threads that are made for it (serving_thread.h); all
// other unary methods may take a while, and are called by any thread. CheckStream is gRPC's alone.
// Whoever takes calls counts them.
//
// Thread-safe, and valid for as long as the RpcServer that it is of.
//
//   std::unique_ptr<ServingThread> thread = api.AddThread();
//   for (const Method& method : api.methods()) ...

#pragma once

#include <grpcpp/support/status.h>

#include <memory>
#include <utility>
#include <vector>

#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/dependencies.h"
#include "server/serve/rpc/method.h"
#include "server/serve/rpc/serving_thread.h"
#include "server/serve/rpc/waiting_call.h"
#include "server/serve/transport/service.h"

namespace headgate::rpc {

class Api {
 public:
  // `waiting` outlives this.
  Api(const Dependencies& on, const WaitingNeeds& waiting, std::vector<Method> methods)
      : on_(on), waiting_(waiting), methods_(std::move(methods)) {}

  // Those that may take a while.
  const std::vector<Method>& methods() const { return methods_; }
  std::unique_ptr<ServingThread> AddThread() const {
    return std::make_unique<ServingThread>(on_, waiting_);
  }
  // For what other servers hand over: it hands nothing to others.
  std::unique_ptr<ServingThread> AddThreadForPeers() const {
    Dependencies on = on_;
    on.remote_decider = nullptr;
    return std::make_unique<ServingThread>(on, waiting_);
  }
  access::AccessControl& access() const { return on_.access; }
  engine::Engine& engine() const { return on_.engine; }
  // See Dependencies.
  approximate::ApproximateLimits* approximate() const { return on_.approximate; }
  // Whether whoever calls is known.
  grpc::Status MayCall(const access::Evidence& call) const {
    access::Asker asker;
    return Identify(on_.access, call, asker);
  }
  Clock& clock() const { return on_.clock; }
  // Whether callers are asked who they are.
  bool AsksWhoCalls() const { return on_.access.is_on(); }
  transport::Calls& calls() const { return on_.calls; }

 private:
  const Dependencies on_;
  const WaitingNeeds& waiting_;
  const std::vector<Method> methods_;
};

// A service on the serving loops that answers by the same handlers.
class ApiService : public transport::AsyncService {
 public:
  // Before the server starts. The API outlives the service's calls.
  virtual void Use(const Api& api) = 0;
};

// A service on gRPC's threads that answers other servers by the same handlers.
class PeerQuestions : public transport::Service {
 public:
  // As ApiService's.
  virtual void Use(const Api& api) = 0;
};

}  // namespace headgate::rpc
