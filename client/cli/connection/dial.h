// A connection of a probe's own, to see what really answers at an address.
//
// A pure function but for the network; thread-safe.
//
//   const FileDescriptor connection = Dial({.host = "headgate", .port = 8081}, absl::Seconds(2));
//   if (!connection.ok()) return;  // nobody listens

#pragma once

#include "absl/time/time.h"
#include "common/file_descriptor.h"
#include "common/host_port.h"

namespace headgate::cli {

// Connecting, and each reading and writing after it, takes as long as the timeout at most. Of
// nothing: nobody listens.
FileDescriptor Dial(const HostPort& to, absl::Duration timeout);

}  // namespace headgate::cli
