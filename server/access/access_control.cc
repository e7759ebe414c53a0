// Who calls. What a caller may is in access_control_grants.cc.

#include "server/access/access_control.h"

#include <grpc/grpc_security.h>
#include <grpc/grpc_security_constants.h>
#include <openssl/crypto.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace headgate::access {
namespace {

constexpr std::string_view kAuthorization = "authorization";
constexpr std::string_view kBearer = "Bearer ";

// The reference that gRPC hands out.
class Connection {
 public:
  explicit Connection(grpc_call* call) : context_(grpc_call_auth_context(call)) {}
  ~Connection() {
    if (context_ != nullptr) grpc_auth_context_release(context_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  grpc_auth_context* get() const { return context_; }
  grpc_auth_context* Release() { return std::exchange(context_, nullptr); }

 private:
  grpc_auth_context* context_;
};

template <typename Visit>
void ForEach(const grpc_auth_context* connection, const char* property, Visit visit) {
  if (connection == nullptr) return;
  auto values = grpc_auth_context_find_properties_by_name(connection, property);
  while (const grpc_auth_property* value = grpc_auth_property_iterator_next(&values)) {
    visit(std::string_view(value->value, value->value_length));
  }
}

bool IsTls(const grpc_auth_context* connection) {
  bool tls = false;
  ForEach(connection, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME, [&](std::string_view type) {
    tls = type == GRPC_SSL_TRANSPORT_SECURITY_TYPE || type == GRPC_TLS_TRANSPORT_SECURITY_TYPE;
  });
  return tls;
}

// Of a certificate that was verified.
std::vector<std::string> NamesOf(grpc_auth_context* connection) {
  std::vector<std::string> names;
  if (connection == nullptr || grpc_auth_context_peer_is_authenticated(connection) == 0) {
    return names;
  }
  const auto add = [&](const char* kind) {
    return [&names, kind](std::string_view name) {
      names.push_back(absl::StrCat(kind, absl::string_view(name.data(), name.size())));
    };
  };
  // Not the property that has them all: there a name does not say of which kind it is.
  ForEach(connection, GRPC_PEER_URI_PROPERTY_NAME, add("URI:"));
  ForEach(connection, GRPC_PEER_DNS_PROPERTY_NAME, add("DNS:"));
  return names;
}

// The call that this thread identified last, for the peer of a refusal: reading that for each call
// would cost more than the decision. It is looked at only for a caller that Identify has set, and
// so only while the call is answered.
thread_local const grpc::ServerContext* identified = nullptr;

bool SameBytes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

struct AccessControl::Evidence {
  bool tls = false;
  std::vector<std::string> names;  // of the certificate
};

void AccessControl::SetPolicy(const std::optional<PolicySpec>& spec) {
  auto policy = spec.has_value() ? std::make_shared<const AccessPolicy>(*spec, seed_) : nullptr;
  MutexLock lock(&mutex_);
  policy_ = std::move(policy);
  Publish();
}

void AccessControl::SetTokens(TokenBook tokens) {
  auto book = std::make_shared<const TokenBook>(std::move(tokens));
  MutexLock lock(&mutex_);
  tokens_ = std::move(book);
  Publish();
}

void AccessControl::Set(const std::optional<PolicySpec>& spec, TokenBook tokens) {
  auto policy = spec.has_value() ? std::make_shared<const AccessPolicy>(*spec, seed_) : nullptr;
  auto book = std::make_shared<const TokenBook>(std::move(tokens));
  MutexLock lock(&mutex_);
  policy_ = std::move(policy);
  tokens_ = std::move(book);
  Publish();
}

void AccessControl::Publish() {
  if (policy_ == nullptr) {
    grants_.Set(nullptr);
    return;
  }
  auto grants = std::make_shared<Grants>();
  grants->number = NextPublication();
  grants->policy = policy_;
  grants->tokens = tokens_;
  grants_.Set(std::move(grants));
}

AccessControl::Refused AccessControl::IdentifyUnder(const Grants& grants,
                                                    grpc::ServerContext& context,
                                                    CallerCache* cache, const Caller*& caller) {
  identified = &context;
  const AccessPolicy& policy = *grants.policy;
  if (!policy.knows_certificates() && !policy.knows_tokens() && policy.anybody() != nullptr) {
    caller = policy.anybody();
    return std::nullopt;
  }
  Connection connection(context.c_call());
  CallerCache::Entry* entry =
      cache == nullptr ? nullptr : cache->Find(connection.get(), grants.number);
  Evidence evidence;
  if (entry != nullptr) {
    caller = entry->by_certificate;
    if (caller != nullptr) [[likely]]
      return std::nullopt;
    evidence.tls = true;  // others are not kept
  } else {
    evidence.tls = IsTls(connection.get());
    Refused ambiguous = ByCertificate(grants, connection.get(), evidence, caller);
    if (ambiguous.has_value()) return Refuse(*std::move(ambiguous));
    if (cache != nullptr && evidence.tls) {
      entry = &cache->Put(connection.Release(), grants.number);
      entry->by_certificate = caller;
    }
    if (caller != nullptr) return std::nullopt;
  }
  if (policy.knows_tokens()) {
    Refused bad = ByToken(grants, context, entry, evidence, caller);
    if (bad.has_value()) return Refuse(*std::move(bad));
    if (caller != nullptr) return std::nullopt;
  }
  caller = policy.anybody();
  if (caller != nullptr) return std::nullopt;
  if (evidence.names.empty()) evidence.names = NamesOf(Connection(context.c_call()).get());
  return Refuse(Nobody(grants, evidence));
}

AccessControl::Refused AccessControl::ByCertificate(const Grants& grants,
                                                    grpc_auth_context* connection,
                                                    Evidence& evidence,
                                                    const Caller*& caller) const {
  if (!evidence.tls || !grants.policy->knows_certificates()) return std::nullopt;
  evidence.names = NamesOf(connection);
  for (const std::string& name : evidence.names) {
    const Caller* const found = grants.policy->ByCertificate(name);
    if (found == nullptr || found == caller) continue;
    if (caller != nullptr) {
      Refusal refusal{.code = "AMBIGUOUS_CERTIFICATE",
                      .missing = "a certificate that names one caller",
                      .text = absl::StrCat("the certificate has the names of two callers, ",
                                           Quoted(caller->name()), " and ", Quoted(found->name()))};
      caller = nullptr;
      return refusal;
    }
    caller = found;
  }
  return std::nullopt;
}

AccessControl::Refused AccessControl::ByToken(const Grants& grants,
                                              const grpc::ServerContext& context,
                                              CallerCache::Entry* entry, Evidence& evidence,
                                              const Caller*& caller) const {
  const auto& metadata = context.client_metadata();
  const auto [first, last] =
      metadata.equal_range(grpc::string_ref(kAuthorization.data(), kAuthorization.size()));
  if (first == last) return std::nullopt;
  const auto bad = [](const char* code, const char* text) {
    return Refusal{.code = code, .missing = "a token", .text = text};
  };
  if (!evidence.tls) {
    return bad("TOKEN_WITHOUT_TLS", "a token is taken over TLS only, and this one is now known");
  }
  const absl::string_view header(first->second.data(), first->second.size());
  if (std::next(first) != last ||
      !absl::StartsWithIgnoreCase(header, absl::string_view(kBearer.data(), kBearer.size()))) {
    return bad("BAD_TOKEN", "authorization must be one header, 'Bearer TOKEN'");
  }
  const std::string_view token(header.data() + kBearer.size(), header.size() - kBearer.size());
  if (entry != nullptr && entry->by_token != nullptr && SameBytes(entry->token, token)) {
    caller = entry->by_token;
    return std::nullopt;
  }
  const std::string* const name = grants.tokens->Find(token);
  caller = name == nullptr ? nullptr : grants.policy->ByToken(*name);
  if (caller == nullptr) return bad("BAD_TOKEN", "the token is not one that is known here");
  if (entry != nullptr) {
    entry->token = token;
    entry->by_token = caller;
  }
  return std::nullopt;
}

Refusal AccessControl::Nobody(const Grants& grants, const Evidence& evidence) {
  std::vector<std::string> wanted;
  if (grants.policy->knows_certificates()) wanted.emplace_back("a client certificate");
  if (grants.policy->knows_tokens()) wanted.emplace_back("a token");
  const std::string missing =
      wanted.empty() ? "a caller that is configured" : absl::StrJoin(wanted, " or ");
  if (evidence.names.empty()) {
    return {.code = "NO_CALLER",
            .missing = missing,
            .text = absl::StrCat("nobody is known by this call; it takes ", missing)};
  }
  constexpr size_t kMaxShown = 3;
  std::vector<std::string> shown;
  for (size_t i = 0; i < evidence.names.size() && i < kMaxShown; ++i) {
    shown.push_back(Quoted(evidence.names[i]));
  }
  if (evidence.names.size() > kMaxShown) shown.emplace_back("...");
  return {.code = "UNKNOWN_CERTIFICATE",
          .missing = missing,
          .text = absl::StrCat("no caller is listed for this certificate, which has ",
                               absl::StrJoin(shown, ", "))};
}

void AccessControl::Note(const Refusal& refusal) { refusals_.Note(refusal, identified->peer()); }

AccessControl::Refused AccessControl::Refuse(Refusal refusal) {
  Note(refusal);
  return refusal;
}

}  // namespace headgate::access
