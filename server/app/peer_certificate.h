// Whether a server's own certificate lets it be one of several: found out when it starts, and when
// its files change, rather than by callers whose Checks another server would not answer.
//
// Reads files; else pure. Thread-safe.
//
//   absl::Status status = CheckPeerCertificate({.tls = tls, .names = {"DNS:headgate-peer"},
//                                               .address = "10.0.0.1:8081"});

#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/govern/config/config.h"

namespace headgate::app {

struct PeerCertificateNeeds {
  config::TlsSettings tls;
  std::vector<std::string> names;  // cluster.peer_certificates
  std::string address;             // --member-address
};

// InvalidArgument says which of these does not hold of the certificate in tls.certificate_file: it
// has one of the names; it is for the host of the address; what is in tls.client_ca_file vouches
// for it, as a server and as a client. Whether it is still, or already, valid takes a clock, and is
// for those who are shown it.
absl::Status CheckPeerCertificate(const PeerCertificateNeeds& needs);

}  // namespace headgate::app
