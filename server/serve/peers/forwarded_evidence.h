// What is known of who makes a call that a peer forwards: what that peer says, which is believed,
// since only a peer's calls get here.
//
// Thread-compatible. What it is made of outlives it.
//
//   const ForwardedEvidence evidence(call.caller(), call.peer());
//   grpc::Status status = thread.Check(evidence, call.check(), response, parking);

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/govern/access/evidence.h"

namespace headgate::peers {

class ForwardedEvidence final : public access::Evidence {
 public:
  ForwardedEvidence(const std::string& name, const std::string& peer) : name_(name), peer_(peer) {}

  access::KnownConnection* Connection() const override { return nullptr; }
  bool IsTls() const override { return true; }
  std::vector<std::string> CertificateNames() const override { return {}; }
  absl::InlinedVector<std::string_view, 2> Authorization() const override { return {}; }
  std::string Peer() const override { return peer_; }
  const std::string* NameFromPeer() const override { return &name_; }

 private:
  const std::string& name_;
  const std::string& peer_;
};

}  // namespace headgate::peers
