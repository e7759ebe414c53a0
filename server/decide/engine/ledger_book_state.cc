#include <algorithm>
#include <utility>

#include "server/decide/engine/ledger_book.h"
#include "server/decide/engine/saved_state.h"

namespace headgate::engine {
namespace {

SavedClock SaveClock(const std::string& name, const VirtualClock::Reading& reading) {
  return {.name = name,
          .real_base_ns = reading.real_base_ns,
          .virtual_base_ns = reading.virtual_base_ns,
          .speed_fixed = reading.speed_fixed,
          .health = Storable(reading.health)};
}

// The clock goes on at the speed that it had, because nobody knows a better one.
std::shared_ptr<VirtualClock> RestoreClock(const SavedClock& saved, Now saved_at, Now now,
                                           int64_t elapsed_ns, const TimeShift& shift) {
  const int64_t run_ns = saved_at.monotonic_ns - saved.real_base_ns + elapsed_ns;
  const int64_t virtual_ns = VirtualClock::After(saved.virtual_base_ns, run_ns, saved.speed_fixed);
  auto clock = std::make_shared<VirtualClock>(now.monotonic_ns, virtual_ns);
  Health health = saved.health;
  health.speed = static_cast<double>(saved.speed_fixed) / 0x1p32;
  health.sampled_at_ns = shift(health.sampled_at_ns);
  health.next_sample_at_ns = shift(health.next_sample_at_ns);
  clock->Set(health, now.monotonic_ns);
  return clock;
}

}  // namespace

void LedgerBook::Save(Now now, SavedState& state) const {
  absl::flat_hash_map<const VirtualClock*, uint32_t> places;
  const auto save_clock = [&](const std::string& name, const VirtualClock& clock) {
    const auto [known, is_new] =
        places.try_emplace(&clock, static_cast<uint32_t>(state.clocks.size()));
    if (is_new) state.clocks.push_back(SaveClock(name, clock.Read(now.monotonic_ns)));
    return known->second;
  };
  state.clocks.clear();
  for (const auto& [name, clock] : clocks_) save_clock(name, *clock);
  state.ledgers.resize(slots_.size());  // their tables are reused
  auto saved = state.ledgers.begin();
  // Sorted, so that what did not change is written alike.
  std::vector<std::pair<uint32_t, const std::string*>> by_slot;
  for (const auto& [name, slot] : slots_) by_slot.emplace_back(slot, &name);
  std::sort(by_slot.begin(), by_slot.end());
  for (const auto& [slot, name] : by_slot) {
    const Ledger& ledger = *ledgers_[slot];
    const bool frozen = &ledger.clock() == frozen_.get();
    saved->name = *name;
    saved->slot = slot;
    saved->idle = idle_.contains(*name);
    saved->clock = frozen ? SavedLedger::kFrozenClock : save_clock("", ledger.clock());
    ledger.Save(ledger.clock().Read(now.monotonic_ns).virtual_ns, *saved);
    ++saved;
  }
}

int64_t LedgerBook::RefundedSince(uint64_t version, const SavedCharge& charge) const {
  if (charge.tag == 0 || charge.ledger >= ledgers_.size()) return 0;
  const Ledger* const ledger = ledgers_[charge.ledger].get();
  if (ledger == nullptr) return 0;
  return ledger->RefundedSince(version, {charge.tag, charge.ended_at_ns, charge.refunded_since_ns});
}

void LedgerBook::Restore(const SavedState& state, Now now, int64_t elapsed_ns) {
  const TimeShift shift(state.saved_at, now, elapsed_ns);
  std::vector<std::shared_ptr<VirtualClock>> clocks;
  for (const SavedClock& saved : state.clocks) {
    clocks.push_back(RestoreClock(saved, state.saved_at, now, elapsed_ns, shift));
    if (!saved.name.empty()) clocks_[saved.name] = clocks.back();
  }
  for (const SavedLedger& saved : state.ledgers) {
    auto clock = saved.clock == SavedLedger::kFrozenClock ? frozen_ : clocks[saved.clock];
    if (ledgers_.size() <= saved.slot) ledgers_.resize(saved.slot + 1);
    ledgers_[saved.slot] = std::make_shared<Ledger>(
        Ledger::Axis{std::move(clock), saved.ns_per_unit, saved.is_auto, saved.unit}, saved,
        *refund_orders_);
    slots_[saved.name] = saved.slot;
    if (saved.idle) idle_.insert(saved.name);
  }
  restored_ = true;
}

}  // namespace headgate::engine
