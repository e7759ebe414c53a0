// Where a call came from, as its connection has proved it.
//
// Pure functions. Each costs some hundred nanoseconds.
//
//   if (IsPlaintext(context)) return Refuse();
//   for (const std::string& name : CertificateNames(context)) ...  // "URI:spiffe://prod/ns/jobs"

#ifndef HEADGATE_SERVER_RPC_CALL_ORIGIN_H_
#define HEADGATE_SERVER_RPC_CALL_ORIGIN_H_

#include <grpcpp/server_context.h>

#include <string>
#include <vector>

namespace headgate::rpc {

// Whether nothing encrypts the connection.
bool IsPlaintext(const grpc::ServerContextBase& context);

// The subject alternative names of the caller's certificate: "URI:...", then "DNS:...". Empty where
// the caller has none: one that could not be verified has not come so far.
std::vector<std::string> CertificateNames(const grpc::ServerContextBase& context);

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_CALL_ORIGIN_H_
