#include <headgate/chunk_size.h>

#include <algorithm>
#include <cmath>

namespace headgate::client {
namespace {

constexpr double kMostGrowth = 2;

}  // namespace

ChunkSize::ChunkSize(const ChunkSizeOptions& options)
    : smallest_(std::max<int64_t>(options.smallest, 1)),
      largest_(std::max(options.largest, smallest_)),
      rows_(std::clamp(options.start, smallest_, largest_)) {}

void ChunkSize::Follow(const Answer& answer) {
  const double scale = answer.chunk_scale.value_or(0);
  if (!(scale > 0)) return;
  const double advised = std::round(static_cast<double>(rows_) * std::min(scale, kMostGrowth));
  // What an int64_t does not hold is above any bound.
  rows_ = advised >= static_cast<double>(largest_)
              ? largest_
              : std::max(static_cast<int64_t>(advised), smallest_);
}

}  // namespace headgate::client
