// LimitBelief: how likely each limit is, given what was seen.
//
// A limit is the amount of batch work in flight that harms the foreground by just what is
// tolerated: at a limit L, each unit does 1 / L of that. The belief is a histogram over the
// logarithm of L, which keeps L positive, tells a vague belief from a firm one, and takes noisy
// evidence for what it is worth: one slope of 20 +- 30 hardly moves it.
//
// Thread-compatible.
//
//   LimitBelief belief(0.01, 16);
//   belief.Believe(0.2, 1.2);
//   belief.Observe(8, 4);  // a unit of work did 8 times the harm that is tolerated, variance 4
//   double cautious = belief.Quantile(0.4);

#pragma once

#include <array>
#include <cstddef>

namespace headgate::control {

class LimitBelief {
 public:
  static constexpr size_t kCells = 64;
  using Cells = std::array<double, kCells>;

  LimitBelief(double least, double most);

  // Starts anew: a normal distribution of the logarithm, round `median`.
  void Believe(double median, double spread);
  // Gives such a belief a share, 0 to 1.
  void Doubt(double share, double median, double spread);
  // Time passes: each limit may have moved by `spread`, as the logarithm has it.
  void Drift(double spread);
  // Evidence of what a unit of work does. Heavy tails: no single observation settles anything.
  void Observe(double harm_each, double variance);

  double Quantile(double share) const;
  // What `work` in flight does, in terms of what is tolerated, and how sure that is.
  struct Harm {
    double expected = 0;
    double deviation = 0;
  };
  Harm HarmOf(double work) const;
  // Standard deviation of the logarithm.
  double Spread() const;

  // How likely each limit is, from the least to the most: what another belief between the same two
  // goes on from. They are not below 0, and not all of them 0.
  const Cells& cells() const { return share_; }
  void Restore(const Cells& cells);

 private:
  double LogOf(size_t cell) const { return log_least_ + static_cast<double>(cell) * step_; }
  Cells Normal(double median, double spread) const;
  void Normalize();

  double log_least_;
  double step_;
  Cells share_{};
};

}  // namespace headgate::control
