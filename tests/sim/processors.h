// Processors: cores that share themselves equally among all that runs, as an operating system does.
//
// A job needs so many seconds of one core. With more jobs than cores each gets its share. What each
// was served is one number that all have in common, so that an event costs O(log jobs).
//
// Thread-compatible.
//
//   Processors cores(2);
//   cores.Start(/*job=*/7, /*seconds=*/0.01);
//   cores.Advance(cores.NextEnd());
//   int done = cores.TakeDone();  // 7

#pragma once

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace headgate::sim {

class Processors {
 public:
  explicit Processors(double cores) : cores_(cores) {}

  // Time passes, up to `at`.
  void Advance(double at) {
    served_ += (at - now_) * Pace();
    now_ = at;
  }
  // Of each core; 1 is nominal.
  void SetSpeed(double speed) { speed_ = speed; }

  void Start(int job, double seconds) { jobs_.emplace(served_ + seconds, job); }

  // When the next job will be done, if nothing changes. Infinite: there is none.
  double NextEnd() const {
    if (jobs_.empty()) return std::numeric_limits<double>::infinity();
    return now_ + std::max(0.0, jobs_.begin()->first - served_) / Pace();
  }
  int TakeDone() {
    const int job = jobs_.begin()->second;
    jobs_.erase(jobs_.begin());
    return job;
  }

 private:
  double Pace() const {
    const auto jobs = static_cast<double>(jobs_.size());
    return speed_ * (jobs <= cores_ ? 1 : cores_ / jobs);
  }

  const double cores_;
  double speed_ = 1;
  double now_ = 0;
  double served_ = 0;  // to a job that was there all the time
  std::set<std::pair<double, int>> jobs_;
};

}  // namespace headgate::sim
