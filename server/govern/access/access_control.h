// AccessControl: whom every call asks. Who makes it, and may it?
//
// Without a policy everything is allowed, to nobody in particular; with one everything is refused
// that is not granted. Who calls is decided by the first of these that applies:
// 1. the verified certificate of the connection (caller_by_certificate.h);
// 2. the token of the call (caller_by_token.h);
// 3. `anybody`, if there is such a caller.
// Who makes a call that a peer forwards, that peer has found out; its certificate is no caller's.
// Which certificates are peers' is set apart from the policy: without any, nobody is a peer. What a
// call brings is gathered by whoever takes calls (evidence.h): nothing here knows gRPC.
//
// Grants are replaced while calls run: a call is answered under those that it began with, and each
// message of a stream counts as a call. Every refusal is counted and, seldom enough, told.
//
// Thread-safe. Identify costs nanoseconds without a policy, and about 70 for a known certificate
// where connections are kept (tests/bench/access_bench.cc).
//
//   Asker asker;
//   if (auto refusal = access.Identify(evidence, asker)) return ToGrpcStatus(*refusal);
//   if (auto refusal = access.MayCheck(asker, "job-7:etl", request.tags())) ...

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/published.h"
#include "server/govern/access/access_policy.h"
#include "server/govern/access/evidence.h"
#include "server/govern/access/refusal.h"
#include "server/govern/access/refusal_log.h"
#include "server/govern/access/token_book.h"

namespace headgate::access {

// Who asks: what Identify found, and by which call.
struct Asker {
  const Caller* caller = nullptr;      // null: access is off
  const Evidence* evidence = nullptr;  // there is some where there is a caller
};

// What it takes to make an override, and as much to end it.
enum class OverrideGrant : uint8_t {
  kOverrides,   // a pause, throttle or resume of identities: `overrides`
  kExempt,      // an exemption of identities: `exempt_overrides`
  kEverything,  // whatever is done to everything: `everything`
};

class AccessControl {
 public:
  using Refused = std::optional<Refusal>;

  struct Options {
    // Secret; after a restart the same, where permits outlive it.
    uint64_t seed = 0;
    // See RefusalLog.
    std::function<void(const ToldRefusal&)> on_refused = {};
  };

  // Lets everybody do everything until it is told otherwise. The clock outlives this.
  AccessControl(Options options, Clock& clock)
      : seed_(options.seed), refusals_(clock, std::move(options.on_refused)) {}
  AccessControl(const AccessControl&) = delete;
  AccessControl& operator=(const AccessControl&) = delete;

  // Nothing: access is off. Tokens stay until they are replaced.
  void SetPolicy(const std::optional<PolicySpec>& spec) ABSL_LOCKS_EXCLUDED(mutex_);
  void SetTokens(TokenBook tokens) ABSL_LOCKS_EXCLUDED(mutex_);
  // Both at once: no call sees the one without the other.
  void Set(const std::optional<PolicySpec>& spec, TokenBook tokens) ABSL_LOCKS_EXCLUDED(mutex_);

  // The alternative names of peers' certificates: "URI:..." or "DNS:...".
  void SetPeers(const std::vector<std::string>& certificates) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a call comes from a peer; the refusal, if it does not. It reads the certificate: for
  // connections and streams rather than for each of their messages.
  [[nodiscard]] Refused MustBePeer(const Evidence& evidence) ABSL_LOCKS_EXCLUDED(mutex_);

  // Called after each change, by whoever makes it. Nothing: nobody.
  void SetOnChange(std::function<void()> on_change) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    on_change_ = std::move(on_change);
  }

