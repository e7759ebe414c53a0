// PermitShare: how many permits one holder may have, of a table that all share.
//
// An eighth of the table is kept for those who have few. Of the rest a holder may have at most so
// many times as many as are left of it that, alone, it comes to max_share of the table (Choudhury
// and Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, 1998): of many that
// want all they can get, each gets as many as the others. Of the eighth, those get one who have
// none, and some more while more than half of it is left. Nobody's permit is taken away where the
// limit falls: its holder gets no more until it has fewer.
//
// Anybody can make up identities where callers have no names. So once any named caller has been
// seen, all permits without a caller's name count together as those of one more holder: when that
// one has reached its limit, a root identity gets a permit only if it has none.
//
// How many are free is counted in stripes, of which a thread writes one, and summed up once in a
// while: by then, a 16th of what was free may have been given away without having been noticed, and
// where fewer than 512 are free, none.
//
// Thread-safe.
//
//   if (share.IsSumDue(is_caller, turn)) share.Publish(share.SumUp());
//   if (permits < share.LimitOf(is_caller)) share.Count(is_caller, stripe, 1);

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace headgate::engine {

class PermitShare {
 public:
  static constexpr uint32_t kStripes = 16;

  // Of a table with room for `permits`; 0 < max_share <= 1, where 1 is no limit.
  PermitShare(size_t permits, double max_share);
  PermitShare(const PermitShare&) = delete;
  PermitShare& operator=(const PermitShare&) = delete;

  struct Sums {
    int64_t free = 0;
    int64_t without_name = 0;
    int64_t limit = 0;
    int64_t limit_without_name = 0;

    int64_t LimitOf(bool is_caller) const { return is_caller ? limit : limit_without_name; }
  };
  Sums SumUp() const;
  // What LimitOf says from now on.
  void Publish(const Sums& sums);

  // relaxed, all of it: a count publishes nothing.
  uint64_t LimitOf(bool is_caller) const {
    return limits_.of[is_caller ? 1 : 0].limit.load(std::memory_order_relaxed);
  }
  // `turn` counts up with the calls of a stripe.
  bool IsSumDue(bool is_caller, uint64_t turn) const {
    return (turn & limits_.of[is_caller ? 1 : 0].between_sums.load(std::memory_order_relaxed)) == 0;
  }
  // `stripe` is below kStripes, and mostly no other thread uses the same one.
  void Count(bool is_caller, uint32_t stripe, int64_t by) {
    stripes_[stripe].taken[is_caller ? 1 : 0].fetch_add(by, std::memory_order_relaxed);
  }
  // A caller with a name has been seen.
  void NoteCaller() {
    if (limits_.any_caller.load(std::memory_order_relaxed)) return;
    limits_.any_caller.store(true, std::memory_order_relaxed);
  }

  double max_share() const { return max_share_; }
  // What one who has none now could come to, if others took no more.
  int64_t RoomForOne() const;

 private:
  // Written by few threads, and by none that does not take or release a permit.
  struct alignas(64) Stripe {
    std::array<std::atomic<int64_t>, 2> taken{};  // of root identities, of callers
  };
  // Read by all threads at each Take, written when the sums have changed.
  struct alignas(64) Limits {
    struct Of {
      std::atomic<uint64_t> limit{0};
      std::atomic<uint64_t> between_sums{0};  // a mask of `turn`: sum up where all are zero
    };
    std::array<Of, 2> of;
    std::atomic<bool> any_caller{false};
  };

  const int64_t capacity_;
  const double max_share_;
  const int64_t kept_;          // for those who have few
  const double share_of_rest_;  // infinite: no limit
  std::array<Stripe, kStripes> stripes_;
  Limits limits_;
};

}  // namespace headgate::engine
