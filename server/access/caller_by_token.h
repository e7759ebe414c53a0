// From the token in a call's `authorization: Bearer ...` to the caller that it stands for.
//
// A token is taken over TLS only. A bad one is refused, and never taken for no token at all.
//
// A function of what is passed, but for the connection, which learns the last good token.

#pragma once

#include <optional>

#include "server/access/evidence.h"
#include "server/access/policy.h"
#include "server/access/refusal.h"
#include "server/access/token_book.h"

namespace headgate::access {

// Sets the caller; null: the call has no token. `connection`, which may be null, was judged under
// this policy and these tokens.
std::optional<Refusal> FindCallerByToken(const AccessPolicy& policy, const TokenBook& tokens,
                                         const Evidence& evidence, KnownConnection* connection,
                                         const Caller*& caller);

}  // namespace headgate::access
