// Certificates for tests, made with OpenSSL: an authority, and what it signs.
//
// Thread-compatible.
//
//   CertificateAuthority authority("test");
//   const TestCertificate server = authority.Sign({.dns = {"localhost"}, .ip = {"127.0.0.1"}});
//   WriteFile(folder.File("tls.crt"), server.certificate);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace headgate {

// In PEM.
struct TestCertificate {
  std::string certificate;
  std::string key;
};

struct TestCertificateSpec {
  std::string name = "test";
  std::vector<std::string> dns = {};
  std::vector<std::string> ip = {};
  std::vector<std::string> uri = {};
  // From now; below zero it has ended already.
  absl::Duration lifetime = absl::Hours(1);
  unsigned rsa_bits = 0;  // 0: a key on P-256
};

class CertificateAuthority {
 public:
  explicit CertificateAuthority(const std::string& name);
  ~CertificateAuthority();

  const std::string& certificate() const { return pem_; }
  // With a key of its own.
  TestCertificate Sign(const TestCertificateSpec& spec);
  // What a server on this host shows.
  TestCertificate SignServer(absl::Duration lifetime = absl::Hours(1)) {
    return Sign({.name = "server",
                 .dns = {"localhost", "headgate.example"},
                 .ip = {"127.0.0.1"},
                 .lifetime = lifetime});
  }

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string pem_;
  long serial_ = 1;
};

// As a tool does that writes a file of its own and renames it.
void ReplaceFile(const std::string& path, const std::string& text);

}  // namespace headgate
