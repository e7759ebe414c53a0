// Processors: cores that share themselves among all that runs, as an operating system does.
//
// A job needs so many seconds of one core. With more jobs of normal rank than cores each gets its
// share; those of idle rank share what these leave, which is nothing where there are enough of
// them. What each was served is one number that all of a rank have in common, so that an event
// costs O(log jobs).
//
// A job of normal rank that begins where one of idle rank runs takes its core at once, and each of
// them pays: the one for the switch and a cold cache, the other for finding its own cold when it
// goes on.
//
// Thread-compatible.
//
//   Processors cores(2);
//   cores.Start(/*job=*/7, /*seconds=*/0.01);
//   cores.Advance(cores.NextEnd());
//   int done = cores.TakeDone();  // 7

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

namespace headgate::sim {

enum class Rank : uint8_t { kNormal, kIdle };

// s of a core, each time.
struct Switching {
  double preempts = 0;  // who takes a core from a job of idle rank
  double resumes = 0;   // who lost it, before it goes on
};

class Processors {
 public:
  explicit Processors(double cores, Switching switching = {})
      : cores_(cores), switching_(switching) {}

  // Time passes, up to `at`.
  void Advance(double at) {
    const double idle = (at - now_) * IdlePace() * static_cast<double>(idle_jobs_.size());
    idle_seconds_ += idle;
    const double resumed = std::min(to_resume_, idle);
    to_resume_ -= resumed;
    if (idle > resumed) idle_served_ += (idle - resumed) / static_cast<double>(idle_jobs_.size());
    served_ += (at - now_) * Pace();
    now_ = at;
  }
  // Of each core; 1 is nominal.
  void SetSpeed(double speed) { speed_ = speed; }

  void Start(int job, double seconds, Rank rank = Rank::kNormal) {
    if (rank == Rank::kIdle) {
      idle_jobs_.emplace(idle_served_ + seconds, job);
      return;
    }
    if (Preempts()) {
      seconds += switching_.preempts;
      to_resume_ += switching_.resumes;
    }
    jobs_.emplace(served_ + seconds, job);
  }
  // Of a job that has been started and is not done. False: its rank was that one already.
  bool SetRank(int job, Rank rank) {
    Jobs& from = rank == Rank::kIdle ? jobs_ : idle_jobs_;
    const auto found = Find(from, job);
    if (found == from.end()) return false;
    const double left = found->first - (rank == Rank::kIdle ? served_ : idle_served_);
    from.erase(found);
    Start(job, std::max(0.0, left), rank);
    return true;
  }
  // s of a core that a started job still needs.
  double LeftOf(int job) const {
    const auto idle = Find(idle_jobs_, job);
    if (idle != idle_jobs_.end()) return idle->first - idle_served_;
    const auto normal = Find(jobs_, job);
    return normal == jobs_.end() ? 0 : normal->first - served_;
  }
  // s of a core that jobs of idle rank have had, all together.
  double idle_seconds() const { return idle_seconds_; }

  // When the next job will be done, if nothing changes. Infinite: there is none.
  double NextEnd() const { return std::min(NextNormalEnd(), NextIdleEnd()); }
  int TakeDone() {
    Jobs& from = NextIdleEnd() < NextNormalEnd() ? idle_jobs_ : jobs_;
    const int job = from.begin()->second;
    from.erase(from.begin());
    return job;
  }

 private:
  using Jobs = std::set<std::pair<double, int>>;  // by what will have been served when it is done

  static Jobs::const_iterator Find(const Jobs& jobs, int job) {
    return std::find_if(jobs.begin(), jobs.end(),
                        [job](const auto& one) { return one.second == job; });
  }
  // A core that does nothing is taken before one with a job of idle rank.
  bool Preempts() const {
    const auto normal = static_cast<double>(jobs_.size());
    const auto idle = static_cast<double>(idle_jobs_.size());
    return idle > 0 && normal < cores_ && normal + idle >= cores_;
  }
  double Pace() const {
    const auto jobs = static_cast<double>(jobs_.size());
    return speed_ * (jobs <= cores_ ? 1 : cores_ / jobs);
  }
  double IdlePace() const {
    const double left = std::max(0.0, cores_ - static_cast<double>(jobs_.size()));
    const auto jobs = static_cast<double>(idle_jobs_.size());
    return speed_ * (jobs <= left ? 1 : left / jobs);
  }
  double NextNormalEnd() const {
    if (jobs_.empty()) return std::numeric_limits<double>::infinity();
    return now_ + std::max(0.0, jobs_.begin()->first - served_) / Pace();
  }
  double NextIdleEnd() const {
    if (idle_jobs_.empty() || IdlePace() <= 0) return std::numeric_limits<double>::infinity();
    const double each = to_resume_ / static_cast<double>(idle_jobs_.size());
    return now_ + std::max(0.0, each + idle_jobs_.begin()->first - idle_served_) / IdlePace();
  }

  const double cores_;
  const Switching switching_;
  double speed_ = 1;
  double now_ = 0;
  double served_ = 0, idle_served_ = 0;  // to a job of that rank that was there all the time
  double to_resume_ = 0, idle_seconds_ = 0;
  Jobs jobs_, idle_jobs_;
};

}  // namespace headgate::sim
