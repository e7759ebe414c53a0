#include "tests/soak/flatness.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace headgate::soak {
namespace {

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

absl::StatusOr<Judgement> JudgeFlat(const std::vector<double>& samples,
                                    const FlatnessOptions& options) {
  const size_t count = samples.size();
  if (count < LeastSamples(options.cycle)) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " samples cannot be judged; at least ", LeastSamples(options.cycle)));
  }
  // Whole cycles, as many as a fifth of the samples hold; the rest is warm-up and what lies
  // between.
  const size_t window = count / 5 / options.cycle * options.cycle;
  const size_t end = count - window;
  const size_t warm = (2 * count + 4) / 5;
  // The earliest place after the warm-up that lies whole cycles before the end.
  const size_t baseline = end - (end - warm) / options.cycle * options.cycle;
  const auto at = [&](size_t first) {
    const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(first);
    return Median({begin, begin + static_cast<std::ptrdiff_t>(window)});
  };
  Judgement judgement{.baseline = at(baseline), .end = at(end), .most = 0, .window = window};
  judgement.most = judgement.baseline * (1 + options.share) + options.absolute;
  judgement.flat = judgement.end <= judgement.most;
  return judgement;
}

}  // namespace headgate::soak
