// PermitExpiry: which permits end without a Report, because their time is up, and what a permit
// gives back as it ends.
//
// There is no timer: whoever needs what an expired permit still holds looks for it. A Sweep looks
// at all slots, for concurrency; LookForExpired at some of them, for the permits of holders that
// may have no more.
//
// Thread-safe and lock-free. What it is given outlives it.
//
//   PermitExpiry expiry({slots, holders, concurrency}, least_between_looks_ns);
//   if (expiry.LookForExpired(now_ns)) ... try again ...

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "server/decide/engine/concurrency_table.h"
#include "server/decide/engine/line_interface.h"
#include "server/decide/engine/permit_holders.h"
#include "server/decide/engine/permit_slots.h"

namespace headgate::engine {

class PermitExpiry {
 public:
  struct Parts {
    PermitSlots& slots;
    PermitHolders& holders;
    ConcurrencyTable& concurrency;
  };
  // A look is at as many slots as are looked at in microseconds; all of them are looked at no more
  // than once in `least_between_looks_ns`.
  PermitExpiry(const Parts& parts, int64_t least_between_looks_ns);

  void AttachLine(LineInterface* line) { line_ = line; }

  // A permit that the caller has taken gives back its concurrency, and its holder may have another
  // in its place.
  void LetGo(uint32_t slot) {
    ReleaseConcurrency(parts_.slots.body(slot), parts_.concurrency, line_);
    ReleaseHolder(slot);
  }
  void ReleaseHolder(uint32_t slot);

  // Ends the permit of a slot whose word says that it is live; false: it has another word by now.
  bool Expire(uint32_t slot, uint64_t word);
  // Expires what is due, all over the table, so that its concurrency is free; and raises the bound
  // of `cell` to the next time at which looking again can help, `latest_ns` at the latest: a permit
  // that is being made meanwhile must not expire before that.
  void Sweep(uint32_t cell, int64_t now_ns, int64_t latest_ns);
  // Expires what is due in some of the slots, the next ones at each call. False: it was too soon.
  bool LookForExpired(int64_t now_ns);

 private:
  static constexpr size_t kSlotsOfALook = 32768;

  const Parts parts_;
  LineInterface* line_ = nullptr;
  const int64_t least_between_looks_ns_;
  std::atomic<int64_t> next_look_ns_{0};
  std::atomic<uint64_t> looked_to_{0};  // where the next look begins
};

}  // namespace headgate::engine
