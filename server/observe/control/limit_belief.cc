#include "server/observe/control/limit_belief.h"

#include <algorithm>
#include <cmath>

namespace headgate::control {
namespace {

// Student's t: how heavy the tails are.
constexpr double kTails = 4;
// A cell that is never quite impossible can come back.
constexpr double kLeastShare = 1e-9;

}  // namespace

LimitBelief::LimitBelief(double least, double most)
    : log_least_(std::log(least)),
      step_((std::log(std::max(most, 2 * least)) - log_least_) / (kCells - 1)) {
  Believe(least, 10);
}

LimitBelief::Cells LimitBelief::Normal(double median, double spread) const {
  Cells cells;
  double sum = 0;
  for (size_t i = 0; i < kCells; ++i) {
    const double off = (LogOf(i) - std::log(median)) / spread;
    sum += cells[i] = std::exp(-off * off / 2) + kLeastShare;
  }
  for (double& cell : cells) cell /= sum;
  return cells;
}

// In proportion to the likeliest: where evidence is precise all likelihoods are tiny, and it is by
// their ratios that they say something.
void LimitBelief::Normalize() {
  const double most = *std::max_element(share_.begin(), share_.end());
  double sum = 0;
  for (double& cell : share_) sum += cell = std::max(cell / most, kLeastShare);
  for (double& cell : share_) cell /= sum;
}

void LimitBelief::Believe(double median, double spread) { share_ = Normal(median, spread); }

void LimitBelief::Restore(const Cells& cells) {
  share_ = cells;
  Normalize();
}

void LimitBelief::Doubt(double share, double median, double spread) {
  const Cells other = Normal(median, spread);
  for (size_t i = 0; i < kCells; ++i) share_[i] += share * (other[i] - share_[i]);
}

// A random walk in steps of one cell, as often as its variance takes.
void LimitBelief::Drift(double spread) {
  constexpr double kMaxAtOnce = 0.25;
  double variance = spread * spread / (step_ * step_);
  while (variance > 0) {
    const double move = std::min(variance / 2, kMaxAtOnce);
    variance -= 2 * move;
    Cells moved = share_;
    for (size_t i = 0; i < kCells; ++i) {
      const double below = share_[i == 0 ? 0 : i - 1];
      const double above = share_[std::min(i + 1, kCells - 1)];
      moved[i] += move * (below - 2 * share_[i] + above);
    }
    share_ = moved;
  }
}

// What differs by less than the harm at the greatest limit differs by nothing that matters, however
// exactly it was measured.
void LimitBelief::Observe(double harm_each, double variance) {
  const double least_harm = std::exp(-LogOf(kCells - 1));
  variance = std::max(variance, least_harm * least_harm);
  for (size_t i = 0; i < kCells; ++i) {
    const double off = harm_each - std::exp(-LogOf(i));
    share_[i] *= std::pow(1 + off * off / (kTails * variance), -(kTails + 1) / 2);
  }
  Normalize();
}

double LimitBelief::Quantile(double share) const {
  double below = 0;
  for (size_t i = 0; i < kCells; ++i) {
    if (below + share_[i] >= share) {
      const double into = (share - below) / share_[i] - 0.5;
      return std::exp(LogOf(i) + into * step_);
    }
    below += share_[i];
  }
  return std::exp(LogOf(kCells - 1));
}

LimitBelief::Harm LimitBelief::HarmOf(double work) const {
  double mean = 0, square = 0;
  for (size_t i = 0; i < kCells; ++i) {
    const double harm = work * std::exp(-LogOf(i));
    mean += share_[i] * harm;
    square += share_[i] * harm * harm;
  }
  return {.expected = mean, .deviation = std::sqrt(std::max(0.0, square - mean * mean))};
}

double LimitBelief::Spread() const {
  double mean = 0, square = 0;
  for (size_t i = 0; i < kCells; ++i) {
    mean += share_[i] * LogOf(i);
    square += share_[i] * LogOf(i) * LogOf(i);
  }
  return std::sqrt(std::max(0.0, square - mean * mean));
}

}  // namespace headgate::control
