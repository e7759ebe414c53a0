// What one end of a TLS connection shows and trusts, read from files and checked: a certificate
// that is not its key's must never replace one that works.
//
// Files are PEM. A certificate file has the chain, the own certificate first; an authorities file
// may have several. Whether a certificate is still, or already, valid is not judged here: that
// takes a clock, and the other end judges it anyway.
//
// Pure functions; thread-safe.
//
//   absl::StatusOr<TlsCredentials> credentials = CredentialsOf(files, texts);  // of PathsOf(files)
//   ... credentials->expires_at ...

#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headgate {

// Paths; empty ones are not used.
struct TlsFiles {
  std::string certificates;  // with key
  std::string key;
  std::string authorities;

  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

// What is in them.
struct TlsCredentials {
  std::string certificates;
  std::string key;
  std::string authorities;
  absl::Time expires_at = absl::InfiniteFuture();  // the own certificate

  friend bool operator==(const TlsCredentials&, const TlsCredentials&) = default;
};

// Certificates, key, authorities.
std::vector<std::string> PathsOf(const TlsFiles& files);

// Those that the files have, whose texts these are, checked.
absl::StatusOr<TlsCredentials> CredentialsOf(const TlsFiles& files,
                                             const std::vector<std::string>& texts);

// Sets expires_at. InvalidArgument, "FILE: why": a file that is used has no certificate or no key,
// the key is encrypted or another certificate's, or OpenSSL finds one too weak.
absl::Status CheckCredentials(const TlsFiles& files, TlsCredentials& credentials);

}  // namespace headgate
