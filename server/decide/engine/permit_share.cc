#include "server/decide/engine/permit_share.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "server/decide/engine/holder_cells.h"

namespace headgate::engine {
namespace {

// An eighth, or less where a holder may have nearly all.
int64_t KeptOf(int64_t capacity, double max_share) {
  return static_cast<int64_t>(static_cast<double>(capacity) *
                              std::min(1.0 / 8, (1 - max_share) / 2));
}

}  // namespace

PermitShare::PermitShare(size_t permits, double max_share)
    : capacity_(static_cast<int64_t>(permits)),
      max_share_(max_share),
      kept_(KeptOf(capacity_, max_share)),
      share_of_rest_(max_share < 1
                         ? max_share / (1 - max_share -
                                        static_cast<double>(kept_) / static_cast<double>(permits))
                         : std::numeric_limits<double>::infinity()) {
  Publish(SumUp());
}

PermitShare::Sums PermitShare::SumUp() const {
  // relaxed: what others take or release meanwhile is in it or not.
  int64_t taken[2] = {0, 0};
  for (const Stripe& stripe : stripes_) {
    taken[0] += stripe.taken[0].load(std::memory_order_relaxed);
    taken[1] += stripe.taken[1].load(std::memory_order_relaxed);
  }
  Sums sums;
  sums.without_name = taken[0];
  sums.free = std::max<int64_t>(capacity_ - taken[0] - taken[1], 0);
  if (sums.free == 0) return sums;
  constexpr int64_t kSmallPart = 256;
  sums.limit = 1 + std::max<int64_t>(sums.free - kept_ / 2, 0) / kSmallPart;
  if (sums.free > kept_) {
    const double most = share_of_rest_ * static_cast<double>(sums.free - kept_);
    constexpr auto kMost = static_cast<double>(HolderCells::kMaxCount);
    sums.limit = std::max(sums.limit, static_cast<int64_t>(std::min(most, kMost)));
  }
  const bool with_callers = limits_.any_caller.load(std::memory_order_relaxed);
  sums.limit_without_name = with_callers && sums.without_name >= sums.limit ? 1 : sums.limit;
  return sums;
}

void PermitShare::Publish(const Sums& sums) {
  // So seldom that all stripes together take no more than a 16th of what is free in between.
  constexpr int64_t kMost = 256;
  const auto between =
      static_cast<uint64_t>(std::clamp<int64_t>(sums.free / (int64_t{16} * kStripes), 1, kMost));
  // All threads read these: they are written where they differ only.
  const auto set = [](std::atomic<uint64_t>& to, uint64_t value) {
    if (to.load(std::memory_order_relaxed) != value) to.store(value, std::memory_order_relaxed);
  };
  for (const bool is_caller : {false, true}) {
    Limits::Of& of = limits_.of[is_caller ? 1 : 0];
    set(of.limit, static_cast<uint64_t>(sums.LimitOf(is_caller)));
    set(of.between_sums, std::bit_floor(between) - 1);
  }
}

int64_t PermitShare::RoomForOne() const {
  // Its own permits make what is free less: x = share_of_rest * (rest - x).
  const Sums sums = SumUp();
  const auto rest = static_cast<double>(std::max<int64_t>(sums.free - kept_, 0));
  const double part = max_share_ < 1 ? share_of_rest_ / (1 + share_of_rest_) : 1;
  return std::max(static_cast<int64_t>(rest * part), std::min<int64_t>(sums.limit, 1));
}

}  // namespace headgate::engine
