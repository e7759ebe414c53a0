// A copy of what a call brought that may say who makes it, for a call that is answered later, when
// gRPC's own things are not to be touched any more.
//
// Thread-compatible.
//
//   const KeptEvidence kept(call);
//   access::Asker asker;
//   if (auto refused = access.Identify(kept, asker)) ...

#pragma once

#include <string>
#include <vector>

#include "server/access/evidence.h"

namespace headgate::rpc {

class KeptEvidence final : public access::Evidence {
 public:
  explicit KeptEvidence(const access::Evidence& call)
      : is_tls_(call.IsTls()), certificate_names_(call.CertificateNames()), peer_(call.Peer()) {
    for (const std::string_view header : call.Authorization()) authorization_.emplace_back(header);
  }

  // Its connection may be gone by then, and another one in its place.
  access::KnownConnection* Connection() const override { return nullptr; }
  bool IsTls() const override { return is_tls_; }
  std::vector<std::string> CertificateNames() const override { return certificate_names_; }
  absl::InlinedVector<std::string_view, 2> Authorization() const override {
    return {authorization_.begin(), authorization_.end()};
  }
  std::string Peer() const override { return peer_; }

 private:
  const bool is_tls_;
  const std::vector<std::string> certificate_names_;
  std::vector<std::string> authorization_;
  const std::string peer_;
};

}  // namespace headgate::rpc
