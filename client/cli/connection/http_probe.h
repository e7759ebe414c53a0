// Whether HTTP/1 is spoken at an address, where gRPC needs HTTP/2: gRPC tells of that in plaintext
// only, and not as a cause.
//
// Makes a connection of its own and opens it as HTTP/2 does, in plaintext. Whoever speaks HTTP/2
// answers with a frame, whoever speaks HTTP/1 only with an error that says so. It takes twice the
// timeout at most, and is done once a call has failed.
//
//   if (SpeaksHttp1("headgate:8080", absl::Seconds(2))) ...

#pragma once

#include <string>

#include "absl/time/time.h"

namespace headgate::cli {

// False as well where nothing answers, or the address is not of the form host:port. Ports that
// speak TLS may answer so to what is none.
bool SpeaksHttp1(const std::string& address, absl::Duration timeout);

}  // namespace headgate::cli
