// RemoteDecider: decides calls about targets that another server owns, by asking that server.
//
// Where several servers share their targets, each target has one owner, and any server takes calls
// about it. A server that does not own the target hands the call to the owner, and parks it
// meanwhile. A call that a peer has handed over is not handed over once more: the threads that
// answer it have no RemoteDecider.
//
// Thread-safe. Forwarder in server/serve/peers implements it. A server without a RemoteDecider
// decides for every target.
//
//   const cluster::DecisionScope scope(remote.decisions());
//   if (!remote.DecidesHere(check.target())) return remote.Check(check, caller, parking);

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <string>
#include <string_view>

#include "server/serve/transport/parked_call.h"
#include "server/share/cluster/decision_scope.h"

namespace headgate::rpc {

// The metadata by which a caller is told who decides: "ADDRESS TARGET", the target as the request
// had it.
inline constexpr char kOwnerKey[] = "headgate-owner";

class RemoteDecider {
 public:
  // Who makes a call, as this server has found, and from where.
  struct Caller {
    std::string_view name;  // empty: nobody in particular
    std::string peer;       // as gRPC has it
  };

  virtual ~RemoteDecider() = default;

  // Whoever decides opens a scope here, asks DecidesHere, decides, and ends it.
  virtual cluster::Decisions& decisions() = 0;
  // Whether this server decides for a target, as requests have it: empty where they name none. Of
  // what is no target it does, and refuses it. Tens of nanoseconds.
  virtual bool DecidesHere(std::string_view target) = 0;
  // The value of kOwnerKey for a target that another server decides for; empty: nobody does now.
  virtual std::string OwnerHint(std::string_view target) = 0;

  // Each parks the call, or returns why it cannot. What is asked is copied. `check` is about a
  // target that another server decides for, and so are all of a batch, about the same one.
  virtual grpc::Status Check(const v1::CheckRequest& check, const Caller& caller,
                             transport::Parking<v1::CheckResponse>& parking) = 0;
  virtual grpc::Status BatchCheck(const v1::BatchCheckRequest& batch, const Caller& caller,
                                  transport::Parking<v1::BatchCheckResponse>& parking) = 0;
  // Permits that this server did not issue, asked of all others. A report that none of them knows
  // has the error NOT_FOUND; where one of them does not answer, and so might know it, the call ends
  // with UNAVAILABLE.
  virtual grpc::Status Report(const v1::ReportRequest& reports, const Caller& caller,
                              transport::Parking<v1::ReportResponse>& parking) = 0;

  // The server stops: whoever waits at another server is told so, and nobody is held any more.
  virtual void Close() = 0;
};

}  // namespace headgate::rpc
