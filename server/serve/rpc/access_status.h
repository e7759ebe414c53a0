// The refusals of access control as callers get them, and how services ask it.
//
// UNAUTHENTICATED where nobody is known, else PERMISSION_DENIED, with a google.rpc.ErrorInfo whose
// metadata say who ("caller") lacks what ("missing").
//
//   const CallEvidence call(context);
//   access::Asker asker;
//   if (grpc::Status known = Identify(access_, call, asker); !known.ok()) return known;
//   if (auto refused = access_.MayReadStatus(asker)) return ToGrpcStatus(*refused);

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <string_view>

#include "server/govern/access/access_control.h"
#include "server/serve/rpc/call_evidence.h"

namespace headgate::rpc {

grpc::Status ToGrpcStatus(const access::Refusal& refusal);
// Of one item of several: "checks[3]".
void FillError(const access::Refusal& refusal, std::string_view path, v1::Error& error);

// Ok with who asks, or the refusal. Where access is off that is nobody in particular.
inline grpc::Status Identify(access::AccessControl& access, const access::Evidence& call,
                             access::Asker& asker) {
  const access::AccessControl::Refused refused = access.Identify(call, asker);
  return refused.has_value() ? ToGrpcStatus(*refused) : grpc::Status();
}

}  // namespace headgate::rpc
