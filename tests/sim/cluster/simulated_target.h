// A target as the simulation has it: a bucket in its owner, and the promise of one server that all
// owners together are held to.
//
// Costs are 1 each. Times are nanoseconds.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace headgate::cluster {

struct SimulatedBudget {
  double burst = 40;
  double rate = 2;  // a second
};

// Debt that drains by its owner's clock.
class SimulatedBucket {
 public:
  bool Admit(const SimulatedBudget& budget, int64_t now_ns) {
    Drain(budget, now_ns);
    if (debt_ + 1 > budget.burst) return false;
    debt_ += 1;
    return true;
  }
  std::string Save(const SimulatedBudget& budget, int64_t now_ns) {
    Drain(budget, now_ns);
    return absl::StrCat(debt_);
  }
  // Debt is what was saved: how much has drained since is left out, as nobody knows it for certain.
  void Restore(const std::string& saved, int64_t now_ns) {
    if (!absl::SimpleAtod(saved, &debt_)) debt_ = 0;
    drained_ns_ = now_ns;
  }
  // As much as anybody may have admitted.
  void Learn(const SimulatedBudget& budget, int64_t now_ns) {
    debt_ = budget.burst;
    drained_ns_ = now_ns;
  }

 private:
  void Drain(const SimulatedBudget& budget, int64_t now_ns) {
    debt_ = std::max(0.0, debt_ - budget.rate * static_cast<double>(now_ns - drained_ns_) * 1e-9);
    drained_ns_ = now_ns;
  }

  double debt_ = 0;
  int64_t drained_ns_ = 0;
};

// A bucket in true time, whose rate is that of the fastest clock: what is admitted always fits, by
// the promise.
class Promise {
 public:
  explicit Promise(const SimulatedBudget& budget, double fastest_clock)
      : burst_(budget.burst), rate_(budget.rate * fastest_clock) {}

  // How far what was admitted is beyond what was promised; 0: it is not.
  double Admitted(int64_t true_ns) {
    debt_ = std::max(0.0, debt_ - rate_ * static_cast<double>(true_ns - drained_ns_) * 1e-9) + 1;
    drained_ns_ = true_ns;
    // Saved debts are rounded to six digits.
    return debt_ > burst_ + 0.01 ? debt_ - burst_ : 0;
  }

 private:
  const double burst_;
  const double rate_;
  double debt_ = 0;
  int64_t drained_ns_ = 0;
};

}  // namespace headgate::cluster
