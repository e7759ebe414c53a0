// Evidence: what a call brings that may say who makes it, and from where.
//
// Whoever takes calls gathers it, and AccessControl judges it, which asks for no more than it
// needs: a certificate's names cost more to read than a decision takes.
//
// Thread-compatible. It lives as long as its call is answered.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace headgate::access {

class Caller;

// What was judged of a connection, so that it need not be judged for each of its calls. It is kept
// by whoever can tell connections apart; what it says is for AccessControl alone.
struct KnownConnection {
  uint64_t grants = 0;  // under which it was judged; 0: it was not
  const Caller* by_certificate = nullptr;
  // The last good token on this connection, and whose it is.
  std::string token = {};
  const Caller* by_token = nullptr;
};

class Evidence {
 public:
  virtual ~Evidence() = default;

  // The same for each call of a connection over TLS, and nobody else's. Null: none is kept.
  virtual KnownConnection* Connection() const = 0;
  virtual bool IsTls() const = 0;
  // The names in the certificate that was verified: "URI:spiffe://prod/sa/backfill",
  // "DNS:dba.example". Empty: there is no such certificate.
  virtual std::vector<std::string> CertificateNames() const = 0;
  // The call's `authorization` headers.
  virtual absl::InlinedVector<std::string_view, 2> Authorization() const = 0;
  // "ipv4:10.0.0.1:4711", for people.
  virtual std::string Peer() const = 0;
  // The name of the caller as another server found it, which is a peer and has shown so; empty: it
  // found nobody in particular. Null: the caller called this server itself.
  virtual const std::string* NameFromPeer() const { return nullptr; }
};

}  // namespace headgate::access
