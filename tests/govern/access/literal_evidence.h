// Evidence that a test writes down, and tokens.
//
//   const LiteralEvidence call({.tls = true, .names = {"DNS:dba.example"}});
//   access.Identify(call, asker);

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "server/govern/access/evidence.h"
#include "server/govern/access/token_book.h"

namespace headgate::access {

struct Literals {
  bool tls = false;
  std::vector<std::string> names = {};
  std::vector<std::string> authorization = {};
  std::string peer = "ipv4:10.0.0.1:4711";
  KnownConnection* connection = nullptr;
};

class LiteralEvidence final : public Evidence {
 public:
  LiteralEvidence() = default;
  explicit LiteralEvidence(Literals literals) : literals_(std::move(literals)) {}

  KnownConnection* Connection() const override { return literals_.connection; }
  bool IsTls() const override { return literals_.tls; }
  std::vector<std::string> CertificateNames() const override {
    ++names_read;
    return literals_.names;
  }
  absl::InlinedVector<std::string_view, 2> Authorization() const override {
    return {literals_.authorization.begin(), literals_.authorization.end()};
  }
  std::string Peer() const override { return literals_.peer; }

  mutable int names_read = 0;

 private:
  const Literals literals_;
};

// The header of whoever has this token.
inline std::string Bearer(const std::string& token) { return "Bearer " + token; }

inline std::string TokenLine(const std::string& name, const std::string& token) {
  std::string line = name + " sha256:";
  for (const uint8_t byte : DigestOf(token)) absl::StrAppendFormat(&line, "%02x", byte);
  return line + "\n";
}

inline TokenBook BookOf(const std::string& text) {
  auto book = TokenBook::Parse(text, "tokens");
  EXPECT_TRUE(book.ok()) << book.status();
  return *std::move(book);
}

}  // namespace headgate::access
