// What one deciding thread counts: exactly, in fixed memory, without a lock or an atomic
// read-modify-write, and without allocating but for names that were never seen before.
//
// A table of slots, one for each (identity, label) that asked lately. The counting thread adds to
// counters that only grow; the collector takes what they have grown by since it looked before. A
// slot is given to another key only when all of its counts were taken and none came for a while:
// the collector says so by storing the count that it took (`released`), and as every life of a slot
// counts on from the one before, an equal count means that nothing came since. So nothing is lost
// and nothing counted twice, whatever the two threads do.
//
// Where no slot can be had, the Check is counted under the next level up of its identity, folded,
// and where even the root has none, under "*": of those there is one for each label, always.
//
// Record is for one thread, Collect and Denials for one other at a time. The counters of State are
// for anybody.
//
//   ThreadCounts& counts = recorder.AddThread();
//   if (engine.Check(request, now, answer).ok()) counts.Record(request, answer, now);

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/clock.h"
#include "common/held_bytes.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/cause.h"
#include "server/decide/engine/lease_pieces.h"
#include "server/remember/throttle_log/count_slot.h"
#include "server/remember/throttle_log/denial_ring.h"
#include "server/remember/throttle_log/label.h"
#include "server/remember/throttle_log/last_checks.h"
#include "server/remember/throttle_log/row.h"

namespace headgate::throttle_log {

struct ThreadCountsOptions {
  uint64_t seed = 0;              // secret: keys the hashes of levels and names
  size_t max_identities = 16384;  // slots; rounded up to a power of two. 600 bytes each
  size_t max_labels = 1024;
  size_t ring_denials = 4096;  // that wait to be collected; 600 bytes each
  int quiet_rounds = 10;       // collections without a count until a slot may be given away
  HeldBytes* held = nullptr;   // counts what this takes; null: nobody does. It outlives this
  std::string server = {};     // of all rows
  LastChecks* last = nullptr;  // notes the newest of each identity; null: nobody does. It outlives
};

class ThreadCounts {
 public:
  using Take = absl::FunctionRef<void(const RowKey&, const Counts&)>;

  explicit ThreadCounts(const ThreadCountsOptions& options);

  // Counts a Check that was decided; not one that only repeats the answer to an earlier one. The
  // answer has its policy, as each has whose Check was OK.
  void Record(const engine::CheckRequest& request, const engine::CheckAnswer& answer, Now now) {
    if (answer.verdict == engine::Verdict::kAllowed && answer.reason == engine::Reason::kNone &&
        answer.violations.empty() && !answer.repeated && !answer.unmatched) [[likely]] {
      Slot& slot = slots_[Home(answer.subject_key)];
      if (slot.key == answer.subject_key) [[likely]] {
        NoteLast(slot, request, answer, now);
        slot.Add(answer.predicted_cost);
        return;
      }
    }
    RecordOther(request, answer, now);
  }

  // Counts pieces of a lease as so many Checks that were asked and had this cause.
  struct Pieces {
    const engine::PieceSubject& subject;
    std::string_view identity;
    CauseView cause;
    int64_t pieces = 0;
    double cost = 0;  // predicted, of all
  };
  void RecordPieces(const Pieces& pieces);

  // Takes all counts since the call before.
  void Collect(Take take);

  // Hands over the denials that came since the call before, and are still there, in order. Returns
  // how many came and are not.
  int64_t TakeDenials(absl::FunctionRef<void(const RingDenial&, const Label&)> take) {
    return denials_.Take([&](const RingDenial& denial) { take(denial, labels_[denial.label]); });
  }

  int64_t folded_checks() const { return folded_.load(std::memory_order_relaxed); }
  int64_t slots_used() const { return used_.load(std::memory_order_relaxed); }
  size_t slots() const { return mask_ + 1; }

 private:
  static constexpr size_t kWindow = 16;  // slots in which a key may be
  static constexpr size_t kTextBytes = 512;
  static constexpr size_t kTextsInPage = 4096 / kTextBytes;

  // What the collector knows of a slot.
  struct Taken {
    uint64_t checks = 0;
    double cost = 0;
    uint32_t life = 0;
    int quiet = 0;  // rounds without a count
  };

  size_t Home(uint64_t key) const { return (key >> 1) & mask_; }

  // Once between two collections. Of what nothing objected to a slot has no peak, so that it knows
  // by the peak's round.
  void NoteLast(Slot& slot, const engine::CheckRequest& request, const engine::CheckAnswer& answer,
                Now now) {
    // relaxed: at worst one more is noted.
    const uint32_t round = round_.load(std::memory_order_relaxed);
    if (slot.peak_round == round) [[likely]]
      return;
    slot.peak_round = round;
    if (options_.last != nullptr) options_.last->Note(request, answer, now);
  }
  void RecordOther(const engine::CheckRequest& request, const engine::CheckAnswer& answer, Now now);
  // What is counted: the key of the whole identity with the cause, and what both are.
  struct Counted {
    uint64_t key;
    const CauseView& cause;
    std::string_view identity;
    std::string_view target;
  };
  // The slot to count under.
  Slot& SlotFor(const Counted& counted);
  // The key of such counts of a subject.
  uint64_t KeyOf(uint64_t subject_key, const CauseView& cause) const;
  Slot* Find(uint64_t key);
  // Null: there is no room.
  Slot* Claim(uint64_t key, uint32_t label, std::string_view identity, bool folded);
  // Before a slot is used for the first time: the memory of a page of texts is taken with its
  // first.
  void CountTexts(size_t slot);
  Slot& FoldedSlot(uint32_t label, std::string_view identity);
  // `text` is its identity; null for "*".
  void CollectSlot(Slot& slot, Taken& taken, const char* text, Take take);

  const ThreadCountsOptions options_;
  const size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
  const std::unique_ptr<char[]> texts_;  // kTextBytes for each slot
  LabelTable labels_;
  const std::unique_ptr<Slot[]> rest_;  // "*", one for each label
  DenialRing denials_;

  // relaxed, all three: single numbers that order nothing.
  std::atomic<int64_t> folded_{0};
  std::atomic<int64_t> used_{0};
  std::atomic<uint32_t> round_{1};  // of collections: a peak counts for one of them

  // The counting thread's.
  HeldBytes::Share held_;

  // The collector's.
  std::vector<Taken> taken_;
  std::vector<Taken> taken_rest_;
  RowKey row_;
};

}  // namespace headgate::throttle_log
