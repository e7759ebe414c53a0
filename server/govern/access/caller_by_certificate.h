// From a certificate to the caller that it stands for.
//
// Pure functions.
//
//   const Caller* caller = nullptr;
//   if (auto refusal = FindCallerByCertificate(policy, {"DNS:dba.example"}, caller)) return
//   refusal;

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/govern/access/access_policy.h"
#include "server/govern/access/refusal.h"

namespace headgate::access {

// Sets the caller that one of the certificate's names is listed for; null: there is none. A
// certificate with names of two callers is nobody's, and is refused.
std::optional<Refusal> FindCallerByCertificate(const AccessPolicy& policy,
                                               const std::vector<std::string>& names,
                                               const Caller*& caller);

}  // namespace headgate::access
