// Jobs at work beside each other: what each of them is admitted, in simulated time.
//
// A job has workers that ask for chunk after chunk. Some wait in the line; others poll, and come
// back when they are told or up to a quarter later, as clients do.
//
//   Simulation simulation(check, lines);
//   simulation.Add({.identity = "a:etl", .chunk = 10, .workers = 8});
//   simulation.RunFor(absl::Seconds(60));
//   double cost = simulation.admitted(0);
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/decide/line/waiting_lines.h"

namespace headgate::line {

// Of monotonic time and of the wall's.
inline constexpr int64_t kSimulationStartNs = 1'000'000'000'000;

struct SimulatedJob {
  std::string identity;
  std::vector<engine::Tag> tags = {};  // that say what it is charged to
  double chunk = 10;
  int workers = 1;
  bool polls = false;
  absl::Duration max_wait = absl::Hours(1);
  absl::Duration work = absl::Milliseconds(1);  // between an answer and the next Check
};

class Simulation {
 public:
  using Check = WaitingLines::Examine;
  // What is done when a chunk is through.
  using Finish = std::function<void(const SimulatedJob& job, engine::PermitId permit, Now now)>;

  Simulation(Check check, WaitingLines& lines, int64_t start_ns, Finish finish)
      : check_(std::move(check)), lines_(lines), finish_(std::move(finish)), now_ns_(start_ns) {}

  size_t Add(const SimulatedJob& job) {
    jobs_.push_back(job);
    admitted_.push_back(0);
    for (int i = 0; i < job.workers; ++i) Schedule(jobs_.size() - 1, now_ns_);
    return jobs_.size() - 1;
  }

  void RunFor(absl::Duration duration) {
    const int64_t end_ns = now_ns_ + absl::ToInt64Nanoseconds(duration);
    int64_t line_ns = now_ns_;
    for (;;) {
      const int64_t event_ns = events_.empty() ? kNever : events_.top().at_ns;
      const int64_t next_ns = std::max(std::min(line_ns, event_ns), now_ns_);
      if (next_ns > end_ns) break;
      now_ns_ = next_ns;
      if (event_ns <= next_ns) {
        const Event event = events_.top();
        events_.pop();
        Happen(event);
      }
      line_ns = lines_.Advance(now());
      ++advances_;
    }
    now_ns_ = end_ns;
  }

  Now now() const { return {.monotonic_ns = now_ns_, .wall_ns = now_ns_}; }
  double admitted(size_t job) const { return admitted_[job]; }
  double AdmittedInAll() const {
    double sum = 0;
    for (const double each : admitted_) sum += each;
    return sum;
  }
  // Of all that was admitted.
  double Share(size_t job) const { return admitted_[job] / AdmittedInAll(); }
  void Forget() { std::fill(admitted_.begin(), admitted_.end(), 0); }
  // Told of each Check that is admitted; may be null.
  std::function<void(const SimulatedJob& job, const engine::CheckAnswer& answer, Now now)>
      on_admitted;
  int64_t advances() const { return advances_; }
  int64_t checks() const { return checks_; }

 private:
  struct Event {
    int64_t at_ns = 0;
    uint64_t order = 0;
    size_t job = 0;
    engine::PermitId permit = 0;

    bool operator>(const Event& other) const {
      return std::pair(at_ns, order) > std::pair(other.at_ns, other.order);
    }
  };
  class Teller final : public Waiter {
   public:
    Teller(Simulation& simulation, size_t job) : simulation_(simulation), job_(job) {}
    void Answer(int, const Decided& decided) override {
      EXPECT_TRUE(decided.status.ok()) << decided.status;
      simulation_.Told(job_, decided.answer);
    }

   private:
    Simulation& simulation_;
    const size_t job_;
  };

  void Schedule(size_t job, int64_t at_ns, engine::PermitId permit = 0) {
    events_.push({.at_ns = at_ns, .order = ++order_, .job = job, .permit = permit});
  }

  void Happen(const Event& event) {
    const SimulatedJob& job = jobs_[event.job];
    if (event.permit != 0) finish_(job, event.permit, now());
    const engine::CheckRequest request{.identity = job.identity,
                                       .estimated_cost = job.chunk,
                                       .tags = job.tags,
                                       .waits = !job.polls};
    engine::CheckAnswer answer;
    ++checks_;
    const absl::Status status = check_(request, now(), answer);
    ASSERT_TRUE(status.ok()) << status;
    if (answer.verdict == engine::Verdict::kAllowed || job.polls) return Told(event.job, answer);
    uint64_t ticket = 0;
    const Entered entered =
        lines_.Enter({request, answer, now()},
                     {.waiter = std::make_shared<Teller>(*this, event.job),
                      .until_ns = now_ns_ + absl::ToInt64Nanoseconds(job.max_wait)},
                     &ticket);
    ASSERT_EQ(entered, Entered::kWaits);
  }

  void Told(size_t place, const engine::CheckAnswer& answer) {
    const SimulatedJob& job = jobs_[place];
    if (answer.verdict == engine::Verdict::kAllowed) {
      admitted_[place] += job.chunk;
      if (on_admitted != nullptr) on_admitted(job, answer, now());
      return Schedule(place, now_ns_ + absl::ToInt64Nanoseconds(job.work), answer.permit);
    }
    const double late = std::uniform_real_distribution<double>(1, 1.25)(random_);
    Schedule(place, now_ns_ + absl::ToInt64Nanoseconds(answer.retry_after * late));
  }

  const Check check_;
  WaitingLines& lines_;
  const Finish finish_;
  int64_t now_ns_;
  std::vector<SimulatedJob> jobs_;
  std::vector<double> admitted_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t order_ = 0;
  int64_t advances_ = 0;
  int64_t checks_ = 0;
  std::mt19937_64 random_{5};
};

}  // namespace headgate::line
