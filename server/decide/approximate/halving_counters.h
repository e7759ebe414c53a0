// HalvingCounters: how much of its share each bucket has used lately, in fixed memory.
//
// A counter adds up what is admitted and is cut in half at each full second of wall time, when it
// is looked at: no thread and no sweep. A steady x a second lets it swing between x and 2x. It
// counts seconds of the bucket's share: what the bucket's share admits in one second counts 1, so
// that a share may change.
//
// What a bucket that uses its share evenly counts at the part f of a second is 1 + f: 1 just after
// it was halved, 2 just before. What a counter lacks of that is the bucket's room. Who never takes
// more than the room has taken at most 2 + t in any t seconds, and a bucket that is asked for more
// gives 1 a second.
//
// An entry has 16 bytes. A bucket without an entry takes one of kProbes that nearly nothing is left
// of; where there is none, its room is unknown. Wall time that is set back halves nothing.
//
// Thread-compatible.
//
//   HalvingCounters counters(65'536);
//   std::optional<HalvingCounters::Counter> counter = counters.Find(key, wall_ns);
//   if (counter.has_value() && counter->Room() >= 0.1) counter->Add(0.1);

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace headgate::approximate {

class HalvingCounters {
  struct Entry {
    uint64_t key = 0;     // 0: nobody's
    uint32_t second = 0;  // of wall time, to which it has been halved
    uint32_t count = 0;   // in kPerSecond
  };
  static_assert(sizeof(Entry) == 16);

 public:
  static constexpr int kProbes = 8;

  // One bucket's, at one instant. Valid until the next Find.
  class Counter {
   public:
    // Seconds of the share; 0 to 2.
    double Room() const;
    // No more than the room. A little is never nothing.
    void Add(double seconds);

   private:
    friend class HalvingCounters;
    Counter(Entry& entry, double full) : entry_(&entry), full_(full) {}
    Entry* entry_;
    double full_;  // what an even use has counted by now
  };

  // Rounded up to a power of two.
  explicit HalvingCounters(size_t entries);

  // None: there is no place for it.
  std::optional<Counter> Find(uint64_t key, int64_t wall_ns);

  size_t capacity() const { return entries_.size(); }

 private:
  // Of a count; two seconds fit.
  static constexpr uint32_t kPerSecond = uint32_t{1} << 30;
  // Less than a thousandth of a second's share is as good as nothing.
  static constexpr uint32_t kForgotten = kPerSecond >> 10;

  static void Halve(Entry& entry, uint32_t second);

  std::vector<Entry> entries_;
};

}  // namespace headgate::approximate
