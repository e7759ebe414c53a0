// ToldWork: what callers said of the pieces of leases beyond what was predicted of them, until it
// is returned with a lease: as a sum, since a lease is settled as a whole.
//
// Thread-compatible.
//
//   told.Add(estimate, done);
//   told.AddTo(report.done, {.cost = 20, .busy_seconds = 1});  // what is predicted of the lease

#pragma once

#include <headgate/check.h>

#include <algorithm>
#include <optional>

#include "absl/time/time.h"

namespace headgate::client::internal {

class ToldWork {
 public:
  // In the unit of the estimate, and in seconds.
  struct Predicted {
    double cost = 1;
    double busy_seconds = 0;
    Predicted operator*(double units) const { return {cost * units, busy_seconds * units}; }
  };
  enum class Silence : uint8_t { kIsPredicted, kIsTold };  // what is predicted is said, too

  // `predicted` of the piece's whole estimate.
  void Add(const WorkDone& done, const Predicted& predicted) {
    if (done.actual_cost.has_value()) {
      cost_ = cost_.value_or(0) + *done.actual_cost - predicted.cost;
    }
    if (done.busy_time.has_value()) {
      const double busy = absl::ToDoubleSeconds(*done.busy_time);
      busy_ = busy_.value_or(0) + busy - predicted.busy_seconds;
    }
  }
  // What a lease really took, where anything was said of it. What would make it less than nothing
  // is left for the next one's.
  void AddTo(WorkDone& done, const Predicted& predicted, Silence silence) {
    const bool tells = silence == Silence::kIsTold;
    if (cost_.has_value() || tells)
      done.actual_cost = std::min(Settle(cost_, predicted.cost), kMaxCost);
    if (busy_.has_value() || (tells && predicted.busy_seconds > 0)) {
      done.busy_time = absl::Seconds(Settle(busy_, predicted.busy_seconds));
    }
  }

 private:
  static double Settle(std::optional<double>& told, double predicted) {
    const double took = predicted + told.value_or(0);
    told = took < 0 ? std::optional(took) : std::nullopt;
    return std::max(took, 0.0);
  }

  std::optional<double> cost_, busy_;
};

}  // namespace headgate::client::internal
