// Copying permits while they are issued and settled.
//
// A permit's body is copied between two looks at its state: the same state and generation both
// times, and it was nobody's but the permit's in between. One that is being settled is not waited
// for; one that is just being expired is, for it keeps its charges.

#include <algorithm>

#include "server/decide/engine/permit_table.h"
#include "server/decide/engine/saved_state.h"

namespace headgate::engine {
namespace {

using State = PermitSlots::State;

}  // namespace

PermitTable::SlotStates PermitTable::ReadSlotStates() const {
  SlotStates states(slots_.size());
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    // Word acquires: what a permit was charged is in its buckets for whoever reads those
    // afterwards.
    states[slot] = slots_.Word(slot);
  }
  return states;
}

void PermitTable::SaveOne(uint32_t slot, uint64_t before, SavedState& state) const {
  const size_t charges_before = state.charges.size();
  constexpr int kPatience = 1000;
  for (int i = 0; i < kPatience; ++i) {
    // The body as of this state.
    const uint64_t word = slots_.Word(slot);
    const State at = PermitSlots::StateOf(word);
    if (PermitSlots::GenerationOf(word) != PermitSlots::GenerationOf(before) ||
        at == State::kFree) {
      return;
    }
    if (at == State::kBusy) continue;
    const Permit& permit = slots_.body(slot);
    const uint32_t charges = std::min<uint32_t>(permit.charges_used, kMaxBudgetsPerCheck);
    const SavedPermit saved{.slot = slot,
                            .charges = charges,
                            .expired = at == State::kExpired,
                            .expires_at_ns = slots_.ExpiresAt(slot),
                            .subject = {.target = permit.target_key,
                                        .root = permit.root_key,
                                        .caller = permit.caller_key,
                                        .pattern = permit.pattern_key},
                            .policy_version = permit.policy_version,
                            .estimate = permit.estimate,
                            .issued_at_ns = permit.issued_at_ns,
                            .teaches = permit.teaches,
                            .busy_charges = permit.busy_charges,
                            .holder = SavedHolderOf(slot, word)};
    for (uint32_t c = 0; c < charges; ++c) {
      const PermitCharge& charge = permit.charges[c];
      const uint32_t cell = charge.concurrency;
      const bool holds = cell != ConcurrencyTable::kNone;
      const bool owes = charge.tag != 0;  // else it has no place
      state.charges.push_back({.tag = charge.tag,
                               .ended_at_ns = owes ? int64_t{charge.ended_at_ns} : 0,
                               .refunded_since_ns = owes ? int64_t{charge.refunded_ns} : 0,
                               .cost = charge.cost,
                               .ledger = charge.ledger,
                               .concurrency_key = holds ? concurrency_.KeyOf(cell) : 0});
    }
    // Every field's acquire keeps this look behind it.
    if (slots_.Word(slot) == word) {
      state.permits.push_back(saved);
      state.generations[slot] = PermitSlots::GenerationOf(word);
      return;
    }
    state.charges.resize(charges_before);
  }
}

uint64_t PermitTable::SavedHolderOf(uint32_t slot, uint64_t word) const {
  if (PermitSlots::StateOf(word) != State::kLive) return 0;
  // SaveOne looks at the state once more.
  return holders_.SavedKeyOf(slots_.HolderOf(slot));
}

void PermitTable::Save(const SlotStates& before, SavedState& state) const {
  state.permits.clear();
  state.charges.clear();
  state.first_generation = slots_.first_generation();
  state.generation_floor = slots_.floor();
  state.hands = claims_.SaveHands();
  state.generations.resize(slots_.size());
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    const uint64_t word = slots_.Word(slot);
    state.generations[slot] = PermitSlots::GenerationOf(word);
    // One that is out now was issued since the states were read, unless SaveOne finds otherwise. It
    // is to be forgotten, like all that the slot had before, and not to be one that was settled.
    if (PermitSlots::StateOf(word) != State::kFree) {
      const uint64_t issued = slots_.IssuedOf(state.generations[slot]);
      state.generation_floor = std::max(state.generation_floor, issued);
      state.generations[slot] = slots_.first_generation();
    }
    const State state_then = PermitSlots::StateOf(before[slot]);
    if (state_then == State::kLive || state_then == State::kExpired) {
      SaveOne(slot, before[slot], state);
    }
  }
  holders_.SaveNames(state.holders);
}

