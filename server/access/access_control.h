// AccessControl: whom every RPC asks. Who calls, and may it?
//
// Without a policy everything is allowed, to nobody in particular; with one everything is refused
// that is not granted. Who calls is decided by the first of these that applies:
// 1. the verified certificate of the connection: the caller that one of its names is listed for. A
//    certificate with names of two callers is nobody's;
// 2. the token in the call's `authorization: Bearer ...`, over TLS only. A bad one is refused, and
//    never taken for no token at all;
// 3. `anybody`, if there is such a caller.
//
// Grants are replaced while calls run: a call is answered under those that it began with, and each
// message of a stream counts as a call. Every refusal is counted and, seldom enough, told.
//
// Thread-safe. Identify costs nanoseconds without a policy, and with a cache about 70 for a known
// certificate (tests/bench/access_bench.cc).
//
//   const Caller* caller = nullptr;
//   if (auto refusal = access.Identify(context, &cache, caller)) return ToGrpcStatus(*refusal);
//   if (auto refusal = access.MayCheck(caller, "job-7:etl", request.tags())) ...

#ifndef HEADGATE_SERVER_ACCESS_ACCESS_CONTROL_H_
#define HEADGATE_SERVER_ACCESS_ACCESS_CONTROL_H_

#include <grpcpp/server_context.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/published.h"
#include "server/access/caller_cache.h"
#include "server/access/policy.h"
#include "server/access/refusal.h"
#include "server/access/refusal_log.h"
#include "server/access/token_book.h"

namespace headgate::access {

class AccessControl {
 public:
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

  // Those that were set last.
  std::shared_ptr<const TokenBook> tokens() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return tokens_;
  }

  using Refused = std::optional<Refusal>;

  // Sets who calls; null where access is off. The caller stays valid until this thread's next
  // Identify, and is asked about only while that call is answered. `cache` may be null.
  [[nodiscard]] Refused Identify(grpc::ServerContext& context, CallerCache* cache,
                                 const Caller*& caller) {
    const std::shared_ptr<const Grants>& grants = grants_.Get();
    caller = nullptr;
    if (grants == nullptr) [[likely]]
      return std::nullopt;
    return IdentifyUnder(*grants, context, cache, caller);
  }

  // Whether the caller, as Identify set it on this thread, may. A null one may do everything.
  //
  // To ask for work as this identity with these tags: a range of pairs of texts. An identity that
  // is none is let through, for the engine to say what is wrong with it.
  template <typename Tags>
  [[nodiscard]] Refused MayCheck(const Caller* caller, std::string_view identity,
                                 const Tags& tags) {
    if (caller == nullptr) [[likely]]
      return std::nullopt;
    const AccessPolicy& policy = caller->policy();
    const size_t granted = caller->GrantedBytes(identity);
    if (granted == 0) [[unlikely]]
      return ForeignIdentity(*caller, identity, "identity");
    if (const auto segment = policy.ForeignSegment(*caller, identity, granted); !segment.empty()) {
      return ForeignSegment(*caller, segment);
    }
    if (policy.protected_tags().empty()) return std::nullopt;
    for (const auto& [key, value] : tags) {
      if (policy.protected_tags().Contains(key, value) && !caller->MayTag(key, value)) {
        return ForeignTag(*caller, key, value);
      }
    }
    return std::nullopt;
  }
  // To make or end overrides at all; and one on this identity and all below it, empty: on others.
  // `field` is the request's.
  [[nodiscard]] Refused MayOverride(const Caller* caller);
  [[nodiscard]] Refused MayOverride(const Caller* caller, std::string_view identity,
                                    const char* field);
  // To read the throttle log of this identity and all below it; empty: of all.
  [[nodiscard]] Refused MayReadLogs(const Caller* caller, std::string_view identity,
                                    const char* field);
  [[nodiscard]] Refused MayReadStatus(const Caller* caller);
  // Counts a Report of a permit that was never given to this caller.
  void NoteForeignPermit(const Caller* caller);

  RefusalCounts refusals() const { return refusals_.counts(); }

 private:
  // What is in force together.
  struct Grants {
    uint64_t number = 0;  // never that of others, in the whole process
    std::shared_ptr<const AccessPolicy> policy;
    std::shared_ptr<const TokenBook> tokens;
  };
  // What one connection or call says of its caller.
  struct Evidence;

  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Refused IdentifyUnder(const Grants& grants, grpc::ServerContext& context, CallerCache* cache,
                        const Caller*& caller);
  Refused ByCertificate(const Grants& grants, grpc_auth_context* connection, Evidence& evidence,
                        const Caller*& caller) const;
  Refused ByToken(const Grants& grants, const grpc::ServerContext& context,
                  CallerCache::Entry* entry, Evidence& evidence, const Caller*& caller) const;
  static Refusal Nobody(const Grants& grants, const Evidence& evidence);

  // Counts, and perhaps tells, a refusal of the call that this thread identified last.
  Refused Refuse(Refusal refusal);
  void Note(const Refusal& refusal);
  Refused ForeignIdentity(const Caller& caller, std::string_view identity, const char* field);
  Refused ForeignTag(const Caller& caller, std::string_view key, std::string_view value);
  Refused ForeignSegment(const Caller& caller, std::string_view segment);

  const uint64_t seed_;
  RefusalLog refusals_;
  Published<Grants> grants_;  // null: off

  mutable Mutex mutex_;
  std::shared_ptr<const AccessPolicy> policy_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const TokenBook> tokens_ ABSL_GUARDED_BY(mutex_) =
      std::make_shared<const TokenBook>();
};

}  // namespace headgate::access

#endif  // HEADGATE_SERVER_ACCESS_ACCESS_CONTROL_H_