  // Those that were set last.
  std::shared_ptr<const TokenBook> tokens() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return tokens_;
  }

  // Whether there is a policy.
  bool is_on() { return grants_.Get() != nullptr; }

  // Sets who asks. The caller stays valid until this thread's next Identify, and is asked about
  // only while that call, whose evidence this is, is answered.
  [[nodiscard]] Refused Identify(const Evidence& evidence, Asker& asker) {
    const std::shared_ptr<const Grants>& grants = grants_.Get();
    asker.caller = nullptr;
    asker.evidence = &evidence;
    if (grants == nullptr) [[likely]]
      return std::nullopt;
    return IdentifyUnder(*grants, asker);
  }

  // Whether who asks, as Identify set it on this thread, may. Without a caller it may everything.
  //
  // To ask for work as this identity with these tags: a range of pairs of texts. An identity that
  // is none is let through, for the engine to say what is wrong with it.
  template <typename Tags>
  [[nodiscard]] Refused MayCheck(const Asker& asker, std::string_view identity, const Tags& tags) {
    if (asker.caller == nullptr) [[likely]]
      return std::nullopt;
    const Caller& caller = *asker.caller;
    const AccessPolicy& policy = caller.policy();
    const size_t granted = caller.GrantedBytes(identity);
    if (granted == 0) [[unlikely]]
      return ForeignIdentity(asker, identity, "identity");
    if (const auto segment = policy.ForeignSegment(caller, identity, granted); !segment.empty()) {
      return ForeignSegment(asker, segment);
    }
    if (policy.protected_tags().empty()) return std::nullopt;
    for (const auto& [key, value] : tags) {
      if (policy.protected_tags().Contains(key, value) && !caller.MayTag(key, value)) {
        return ForeignTag(asker, key, value);
      }
    }
    return std::nullopt;
  }
  // To make or end any override at all; and one of this kind on this identity and all below it,
  // empty: on others. One on everything takes its own grant, whatever the identity. `field` is the
  // request's.
  [[nodiscard]] Refused MayOverride(const Asker& asker);
  [[nodiscard]] Refused MayOverride(const Asker& asker, OverrideGrant grant,
                                    std::string_view identity, const char* field);
  // The refusal of a resume that would lift this emergency stop, "override 7: everything paused by
  // ann (disk full)", whose caller is not granted `everything`.
  [[nodiscard]] Refused RefuseToLiftStop(const Asker& asker, std::string_view stop);
  // To see or forget what was learnt of the costs of this identity and all below it; empty: of all.
  [[nodiscard]] Refused MayUseCosts(const Asker& asker, std::string_view identity,
                                    const char* field);
  // To forgive what this identity and all below it owe; empty: what all owe.
  [[nodiscard]] Refused MayForgive(const Asker& asker, std::string_view identity,
                                   const char* field);
  // To read the throttle log of this identity and all below it; empty: of all.
  [[nodiscard]] Refused MayReadLogs(const Asker& asker, std::string_view identity,
                                    const char* field);
  [[nodiscard]] Refused MayReadStatus(const Asker& asker);
  // To say which server decides for which target.
  [[nodiscard]] Refused MayArrangeServers(const Asker& asker);
  // To say, as an agent, which sessions of a target yield.
  [[nodiscard]] Refused MayBeAgent(const Asker& asker);
  // Counts a Report of a permit that was never given to this caller.
  void NoteForeignPermit(const Asker& asker);

  RefusalCounts refusals() const { return refusals_.counts(); }

 private:
  // What is in force together.
  struct Grants {
    uint64_t number = 0;  // never that of others, in the whole process
    std::shared_ptr<const AccessPolicy> policy;
    std::shared_ptr<const TokenBook> tokens;
  };

  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Refused IdentifyUnder(const Grants& grants, Asker& asker);
  Refused IdentifyForwarded(const AccessPolicy& policy, const std::string& name, Asker& asker);
  static Refusal Nobody(const AccessPolicy& policy, const Evidence& evidence);

  // Counts, and perhaps tells, a refusal of this call.
  Refused Refuse(const Asker& asker, Refusal refusal);
  // A right that reaches over the caller's identities: whether it is granted, and to this one.
  struct IdentityRight {
    RefusalReason reason;
    const char* code;
    const char* name;   // of the grant
    const char* doing;  // "may ... of its own identities only"
  };
  Refused MayDo(const Asker& asker, const IdentityRight& right, bool granted,
                std::string_view identity, const char* field);
  Refused ForeignIdentity(const Asker& asker, std::string_view identity, const char* field);
  Refused ForeignTag(const Asker& asker, std::string_view key, std::string_view value);
  Refused ForeignSegment(const Asker& asker, std::string_view segment);

  const uint64_t seed_;
  RefusalLog refusals_;
  Published<Grants> grants_;  // null: off

  mutable Mutex mutex_;
  std::function<void()> on_change_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string> peers_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const AccessPolicy> policy_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const TokenBook> tokens_ ABSL_GUARDED_BY(mutex_) =
      std::make_shared<const TokenBook>();
};

}  // namespace headgate::access
