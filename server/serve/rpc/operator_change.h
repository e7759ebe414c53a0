// What every change that an operator makes needs: a folder to keep it in, and who made it.
//
// Pure functions.
//
//   if (registry == nullptr) return NoStateFolder("overrides");
//   if (absl::Status valid = Attribute(*caller, deed.actor, deed.reason); !valid.ok()) ...

#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/govern/access/access_policy.h"

namespace headgate::rpc {

// Changes are refused where nothing could say later who made them.
grpc::Status NoStateFolder(std::string_view what);

// The actor is whoever called; whom the caller names besides is kept with the reason. What the
// caller sent is validated before that, as it was sent.
absl::Status Attribute(const access::Caller& caller, std::string& actor, std::string& reason);

}  // namespace headgate::rpc
