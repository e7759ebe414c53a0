// The address of a server as a person writes it.
//
// Pure functions; thread-safe.

#pragma once

#include <string>

namespace headgate::cli {

// "host" becomes "host:8081"; what has a port, or a scheme as unix:/path has, stays.
std::string WithPort(const std::string& address);
// Whether gRPC finds the right server by this address, WithPort. gRPC itself takes a port that is
// out of range for another one, and a missing port for that of HTTPS. It judges what follows a
// scheme.
bool IsAddress(const std::string& address);

}  // namespace headgate::cli
