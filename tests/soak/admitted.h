// What a caller was let through, against what the budget can have let through: a budget's invariant
// as anybody can see it from outside.
//
// In any interval, admitted cost <= burst + rate x length + refunds granted in it. Health only
// slows it. An admission counts in a window of time where it was asked for and answered within, so
// it was decided there; a refund counts where it may have been granted there. So what is reported
// as too much is too much, whatever the network did. Looked at are windows of one second and of
// ten, and the whole time.
//
// Thread-safe.
//
//   Admitted rows({.rate = 500, .burst = 250}, now_ns);
//   rows.Admit(sent_ns, answered_ns, decision.predicted_cost());
//   absl::Status status = rows.Verify(now_ns);

#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"

namespace headgate::soak {

struct Bound {
  double rate = 0;  // cost units a second, the most that any configuration allowed
  double burst = 0;
};

class Admitted {
 public:
  // Times are monotonic.
  Admitted(const Bound& bound, int64_t began_ns) : bound_(bound), began_ns_(began_ns) {}

  void Admit(int64_t asked_ns, int64_t answered_ns, double cost);
  // A report of less than was charged.
  void Refund(int64_t asked_ns, int64_t answered_ns, double cost);

  // Internal: more was admitted than can be, and when.
  absl::Status Verify(int64_t now_ns) const;
  double total() const;

 private:
  struct Window {
    double admitted = 0;
    double refunded = 0;
  };
  static constexpr std::array<int64_t, 2> kLengthsNs = {1'000'000'000, 10'000'000'000};

  const Bound bound_;
  const int64_t began_ns_;
  mutable Mutex mutex_;
  std::array<std::map<int64_t, Window>, kLengthsNs.size()> windows_ ABSL_GUARDED_BY(mutex_);
  Window whole_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::soak
