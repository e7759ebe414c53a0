#include "server/transport/call_origin.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <memory>

namespace headgate::transport {

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

}  // namespace headgate::transport
