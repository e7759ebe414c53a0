// The address of a server as a person writes it.
//
// Pure functions; thread-safe.

#ifndef HEADGATE_CLIENT_CLI_ARGUMENTS_SERVER_ADDRESS_H_
#define HEADGATE_CLIENT_CLI_ARGUMENTS_SERVER_ADDRESS_H_

#include <string>

namespace headgate::cli {

// "host" becomes "host:8081"; what has a port, or a scheme as unix:/path has, stays.
std::string WithPort(const std::string& address);
// Whether gRPC could find a server by it, WithPort: it would take a port that is out of range for
// another one, and no port for that of HTTPS. What follows a scheme is gRPC's to judge.
bool IsAddress(const std::string& address);

}  // namespace headgate::cli

#endif  // HEADGATE_CLIENT_CLI_ARGUMENTS_SERVER_ADDRESS_H_
