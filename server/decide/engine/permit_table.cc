#include "server/decide/engine/permit_table.h"

namespace headgate::engine {
namespace {

using State = PermitSlots::State;

}  // namespace

PermitTable::PermitTable(size_t permits, uint64_t seed, ConcurrencyTable& concurrency,
                         const PermitTableOptions& options)
    : concurrency_(concurrency),
      slots_(permits, seed),
      holders_(slots_.capacity(), options.max_share),
      expiry_({slots_, holders_, concurrency_}, options.least_between_looks_ns),
      claims_({slots_, holders_, expiry_}) {}

void PermitTable::Abandon(uint32_t slot) {
  expiry_.ReleaseHolder(slot);
  slots_.Free(slot);
}

PermitTable::Found PermitTable::Settle(PermitId id, uint32_t& slot) {
  State was = State::kFree;
  const Found found = slots_.Take(id, slot, was);
  if (found == Found::kSettling && was == State::kLive) expiry_.LetGo(slot);
  return found;
}

std::optional<LivePermit> PermitTable::Look(PermitId id, int64_t now_ns) const {
  if (!IsLive(id, now_ns)) return std::nullopt;
  const uint32_t slot = PermitSlots::SlotOf(id);
  const LivePermit live{.estimate = slots_.body(slot).estimate,
                        .expires_at_ns = slots_.ExpiresAt(slot),
                        .subject_key = slots_.body(slot).LeafKey()};
  // The same permit still: what was read is its own.
  if (!IsLive(id, now_ns)) return std::nullopt;
  return live;
}

void PermitTable::ForgetTarget(uint64_t target_key) {
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    const uint64_t word = slots_.Word(slot);
    const State state = PermitSlots::StateOf(word);
    if (state != State::kLive && state != State::kExpired) continue;
    if (slots_.body(slot).target_key != target_key) continue;
    // Where the slot has another permit by now, nothing is found.
    uint32_t found = 0;
    if (Settle(IdOf(PermitSlots::GenerationOf(word), slot), found) == Found::kSettling) {
      Settled(found);
    }
  }
}

}  // namespace headgate::engine
