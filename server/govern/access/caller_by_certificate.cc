#include "server/govern/access/caller_by_certificate.h"

#include "absl/strings/str_cat.h"

namespace headgate::access {

std::optional<Refusal> FindCallerByCertificate(const AccessPolicy& policy,
                                               const std::vector<std::string>& names,
                                               const Caller*& caller) {
  caller = nullptr;
  for (const std::string& name : names) {
    const Caller* const found = policy.ByCertificate(name);
    if (found == nullptr || found == caller) continue;
    if (caller != nullptr) {
      Refusal refusal{.code = "AMBIGUOUS_CERTIFICATE",
                      .missing = "a certificate that names one caller",
                      .text = absl::StrCat("the certificate has the names of two callers, ",
                                           Quoted(caller->name()), " and ", Quoted(found->name()))};
      caller = nullptr;
      return refusal;
    }
    caller = found;
  }
  return std::nullopt;
}

}  // namespace headgate::access
