// The tokens that callers may present, by their hashes: whoever reads the file cannot call.
//
// One token a line, "NAME sha256:HEX", HEX being the SHA-256 of the token's bytes in 64 digits;
// empty lines and what follows a '#' say nothing. A name may have several tokens, so that a new one
// is in force before the old one is taken away; a token has one name. A file with anything else is
// refused as a whole, and each error says its line, without showing what stands there: it may be a
// token that somebody forgot to hash.
//
// Immutable and thread-safe.
//
//   absl::StatusOr<TokenBook> book = TokenBook::Parse(text, "/etc/headgate/tokens/tokens");
//   const std::string* name = book->Find(presented);  // null: no such token

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/govern/access/digest.h"

namespace headgate::access {

class TokenBook {
 public:
  static constexpr size_t kMaxNameBytes = 128;
  static constexpr size_t kMaxTokens = 10'000;
  static constexpr size_t kMaxFileBytes = size_t{4} << 20;
  // Shorter ones could be guessed, longer ones cost too much to look at.
  static constexpr size_t kMinTokenBytes = 16;
  static constexpr size_t kMaxTokenBytes = 512;

  TokenBook() = default;

  // InvalidArgument: the first twenty errors, each "FILE:LINE: what is wrong", one a line.
  static absl::StatusOr<TokenBook> Parse(std::string_view text, std::string_view file);

  // The name of a token as it was presented; null: there is no such token.
  const std::string* Find(std::string_view token) const;

  // Letters, digits and "_-.@/", at most 128.
  static bool IsName(std::string_view name);
  bool HasName(std::string_view name) const;
  std::vector<std::string> Names() const;  // sorted, each once
  size_t size() const { return names_.size(); }

 private:
  // Looked up by a hash of the presented text, so that time tells nothing of a token that exists.
  absl::flat_hash_map<Digest, std::string> names_;
};

}  // namespace headgate::access
