// Why a server that is there could not be reached, TLS being the usual reason: gRPC tells no more
// than that a handshake failed, or that a connection was closed.
//
// Makes one handshake of its own, by OpenSSL, and sends nothing over it. It takes as long as the
// timeout at most, and is done once a call has failed.
//
//   std::string why = ProbeTls({.address = "headgate:8081", .tls = ...}, absl::Seconds(2)).why;

#pragma once

#include <headgate/tls.h>

#include <string>

#include "absl/time/time.h"

namespace headgate::cli {

struct TlsFinding {
  bool speaks_tls = false;  // there was an answer, and it was TLS, be it a refusal
  // A line for a person, such as "its certificate has expired"; where several causes look alike, it
  // names them all. Empty: TLS is not the reason.
  std::string why = {};
};

// Nothing is found where nobody listens, or the address is not of the form host:port.
TlsFinding ProbeTls(const client::ConnectionOptions& options, absl::Duration timeout);

}  // namespace headgate::cli
