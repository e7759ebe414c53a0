// Who holds leases: permits themselves keep only a hash of the identity.
//
// A name is noted with each lease that is granted, in bounded memory: one that is needed no more,
// because its leases have ended, makes room for another. Where there is no room the name of a
// newcomer is not known until there is. What was granted before a restart, or by another server,
// was not noted here.
//
// Thread-safe: a lock for each stripe, taken as often as leases are granted, which is seldom.
//
//   names.Note(resolved.subject_key, request.identity, ends_at_ns, now_ns);
//   std::string identity = names.Find(permit.LeafKey());

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/mutex.h"

namespace headgate::engine {

class LeaseNames {
 public:
  static constexpr size_t kStripes = 16;
  static constexpr size_t kMostOfStripe = 1024;

  LeaseNames() = default;
  LeaseNames(const LeaseNames&) = delete;
  LeaseNames& operator=(const LeaseNames&) = delete;

  // Monotonic times. Whoever has a lease until then is not forgotten before.
  void Note(uint64_t subject_key, std::string_view identity, int64_t ends_at_ns, int64_t now_ns);
  // Empty where it is not known.
  std::string Find(uint64_t subject_key) const;

 private:
  struct Holder {
    std::string identity;
    int64_t ends_at_ns = 0;  // of its leases, the last
  };
  struct Stripe {
    mutable Mutex mutex;
    absl::flat_hash_map<uint64_t, Holder> holders ABSL_GUARDED_BY(mutex);
    // Before this, none of a full stripe's can be forgotten.
    int64_t full_until_ns ABSL_GUARDED_BY(mutex) = 0;
  };

  // The lowest bit of a subject's key is always set.
  static size_t StripeOf(uint64_t subject_key) { return subject_key >> 1 & (kStripes - 1); }
  static bool MakeRoom(Stripe& stripe, int64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(stripe.mutex);

  std::array<Stripe, kStripes> stripes_;
};

}  // namespace headgate::engine
