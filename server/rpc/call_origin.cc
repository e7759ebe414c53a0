#include "server/rpc/call_origin.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <memory>
#include <utility>

namespace headgate::rpc {

bool IsPlaintext(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> origin = context.auth_context();
  if (origin == nullptr) return true;
  for (const grpc::string_ref& type :
       origin->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME)) {
    if (type == GRPC_SSL_TRANSPORT_SECURITY_TYPE || type == GRPC_TLS_TRANSPORT_SECURITY_TYPE) {
      return false;
    }
  }
  return true;
}

std::vector<std::string> CertificateNames(const grpc::ServerContextBase& context) {
  std::vector<std::string> names;
  const std::shared_ptr<const grpc::AuthContext> origin = context.auth_context();
  if (origin == nullptr || !origin->IsPeerAuthenticated()) return names;
  for (const auto& [property, kind] : {std::pair(GRPC_PEER_URI_PROPERTY_NAME, "URI:"),
                                       std::pair(GRPC_PEER_DNS_PROPERTY_NAME, "DNS:")}) {
    for (const grpc::string_ref& name : origin->FindPropertyValues(property)) {
      names.push_back(std::string(kind).append(name.data(), name.size()));
    }
  }
  return names;
}

}  // namespace headgate::rpc
