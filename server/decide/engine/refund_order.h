// Which refunds went to charges that stood behind others, so that these are not thought to have
// been moved forward by them.
//
// The charges of a bucket drain in the order in which they were made. A charge's *place* is the
// sum of where it ended on the axis and of what its bucket had refunded until then: a number that
// grows from charge to charge, whatever is refunded in between. A refund to one place moves all
// those at larger places forward, and no other. A bucket counts its refunds in one total; a note
// here says that so much of that total went to some place, and so moved nobody in front of it.
//
// A note may be lost, or be joined with one in front of it: then a charge seems to have been moved
// forward by more than it was, and its refund is smaller than it could be, never larger. Where
// there is no room the bucket that has most notes joins two of its own, those that confuse least:
// one caller's many refunds do not take the notes of the others. Where each has one, they give way
// in turn: those of different ledgers have no time in common.
//
// Thread-compatible: whoever owns it holds a lock.
//
//   in_front = total since the charge - order.Behind(bucket, place of the charge);

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headgate::engine {

class RefundOrder {
 public:
  static constexpr size_t kMaxNotes = 128;

  struct Note {
    uint64_t bucket = 0;
    int64_t place = 0;          // of the charge that was refunded, or of one in front of it
    int64_t refunded_ns = 0;    // in the bucket's total
    int64_t drained_at_ns = 0;  // from then on nothing in front of `place` is left to refund
    uint32_t ledger = 0;        // on whose clock that is
  };

  // What was refunded behind `place`, as far as it is known.
  int64_t Behind(uint64_t bucket, int64_t place) const;
  // `now_ns` is on the clock of the note's ledger.
  void Add(const Note& note, int64_t now_ns);

  size_t size() const { return used_; }

 private:
  void ForgetDrained(uint32_t ledger, int64_t now_ns);
  void MakeRoom();
  // The two neighbours among those from `first` to `last` that confuse least as one: the former.
  size_t ChoosePair(size_t first, size_t last) const;
  void Remove(size_t note);

  std::array<Note, kMaxNotes> notes_;  // by bucket, and those of a bucket by place
  size_t used_ = 0;
  size_t turn_ = 0;  // which gives way next where each bucket has one
};

}  // namespace headgate::engine
