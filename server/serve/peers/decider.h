// Decider: decides calls that were forwarded, by the handlers of the API.
//
// What it decides it decides here: nothing is forwarded once more. Belongs to one thread.
//
//   Decider decider(api);
//   if (!decider.Decide(call, answer, parking)) return;  // it is answered later
//   response.add_answers()->Swap(&answer);

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/peer/v1/peer_service.pb.h>

#include <memory>

#include "server/serve/peers/outgoing_call.h"
#include "server/serve/rpc/api.h"
#include "server/serve/rpc/serving_thread.h"
#include "server/serve/transport/parked_call.h"

namespace headgate::peers {

// Whoever answers a forwarded call that waits. Of an error the answer tells, and the status is ok.
using ParkedForward = transport::ParkedCall<ForwardedAnswer>;
using ForwardParking = transport::Parking<ForwardedAnswer>;

class Decider {
 public:
  // The API outlives this.
  explicit Decider(const rpc::Api& api) : api_(api), thread_(api.AddThreadForPeers()) {}

  // False: it is parked. `answer` is overwritten.
  bool Decide(const ForwardedCall& call, ForwardedAnswer& answer, ForwardParking& parking);
  // A Check or a batch of a target that nobody decides for, where the API has ApproximateLimits.
  void DecideApproximately(const ForwardedCall& call, ForwardedAnswer& answer);

 private:
  // What another server admitted so, or this one.
  void Charge(const peer::v1::ApproximateCharges& charges, ForwardedAnswer& answer);

  const rpc::Api& api_;
  const std::unique_ptr<rpc::ServingThread> thread_;
};

// With its details.
void SetError(const grpc::Status& status, google::rpc::Status& error);
inline void SetError(const grpc::Status& status, ForwardedAnswer& answer) {
  SetError(status, *answer.mutable_error());
}

}  // namespace headgate::peers