void PermitTable::RestoreOne(const SavedState& state, size_t place, size_t first_charge,
                             const TimeShift& shift) {
  const SavedPermit& saved = state.permits[place];
  Permit& permit = slots_.body(saved.slot);
  permit.target_key = saved.subject.target;
  permit.root_key = saved.subject.root;
  permit.caller_key = saved.subject.caller;
  permit.pattern_key = saved.subject.pattern;
  permit.policy_version = saved.policy_version;
  permit.estimate = saved.estimate;
  permit.issued_at_ns = shift(saved.issued_at_ns);
  permit.teaches = saved.teaches;
  permit.busy_charges = saved.busy_charges;
  permit.KeepCharges(saved.charges, 0);
  const int64_t expires_at = shift(saved.expires_at_ns);
  bool holds = false;
  for (uint32_t c = 0; c < saved.charges; ++c) {
    const SavedCharge& from = state.charges[first_charge + c];
    PermitCharge& to = permit.charges[c];
    to.tag = from.tag;
    to.ended_at_ns = from.ended_at_ns;
    to.refunded_ns = Ledger::StampAfterRestart(from.refunded_since_ns);
    to.cost = from.cost;
    to.ledger = from.ledger;
    uint32_t cell = ConcurrencyTable::kNone;
    if (from.concurrency_key != 0 && !saved.expired &&
        concurrency_.Acquire(from.concurrency_key, ConcurrencyTable::kMaxLimit, expires_at, cell) !=
            ConcurrencyTable::Outcome::kAcquired) {
      cell = ConcurrencyTable::kNone;  // too many hashes collide: it is not counted
    }
    to.concurrency = cell;
    holds |= cell != ConcurrencyTable::kNone;
  }
  permit.holds_concurrency = holds;
  if (!saved.expired) {
    const bool in_table = saved.slot < capacity();
    slots_.SetHolder(saved.slot, holders_.Restore(saved.holder, shift.now_ns(), in_table));
  }
  slots_.RestorePermit(saved.slot, state.generations[saved.slot],
                       saved.expired ? State::kExpired : State::kLive, expires_at);
}

bool PermitTable::IsKept(const SavedPermit& saved, const TimeShift& shift) const {
  return saved.slot < capacity() || (!saved.expired && shift(saved.expires_at_ns) > shift.now_ns());
}

void PermitTable::MakeRoom(const SavedState& state, const TimeShift& shift) {
  // They are in the order of their slots.
  const auto last = std::find_if(state.permits.rbegin(), state.permits.rend(),
                                 [&](const auto& saved) { return IsKept(saved, shift); });
  if (last == state.permits.rend() || last->slot < slots_.size()) return;
  slots_.Grow(last->slot + 1);
  concurrency_.MakeRoom(4 * slots_.size());  // as many for each as there are without
}

absl::Status PermitTable::RestoreNumbers(const SavedState& state, int64_t lost_ns) {
  // No table issues as many permits as this in a second, however few slots it has to go round.
  constexpr uint64_t kMaxInSecond = uint64_t{1} << 25;
  constexpr uint64_t kMargin = uint64_t{1} << 20;
  constexpr uint64_t kMax = PermitSlots::kMaxIssued;
  slots_.Number(state.first_generation, state.generation_floor);
  const uint64_t seconds = static_cast<uint64_t>(lost_ns) / 1'000'000'000;
  // As many slots as the one who saved went round: it may have had more, for permits of another
  // one.
  const uint64_t slots = std::max<uint64_t>(std::min(state.generations.size(), capacity()),
                                            PermitSlots::kLeastPermits);
  uint64_t floor = state.generation_floor;
  for (const uint64_t generation : state.generations) {
    floor = std::max(floor, slots_.IssuedOf(generation));
  }
  const uint64_t skipped = kMargin + std::min(seconds * kMaxInSecond / slots, kMax);
  if (floor > kMax - std::min(skipped, kMax)) {
    return absl::ResourceExhaustedError("no numbers are left for new permits");
  }
  slots_.Number(state.first_generation, floor + skipped);
  return absl::OkStatus();
}

absl::Status PermitTable::Restore(const SavedState& state, const TimeShift& shift,
                                  int64_t lost_ns) {
  MakeRoom(state, shift);
  if (absl::Status status = RestoreNumbers(state, lost_ns); !status.ok()) return status;
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    const bool known = slot < state.generations.size();
    slots_.RestoreFree(slot, known ? state.generations[slot] : slots_.first_generation());
  }
  claims_.RestoreHands(state.hands);
  size_t charge = 0;
  for (size_t i = 0; i < state.permits.size(); ++i) {
    const SavedPermit& saved = state.permits[i];
    if (IsKept(saved, shift)) {
      RestoreOne(state, i, charge, shift);
    } else if (saved.slot < slots_.size()) {
      // As if it had never had one, so that its permit is a forgotten one.
      slots_.RestoreFree(saved.slot, slots_.first_generation());
    }
    charge += saved.charges;
  }
  holders_.RestoreNames(state.holders);
  return absl::OkStatus();
}

}  // namespace headgate::engine
