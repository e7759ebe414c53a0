// Permits that another server issued, for a target that this one decides for by now: so that their
// Reports are settled, and that what they hold of concurrency is given back.
//
// They are few, and looked for only where there are any: a permit's id says nothing of who issued
// it. One that was settled, or has expired, is remembered for as long again as a permit may live,
// so that a repeated Report is harmless and a late one is settled.
//
// Thread-safe. Concurrency that permits hold is acquired by who adopts them and released here.
//
//   adopted.Adopt(id, std::move(permit), expires_at_ns);
//   if (!adopted.IsEmpty()) outcome = adopted.Take(id, permit);

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "common/mutex.h"
#include "server/decide/engine/concurrency_table.h"
#include "server/decide/engine/lease_permit.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/engine/permit.h"

namespace headgate::engine {

class AdoptedPermits {
 public:
  // `ttl_ns`: how long a permit may live.
  AdoptedPermits(ConcurrencyTable& concurrency, int64_t ttl_ns)
      : concurrency_(concurrency), ttl_ns_(ttl_ns) {}

  void AttachLine(LineInterface* line) { line_ = line; }

  // relaxed: who reports a permit has heard of it from a server that had not handed it over yet, or
  // asks again.
  bool IsEmpty() const { return size_.load(std::memory_order_relaxed) == 0; }

  // In place of one with this id. `permit` holds what its charges say.
  void Adopt(PermitId id, std::unique_ptr<Permit> permit, int64_t expires_at_ns);

  enum class Found : uint8_t { kNo, kReported, kTaken };
  // kTaken: the permit is the caller's, to be settled, and holds nothing any more.
  Found Take(PermitId id, std::unique_ptr<Permit>& permit);

  // Gives back what expired permits hold, and forgets those that are long gone.
  void Expire(int64_t now_ns);
  // All of a target's, without settling them.
  void Forget(uint64_t target_key);

  // For saving: those that are out, and not settled.
  template <typename Visit>
  void ForEach(uint64_t target_key, const Visit& visit) const {
    MutexLock lock(&mutex_);
    for (const auto& [id, entry] : permits_) {
      if (entry.permit != nullptr && entry.permit->target_key == target_key) {
        visit(id, *entry.permit, entry.expires_at_ns);
      }
    }
  }
  // Those of leases, of any target. `visit` must not come back here.
  void ForEachLease(absl::FunctionRef<void(const LeasePermit&)> visit) const;

 private:
  struct Entry {
    std::unique_ptr<Permit> permit;  // null: it was settled
    int64_t expires_at_ns = 0;
  };

  void Release(Permit& permit);

  ConcurrencyTable& concurrency_;
  const int64_t ttl_ns_;
  LineInterface* line_ = nullptr;
  std::atomic<size_t> size_{0};
  mutable Mutex mutex_;
  absl::flat_hash_map<PermitId, Entry> permits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::engine
