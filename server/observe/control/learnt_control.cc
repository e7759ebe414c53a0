#include "server/observe/control/learnt_control.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/strings.h"
#include "server/decide/engine/saved_state.h"

namespace headgate::control {
namespace {

constexpr absl::string_view kTitle = "headgate control 1", kYieldingTitle = "headgate control 2";
constexpr double kMillion = 1e6;
// Each share is rounded by itself.
constexpr double kRounding = LimitBelief::kCells;
// Beyond what any database does, so that nothing that is computed from it overflows.
constexpr double kMost = 1e12;
constexpr double kClocksApart = 10;  // s, of two servers

// With as many digits as it takes to be read as the same number.
std::string Exactly(double number) { return absl::StrFormat("%.17g", number); }

absl::Status Unsound(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("what a controller learnt is not sound: ", what));
}

// Takes one number of a line after another, each between two bounds, 0 the least if not said. After
// the first that is wrong, or missing, nothing more is right.
class Numbers {
 public:
  explicit Numbers(absl::string_view line) : words_(absl::StrSplit(line, ' ')) {}

  double Next(double least = 0, double most = kMost) {
    double number = 0;
    ok_ = ok_ && place_ < words_.size() && absl::SimpleAtod(words_[place_], &number) &&
          number >= least && number <= most;
    ++place_;
    return ok_ ? number : 0;
  }
  int64_t NextInteger(int64_t most) {
    int64_t number = 0;
    ok_ = ok_ && place_ < words_.size() && absl::SimpleAtoi(words_[place_], &number) &&
          number >= 0 && number <= most;
    ++place_;
    return ok_ ? number : 0;
  }
  bool AllRight() const { return ok_ && place_ == words_.size(); }

 private:
  std::vector<absl::string_view> words_;
  size_t place_ = 0;
  bool ok_ = true;
};

void AddIndicator(const LearntIndicator& indicator, std::string& text) {
  absl::StrAppend(&text, indicator.ever ? 1 : 0, " ", Exactly(indicator.usual), " ",
                  Exactly(indicator.noise), " ", Exactly(indicator.unseen_for));
  for (const double share : indicator.limits) {
    absl::StrAppend(&text, " ", std::llround(share * kMillion));
  }
  text += '\n';
}

bool ReadHead(absl::string_view line, LearntControl& learnt) {
  Numbers numbers(line);
  learnt.at_wall_ns = numbers.NextInteger(std::numeric_limits<int64_t>::max());
  ControlOptions& options = learnt.options;
  for (double* option : {&options.tolerance, &options.latency_tolerance, &options.tail_tolerance,
                         &options.cores, &options.max_rate}) {
    *option = numbers.Next();
  }
  return numbers.AllRight();
}

bool ReadForeground(absl::string_view line, LearntControl& learnt) {
  Numbers numbers(line);
  constexpr auto kLast = static_cast<int64_t>(Foreground::kBusy);
  learnt.foreground = static_cast<Foreground>(numbers.NextInteger(kLast));
  return numbers.AllRight();
}

bool ReadIndicator(absl::string_view line, LearntIndicator& indicator) {
  Numbers numbers(line);
  indicator.ever = numbers.NextInteger(1) == 1;
  indicator.usual = numbers.Next(0, LearntIndicator::kMostUsual);
  indicator.noise = numbers.Next(LearntIndicator::kLeastNoise, LearntIndicator::kMostNoise);
  indicator.unseen_for = numbers.Next(0, LearntIndicator::kMostUnseen);
  double sum = 0;
  for (double& share : indicator.limits) {
    const auto millionths = static_cast<double>(numbers.NextInteger(int64_t{1'000'000}));
    share = millionths / kMillion;
    sum += millionths;
  }
  const bool is_usual = indicator.usual == 0 || indicator.usual >= LearntIndicator::kLeastUsual;
  return numbers.AllRight() && is_usual && std::abs(sum - kMillion) <= kRounding;
}

}  // namespace

bool LearntControl::IsWith(ControlOptions others) const {
  others.seed = options.seed;
  return others == options;
}

double LearntControl::SecondsUntil(int64_t wall_ns) const {
  const double seconds = (static_cast<double>(wall_ns) - static_cast<double>(at_wall_ns)) / 1e9;
  return seconds < -kClocksApart ? WorkLimits::kForgottenAfter : std::max(0.0, seconds);
}

std::string ToText(const LearntControl& learnt) {
  const ControlOptions& options = learnt.options;
  std::string text =
      absl::StrCat(learnt.yielding.has_value() ? kYieldingTitle : kTitle, "\n", learnt.at_wall_ns,
                   " ", Exactly(options.tolerance), " ", Exactly(options.latency_tolerance), " ",
                   Exactly(options.tail_tolerance), " ", Exactly(options.cores), " ",
                   Exactly(options.max_rate), "\n", static_cast<int>(learnt.foreground), "\n");
  for (const LearntIndicator& indicator : learnt.indicators) AddIndicator(indicator, text);
  if (!learnt.yielding.has_value()) return text;
  for (const LearntIndicator& indicator : *learnt.yielding) AddIndicator(indicator, text);
  return text;
}

absl::StatusOr<LearntControl> ParseLearntControl(std::string_view text) {
  if (text.size() > engine::kMaxControlBytes) return Unsound("it is too long");
  // Of a view of nothing at all there would not even be one line.
  if (text.empty()) return Unsound("it is empty");
  const std::vector<absl::string_view> lines = absl::StrSplit(Sv(text), '\n');
  const bool yields = lines[0] == kYieldingTitle;
  if (!yields && lines[0] != kTitle) return Unsound("it is of another version");
  // Title, head, foreground, indicators, and nothing behind the last newline.
  const size_t indicators = WorkLimits::kIndicators * (yields ? 2 : 1);
  if (lines.size() != 3 + indicators + 1) return Unsound("it has not as many lines");
  LearntControl learnt;
  if (yields) learnt.yielding.emplace();
  if (!ReadHead(lines[1], learnt)) return Unsound("its time and options");
  if (!ReadForeground(lines[2], learnt)) return Unsound("its foreground");
  for (size_t i = 0; i < indicators; ++i) {
    LearntIndicator& indicator = i < WorkLimits::kIndicators
                                     ? learnt.indicators[i]
                                     : (*learnt.yielding)[i - WorkLimits::kIndicators];
    if (!ReadIndicator(lines[3 + i], indicator)) return Unsound(absl::StrCat("indicator ", i));
  }
  // Signs, spaces and digits that say nothing.
  if (ToText(learnt) != text) return Unsound("it is not as it would be written");
  return learnt;
}

}  // namespace headgate::control
