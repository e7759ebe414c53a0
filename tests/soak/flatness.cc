#include "tests/soak/flatness.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace headgate::soak {
namespace {

// `quantile` is below 1.
double QuantileOf(std::vector<double> values, double quantile) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(static_cast<double>(values.size()) * quantile);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

absl::StatusOr<Judgement> JudgeFlat(const std::vector<double>& samples,
                                    const FlatnessOptions& options) {
  const size_t count = samples.size();
  if (count < LeastSamples(options.cycle)) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " samples cannot be judged; at least ", LeastSamples(options.cycle)));
  }
  // Whole cycles, as many as a quarter of the samples holds.
  const size_t window = count / 4 / options.cycle * options.cycle;
  const size_t end = count - window;
  const size_t warm = (2 * count + 4) / 5;
  // The earliest place after the warm-up that lies whole cycles before the end: with five cycles or
  // more there is room for a window between the two.
  const size_t baseline = end - (end - warm) / options.cycle * options.cycle;
  const auto at = [&](size_t first) {
    const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(first);
    return QuantileOf({begin, begin + static_cast<std::ptrdiff_t>(window)}, options.quantile);
  };
  Judgement judgement{.baseline = at(baseline), .end = at(end), .most = 0, .window = window};
  judgement.most = judgement.baseline * (1 + options.share) + options.absolute;
  judgement.flat = judgement.end <= judgement.most;
  return judgement;
}

}  // namespace headgate::soak
