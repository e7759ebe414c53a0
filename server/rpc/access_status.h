// The refusals of access control as callers get them, and how services ask it.
//
// UNAUTHENTICATED where nobody is known, else PERMISSION_DENIED, with a google.rpc.ErrorInfo whose
// metadata say who ("caller") lacks what ("missing").
//
//   const access::Caller* caller = nullptr;
//   if (grpc::Status status = Identify(access_, context, nullptr, caller); !status.ok()) return
//   status; if (auto refused = access_.MayReadStatus(caller)) return ToGrpcStatus(*refused);

#ifndef HEADGATE_SERVER_RPC_ACCESS_STATUS_H_
#define HEADGATE_SERVER_RPC_ACCESS_STATUS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <string_view>

#include "server/access/access_control.h"

namespace headgate::rpc {

grpc::Status ToGrpcStatus(const access::Refusal& refusal);
// Of one item of several: "checks[3]".
void FillError(const access::Refusal& refusal, std::string_view path, v1::Error& error);

// Ok with who calls, or the refusal. Where access is off that is nobody in particular: null.
inline grpc::Status Identify(access::AccessControl& access, grpc::ServerContext& context,
                             access::CallerCache* cache, const access::Caller*& caller) {
  const access::AccessControl::Refused refused = access.Identify(context, cache, caller);
  return refused.has_value() ? ToGrpcStatus(*refused) : grpc::Status();
}

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_ACCESS_STATUS_H_
