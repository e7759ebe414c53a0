#include "server/decide/engine/refund_order.h"

#include <algorithm>

#include "server/decide/engine/refund_total.h"

namespace headgate::engine {
namespace {

// Places are made of totals and wrap around with them.
bool IsBehind(int64_t place, int64_t other) { return TotalSince(place, other) > 0; }

}  // namespace

int64_t RefundOrder::Behind(uint64_t bucket, int64_t place) const {
  const Note* const end = notes_.data() + used_;
  const Note* note = std::lower_bound(
      notes_.data(), end, bucket, [](const Note& a, uint64_t sought) { return a.bucket < sought; });
  int64_t behind = 0;
  for (; note != end && note->bucket == bucket; ++note) {
    if (IsBehind(note->place, place)) behind += note->refunded_ns;
  }
  return behind;
}

void RefundOrder::Add(const Note& note, int64_t now_ns) {
  if (used_ == kMaxNotes) ForgetDrained(note.ledger, now_ns);
  if (used_ == kMaxNotes) MakeRoom();
  const auto comes_first = [](const Note& a, const Note& b) {
    return a.bucket != b.bucket ? a.bucket < b.bucket : IsBehind(b.place, a.place);
  };
  Note* const end = notes_.data() + used_;
  Note* const at = std::upper_bound(notes_.data(), end, note, comes_first);
  std::move_backward(at, end, end + 1);
  *at = note;
  ++used_;
}

void RefundOrder::ForgetDrained(uint32_t ledger, int64_t now_ns) {
  Note* const end = notes_.data() + used_;
  Note* const kept = std::remove_if(notes_.data(), end, [&](const Note& note) {
    return note.ledger == ledger && note.drained_at_ns <= now_ns;
  });
  used_ = static_cast<size_t>(kept - notes_.data());
}

void RefundOrder::Remove(size_t note) {
  std::move(notes_.data() + note + 1, notes_.data() + used_, notes_.data() + note);
  --used_;
}

size_t RefundOrder::ChoosePair(size_t first, size_t last) const {
  // Charges between the two places are the ones to suffer: so many at most, by so much each.
  const auto confused = [&](size_t note) {
    return static_cast<double>(notes_[note + 1].refunded_ns) *
           static_cast<double>(TotalSince(notes_[note + 1].place, notes_[note].place));
  };
  size_t best = first;
  for (size_t note = first + 1; note + 1 < last; ++note) {
    if (confused(note) < confused(best)) best = note;
  }
  return best;
}

void RefundOrder::MakeRoom() {
  size_t most_first = 0, most = 0;  // of the bucket with the most
  for (size_t note = 0, first = 0; note < used_; ++note) {
    if (notes_[note].bucket != notes_[first].bucket) first = note;
    if (note - first + 1 > most) {
      most = note - first + 1;
      most_first = first;
    }
  }
  if (most < 2) return Remove(turn_++ % used_);
  const size_t in_front = ChoosePair(most_first, most_first + most);
  notes_[in_front].refunded_ns += notes_[in_front + 1].refunded_ns;
  Remove(in_front + 1);
}

}  // namespace headgate::engine
