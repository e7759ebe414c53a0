#include "server/decide/engine/permit.h"

namespace headgate::engine {

void ReleaseConcurrency(Permit& permit, ConcurrencyTable& concurrency, LineInterface* line) {
  for (uint32_t i = 0; i < permit.charges_used; ++i) {
    PermitCharge& charge = permit.charges[i];
    if (charge.concurrency == ConcurrencyTable::kNone) continue;
    const uint64_t key = concurrency.KeyOf(charge.concurrency);
    concurrency.Release(charge.concurrency);
    charge.concurrency = ConcurrencyTable::kNone;
    if (line != nullptr && line->IsAnybodyHere()) line->RoomFreed(key);
  }
}

}  // namespace headgate::engine
