// Who calls. What a caller may is in access_control_grants.cc.

#include "server/govern/access/access_control.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/govern/access/caller_by_certificate.h"
#include "server/govern/access/caller_by_token.h"

namespace headgate::access {

void AccessControl::SetPolicy(const std::optional<PolicySpec>& spec) {
  auto policy = spec.has_value() ? std::make_shared<const AccessPolicy>(*spec, seed_) : nullptr;
  MutexLock lock(&mutex_);
  policy_ = std::move(policy);
  Publish();
  if (on_change_) on_change_();
}

void AccessControl::SetTokens(TokenBook tokens) {
  auto book = std::make_shared<const TokenBook>(std::move(tokens));
  MutexLock lock(&mutex_);
  tokens_ = std::move(book);
  Publish();
  if (on_change_) on_change_();
}

void AccessControl::Set(const std::optional<PolicySpec>& spec, TokenBook tokens) {
  auto policy = spec.has_value() ? std::make_shared<const AccessPolicy>(*spec, seed_) : nullptr;
  auto book = std::make_shared<const TokenBook>(std::move(tokens));
  MutexLock lock(&mutex_);
  policy_ = std::move(policy);
  tokens_ = std::move(book);
  Publish();
  if (on_change_) on_change_();
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

AccessControl::Refused AccessControl::IdentifyUnder(const Grants& grants, Asker& asker) {
  const AccessPolicy& policy = *grants.policy;
  const Evidence& evidence = *asker.evidence;
  const Caller*& caller = asker.caller;
  if (const std::string* const name = evidence.NameFromPeer(); name != nullptr) [[unlikely]]
    return IdentifyForwarded(policy, *name, asker);
  if (!policy.knows_certificates() && !policy.knows_tokens() && policy.anybody() != nullptr) {
    caller = policy.anybody();
    return std::nullopt;
  }
  KnownConnection* const connection = evidence.Connection();
  if (connection != nullptr && connection->grants == grants.number) {
    caller = connection->by_certificate;
  } else {
    if (policy.knows_certificates() && evidence.IsTls()) {
      Refused refused = FindCallerByCertificate(policy, evidence.CertificateNames(), caller);
      if (refused.has_value()) return Refuse(asker, *std::move(refused));
    }
    if (connection != nullptr) *connection = {.grants = grants.number, .by_certificate = caller};
  }
  if (caller != nullptr) [[likely]]
    return std::nullopt;
  if (policy.knows_tokens()) {
    Refused refused = FindCallerByToken(policy, *grants.tokens, {evidence, connection}, caller);
    if (refused.has_value()) return Refuse(asker, *std::move(refused));
    if (caller != nullptr) return std::nullopt;
  }
  caller = policy.anybody();
  if (caller != nullptr) return std::nullopt;
  return Refuse(asker, Nobody(policy, evidence));
}

AccessControl::Refused AccessControl::IdentifyForwarded(const AccessPolicy& policy,
                                                        const std::string& name, Asker& asker) {
  asker.caller = name.empty() ? policy.anybody() : policy.ByName(name);
  if (asker.caller != nullptr) return std::nullopt;
  return Refuse(asker, {.code = "UNKNOWN_CALLER",
                        .missing = "a caller that is configured",
                        .text = absl::StrCat("no caller ", Quoted(name),
                                             " is configured at the server that decides")});
}

void AccessControl::SetPeers(const std::vector<std::string>& certificates) {
  const MutexLock lock(&mutex_);
  peers_.clear();
  for (const std::string& certificate : certificates) peers_.insert(CanonicalName(certificate));
}

AccessControl::Refused AccessControl::MustBePeer(const Evidence& evidence) {
  if (evidence.IsTls()) {
    const std::vector<std::string> names = evidence.CertificateNames();
    const MutexLock lock(&mutex_);
    for (const std::string& name : names) {
      if (peers_.contains(CanonicalName(name))) return std::nullopt;
    }
  }
  const Asker nobody{.evidence = &evidence};
  return Refuse(nobody, {.code = "NOT_A_PEER",
                         .missing = "a peer's certificate",
                         .text = "only servers that share targets with this one may call it so"});
}

Refusal AccessControl::Nobody(const AccessPolicy& policy, const Evidence& evidence) {
  std::vector<std::string> wanted;
  if (policy.knows_certificates()) wanted.emplace_back("a client certificate");
  if (policy.knows_tokens()) wanted.emplace_back("a token");
  const std::string missing =
      wanted.empty() ? "a caller that is configured" : absl::StrJoin(wanted, " or ");
  const std::vector<std::string> names = evidence.CertificateNames();
  if (names.empty()) {
    return {.code = "NO_CALLER",
            .missing = missing,
            .text = absl::StrCat("nobody is known by this call; it takes ", missing)};
  }
  constexpr size_t kMaxShown = 3;
  std::vector<std::string> shown;
  for (size_t i = 0; i < names.size() && i < kMaxShown; ++i) {
    shown.push_back(Quoted(names[i]));
  }
  if (names.size() > kMaxShown) shown.emplace_back("...");
  return {.code = "UNKNOWN_CERTIFICATE",
          .missing = missing,
          .text = absl::StrCat("no caller is listed for this certificate, which has ",
                               absl::StrJoin(shown, ", "))};
}

AccessControl::Refused AccessControl::Refuse(const Asker& asker, Refusal refusal) {
  if (asker.caller != nullptr) refusal.caller = asker.caller->name();
  refusals_.Note(refusal, asker.evidence->Peer());
  return refusal;
}

}  // namespace headgate::access
