// From the token in a call's `authorization: Bearer ...` to the caller that it stands for.
//
// A token is taken over TLS only. A bad one is refused, and never taken for no token at all.
//
// A function of what is passed, but for the connection, which learns the last good token.

#pragma once

#include <optional>

#include "server/govern/access/access_policy.h"
#include "server/govern/access/evidence.h"
#include "server/govern/access/refusal.h"
#include "server/govern/access/token_book.h"

namespace headgate::access {

// What a call brings.
struct TokenCall {
  const Evidence& evidence;
  KnownConnection* connection = nullptr;  // was judged under this policy and these tokens; or null
};
// Sets the caller; null: the call has no token.
std::optional<Refusal> FindCallerByToken(const AccessPolicy& policy, const TokenBook& tokens,
                                         const TokenCall& call, const Caller*& caller);

}  // namespace headgate::access
