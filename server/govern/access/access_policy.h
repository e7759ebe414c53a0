// Who is who, and what each may do: immutable, and replaced whole.
//
// A caller is known by an alternative name of its certificate, by the name of its token, or is
// anybody. What is not granted is refused.
//
// - A selector grants a level of identities and all below it: `backfill` grants `backfill` and
//   `orders:backfill`, not `hot-backfill`.
// - A tag or a segment that may earn favours by a rule is protected: it takes a grant. The
//   segments of a selector are granted with it.
//
// Immutable and thread-safe. Pointers to callers live as long as the policy.
//
//   const AccessPolicy policy(spec, seed);
//   const Caller* caller = policy.ByCertificate("URI:spiffe://prod/ns/jobs/sa/backfill");
//   if (caller != nullptr && caller->MaySpeakFor("orders:backfill")) ...

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "common/strings.h"
#include "server/govern/access/access_spec.h"
#include "server/govern/access/permit_seal.h"

namespace headgate::access {

// "URI:..." or "DNS:..." as it is compared: names of hosts without regard to capitals.
std::string CanonicalName(std::string_view certificate);

// Tags by key.
class TagSet {
 public:
  explicit TagSet(const std::vector<TagSpec>& tags);

  bool empty() const { return values_.empty(); }
  bool Contains(std::string_view key, std::string_view value) const {
    const auto found = values_.find(Sv(key));
    return found != values_.end() && found->second.contains(Sv(value));
  }

 private:
  absl::flat_hash_map<std::string, absl::flat_hash_set<std::string>> values_;
};

class AccessPolicy;

class Caller {
 public:
  // The policy, which it is part of, outlives it.
  Caller(const CallerSpec& spec, uint64_t seed, const AccessPolicy& policy);

  const std::string& name() const { return name_; }

  // How much of an identity's end is granted, in bytes: the longest selector that it is under. 0:
  // nothing, so it may not speak for it. The text need not be a valid identity.
  size_t GrantedBytes(std::string_view identity) const;
  bool MaySpeakFor(std::string_view identity) const { return GrantedBytes(identity) > 0; }
  bool MaySpeakForAll() const { return any_identity_; }

  bool MayTag(std::string_view key, std::string_view value) const {
    return tags_.Contains(key, value);
  }
  bool MayUseSegment(std::string_view segment) const { return segments_.contains(Sv(segment)); }

  bool overrides() const { return overrides_; }
  bool exempt_overrides() const { return exempt_overrides_; }
  bool everything() const { return everything_; }
  bool costs() const { return costs_; }
  bool forgive() const { return forgive_; }
  bool logs() const { return logs_; }
  bool status() const { return status_; }
  bool servers() const { return servers_; }
  bool agent() const { return agent_; }
  // All that is granted, as one text: callers with the same one may do the same.
  const std::string& rights() const { return rights_; }
  // Whoever has no name of their own.
  bool is_anybody() const;
  const PermitSeal& seal() const { return seal_; }
  const AccessPolicy& policy() const { return policy_; }

 private:
  const AccessPolicy& policy_;
  const std::string name_;
  bool any_identity_ = false;
  absl::flat_hash_set<std::string> selectors_;
  uint32_t depths_ = 0;  // bit d - 1: some selector has d segments
  const TagSet tags_;
  const absl::flat_hash_set<std::string> segments_;
  const bool overrides_;
  const bool exempt_overrides_;
  const bool everything_;
  const bool costs_;
  const bool forgive_;
  const bool logs_;
  const bool status_;
  const bool servers_;
  const bool agent_;
  const std::string rights_;
  const PermitSeal seal_;
};

class AccessPolicy {
 public:
  // The spec is valid. `seed` is the process's secret, for permits' seals.
  AccessPolicy(const PolicySpec& spec, uint64_t seed);
  AccessPolicy(const AccessPolicy&) = delete;
  AccessPolicy& operator=(const AccessPolicy&) = delete;

  // Null: there is none. `name` is "URI:..." or "DNS:...".
  const Caller* ByCertificate(std::string_view name) const;
  const Caller* ByToken(std::string_view name) const;
  // The one that the configuration calls so.
  const Caller* ByName(std::string_view name) const;
  const Caller* anybody() const { return anybody_; }

  bool knows_certificates() const { return !by_certificate_.empty(); }
  bool knows_tokens() const { return !by_token_.empty(); }

  // Whether it takes a grant.
  const TagSet& protected_tags() const { return protected_tags_; }
  // A protected segment of the identity that the caller may not use; empty: none. `granted` is
  // what GrantedBytes says of it.
  std::string_view ForeignSegment(const Caller& caller, std::string_view identity,
                                  size_t granted) const;

 private:
  std::deque<Caller> callers_;  // others point there
  absl::flat_hash_map<std::string, const Caller*> by_certificate_;
  absl::flat_hash_map<std::string, const Caller*> by_token_;
  absl::flat_hash_map<std::string, const Caller*> by_name_;
  const Caller* anybody_ = nullptr;
  const TagSet protected_tags_;
  const absl::flat_hash_set<std::string> protected_segments_;
};

inline bool Caller::is_anybody() const { return policy_.anybody() == this; }

}  // namespace headgate::access
