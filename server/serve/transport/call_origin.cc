#include "server/serve/transport/call_origin.h"

#include <grpc/grpc_security_constants.h>

#include <string_view>

namespace headgate::transport {
namespace {

template <typename Visit>
void ForEach(const grpc_auth_context* context, const char* property, Visit visit) {
  if (context == nullptr) return;
  auto values = grpc_auth_context_find_properties_by_name(context, property);
  while (const grpc_auth_property* value = grpc_auth_property_iterator_next(&values)) {
    visit(std::string_view(value->value, value->value_length));
  }
}

}  // namespace

// A context that was made without a call, as in tests, has no connection.
CallOrigin::CallOrigin(grpc::ServerContext& context)
    : context_(context.c_call() == nullptr ? nullptr : grpc_call_auth_context(context.c_call())) {}

bool CallOrigin::IsTls() const {
  bool tls = false;
  ForEach(context_, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME, [&](std::string_view type) {
    tls =
        tls || type == GRPC_SSL_TRANSPORT_SECURITY_TYPE || type == GRPC_TLS_TRANSPORT_SECURITY_TYPE;
  });
  return tls;
}

std::vector<std::string> CallOrigin::CertificateNames() const {
  std::vector<std::string> names;
  if (context_ == nullptr || grpc_auth_context_peer_is_authenticated(context_) == 0) return names;
  const auto add = [&](const char* kind) {
    return [&names, kind](std::string_view name) { names.push_back(kind + std::string(name)); };
  };
  // Not the property that has them all: there a name does not say of which kind it is.
  ForEach(context_, GRPC_PEER_URI_PROPERTY_NAME, add("URI:"));
  ForEach(context_, GRPC_PEER_DNS_PROPERTY_NAME, add("DNS:"));
  return names;
}

}  // namespace headgate::transport
