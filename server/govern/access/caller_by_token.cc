#include "server/govern/access/caller_by_token.h"

#include <openssl/crypto.h>

#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "common/strings.h"

namespace headgate::access {
namespace {

constexpr std::string_view kBearer = "Bearer ";

bool SameBytes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Refusal Bad(const char* code, const char* text) {
  return {.code = code, .missing = "a token", .text = text};
}

}  // namespace

std::optional<Refusal> FindCallerByToken(const AccessPolicy& policy, const TokenBook& tokens,
                                         const TokenCall& call, const Caller*& caller) {
  const auto& [evidence, connection] = call;
  caller = nullptr;
  const auto headers = evidence.Authorization();
  if (headers.empty()) return std::nullopt;
  if (connection == nullptr && !evidence.IsTls()) {  // connections are kept over TLS only
    return Bad("TOKEN_WITHOUT_TLS", "a token is taken over TLS only, and this one is now known");
  }
  if (headers.size() > 1 || !absl::StartsWithIgnoreCase(Sv(headers[0]), Sv(kBearer))) {
    return Bad("BAD_TOKEN", "authorization must be one header, 'Bearer TOKEN'");
  }
  const std::string_view token = headers[0].substr(kBearer.size());
  if (connection != nullptr && connection->by_token != nullptr &&
      SameBytes(connection->token, token)) {
    caller = connection->by_token;
    return std::nullopt;
  }
  const std::string* const name = tokens.Find(token);
  caller = name == nullptr ? nullptr : policy.ByToken(*name);
  if (caller == nullptr) return Bad("BAD_TOKEN", "the token is not one that is known here");
  if (connection != nullptr) {
    connection->token = token;
    connection->by_token = caller;
  }
  return std::nullopt;
}

}  // namespace headgate::access
