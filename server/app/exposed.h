// Whether whoever reaches the network may do everything: a port is in plaintext and not on the
// loopback, and there is no access.
//
// Pure functions.
//
//   if (absl::Status refused = RefuseExposed(config, http_address, grpc_address); !refused.ok())

#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/govern/config/config.h"

namespace headgate::app {

// Of a server without TLS and access: the address of one such port; empty: there is none.
std::string ExposedAt(const std::string& http_address, const std::string& grpc_address);

// InvalidArgument: it would be so.
absl::Status RefuseExposed(const config::Config& config, const std::string& http_address,
                           const std::string& grpc_address);

}  // namespace headgate::app
