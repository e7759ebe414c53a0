// How long Checks waited: counts in powers of two, for metrics and status.
//
// Thread-compatible: its owner guards it.
//
//   times.Add(absl::Milliseconds(30));
//   absl::Duration half = times.Quantile(0.5);

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace headgate::line {

class WaitTimes {
 public:
  // Place i counts what is below 2^i ms, and not in an earlier place; the last what is longer.
  static constexpr size_t kPlaces = 24;

  void Add(absl::Duration wait) {
    const int64_t ms = std::max<int64_t>(absl::ToInt64Milliseconds(wait), 0);
    const auto place = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(ms)));
    ++counts_[std::min(place, kPlaces - 1)];
    ++count_;
    sum_ += wait;
  }

  // What is below it belongs to place i, or to an earlier one.
  static absl::Duration UpperBound(size_t place) {
    if (place + 1 >= kPlaces) return absl::InfiniteDuration();
    return absl::Milliseconds(int64_t{1} << place);
  }
  const std::array<uint64_t, kPlaces>& counts() const { return counts_; }
  uint64_t count() const { return count_; }
  absl::Duration sum() const { return sum_; }

  // At least this share of them waited for less; up to twice too long. 0 where nobody waited.
  absl::Duration Quantile(double share) const {
    const double wanted = share * static_cast<double>(count_);
    uint64_t seen = 0;
    for (size_t place = 0; place < kPlaces; ++place) {
      seen += counts_[place];
      if (seen > 0 && static_cast<double>(seen) >= wanted) return UpperBound(place);
    }
    return absl::ZeroDuration();
  }

 private:
  std::array<uint64_t, kPlaces> counts_{};
  uint64_t count_ = 0;
  absl::Duration sum_ = absl::ZeroDuration();
};

}  // namespace headgate::line
