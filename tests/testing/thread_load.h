// Threads that share an engine and a time that only one of them moves.
//
// The first thread moves the time, and only when its own Check was denied by the limit in question.
// So the limit is always fully used, whatever the scheduler does, and what is admitted in the end
// is known from both sides. No real time is involved.
//
//   ThreadLoad load;
//   load.Run([&](int thread) {
//     while (!load.done()) ... engine->Check(request, load.now(), answer) ...
//   });
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "tests/testing/engine_fixture.h"

namespace headgate::engine {

class ThreadLoad {
 public:
  static constexpr int kThreads = 4;

  // Calls `work` with 0 to kThreads - 1, each on a thread of its own, all at once.
  void Run(absl::FunctionRef<void(int)> work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([this, i, work] {
        started_.fetch_add(1, std::memory_order_acq_rel);
        while (started_.load(std::memory_order_acquire) < kThreads) std::this_thread::yield();
        work(i);
        if (testing::Test::HasFatalFailure()) Finish();  // or the others would go on for ever
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  Now now() const { return At(absl::Nanoseconds(since_ns_.load(std::memory_order_acquire))); }
  double elapsed_s() const { return 1e-9 * static_cast<double>(since_ns_.load()); }
  void Advance(absl::Duration by) {
    since_ns_.fetch_add(absl::ToInt64Nanoseconds(by), std::memory_order_acq_rel);
  }

  bool done() const { return done_.load(std::memory_order_acquire); }
  void Finish() { done_.store(true, std::memory_order_release); }

 private:
  std::atomic<int> started_{0};
  std::atomic<int64_t> since_ns_{0};
  std::atomic<bool> done_{false};
};

// Permits that nobody reports end at once, so that their table never fills up.
inline EngineOptions ShortPermits() {
  EngineOptions options = TestEngine::Options();
  options.max_permits = 4096;
  options.permit_ttl = absl::Milliseconds(1);
  return options;
}

// One number for each thread, on cache lines of their own.
template <typename T>
class PerThread {
 public:
  T& operator[](int thread) { return values_[static_cast<size_t>(thread)].value; }
  T Sum() const {
    T sum{};
    for (const Padded& padded : values_) sum += padded.value;
    return sum;
  }

 private:
  struct alignas(64) Padded {
    T value{};
  };
  std::array<Padded, ThreadLoad::kThreads> values_;
};

}  // namespace headgate::engine
