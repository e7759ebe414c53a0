// FakeProbe: a server that answers what a test says, fails, or hangs until it is cancelled.
//
// The test keeps the FakeServer and gives its probe away. Thread-safe; waits are for conditions and
// end in a failure after a minute.
//
//   auto server = std::make_shared<FakeServer>(&clock);
//   server->Answer("load", 3);
//   MonitorProbes probes = {.primary = server->MakeProbe(), .standbys = {}};
//   server->AwaitPolls(2);

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "gtest/gtest.h"
#include "server/observe/health/probe.h"

namespace headgate::health {

// A value and the threads that wait for it to change. std::mutex, for the condition variable.
class Changing {
 public:
  void Do(const std::function<void()>& change) {
    {
      std::lock_guard lock(mutex_);
      change();
    }
    changed_.notify_all();
  }
  bool Await(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), condition);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

class FakeServer : public std::enable_shared_from_this<FakeServer> {
 public:
  explicit FakeServer(Clock* clock) : clock_(clock) {}

  std::unique_ptr<Probe> MakeProbe();

  void Answer(const std::string& instance, std::optional<double> value) {
    changing_.Do([&] {
      std::erase_if(readings_, [&](const Reading& known) { return known.instance == instance; });
      readings_.push_back({.instance = instance,
                           .value = value,
                           .error = value.has_value() ? "" : "not there",
                           .is_absent = !value.has_value()});
    });
  }
  // What calls return instead of readings; Ok: nothing instead.
  void Fail(absl::Status status) {
    changing_.Do([&] { status_ = std::move(status); });
  }
  void Hang() {
    changing_.Do([&] { hangs_ = true; });
  }
  void Release() {
    changing_.Do([&] { hangs_ = false; });
  }

  // Until so many polls, or samples of work, have begun.
  void AwaitPolls(size_t count) {
    EXPECT_TRUE(changing_.Await([&] { return polls_.size() >= count; }));
  }
  void AwaitWork(size_t count) {
    EXPECT_TRUE(changing_.Await([&] { return work_samples_ >= count; }));
  }
  // Until a call hangs.
  void AwaitHungCall() {
    EXPECT_TRUE(changing_.Await([&] { return hung_; }));
  }
  // When each poll began.
  std::vector<int64_t> PollTimes() {
    std::vector<int64_t> times;
    changing_.Do([&] { times = polls_; });
    return times;
  }
  size_t WorkSamples() {
    size_t samples = 0;
    changing_.Do([&] { samples = work_samples_; });
    return samples;
  }

 private:
  friend class FakeProbe;

  // Returns what a call has to say, once it does not hang.
  absl::Status Call() {
    absl::Status status;
    changing_.Do([&] { hung_ = hangs_ && !cancelled_; });
    EXPECT_TRUE(changing_.Await([&] {
      status = cancelled_ ? absl::CancelledError("shutting down") : status_;
      return !hangs_ || cancelled_;
    }));
    return status;
  }

  Clock* const clock_;
  Changing changing_;  // guards all below
  std::vector<Reading> readings_;
  absl::Status status_;
  bool hangs_ = false;
  bool hung_ = false;
  bool cancelled_ = false;
  std::vector<int64_t> polls_;
  size_t work_samples_ = 0;
};

class FakeProbe final : public Probe {
 public:
  explicit FakeProbe(std::shared_ptr<FakeServer> server) : server_(std::move(server)) {}

  absl::StatusOr<std::vector<Reading>> Poll(absl::Span<const SignalQuery>) override {
    const int64_t now_ns = server_->clock_->Read().monotonic_ns;
    server_->changing_.Do([&] { server_->polls_.push_back(now_ns); });
    if (absl::Status status = server_->Call(); !status.ok()) return status;
    std::vector<Reading> readings;
    server_->changing_.Do([&] { readings = server_->readings_; });
    return readings;
  }

  absl::StatusOr<WorkCounters> SampleWork(StatementsWish) override {
    server_->changing_.Do([&] { ++server_->work_samples_; });
    if (absl::Status status = server_->Call(); !status.ok()) return status;
    WorkCounters counters;
    counters.sampled_at_ns = server_->clock_->Read().monotonic_ns;
    return counters;
  }

  void Cancel() override {
    server_->changing_.Do([&] { server_->cancelled_ = true; });
  }

 private:
  const std::shared_ptr<FakeServer> server_;
};

inline std::unique_ptr<Probe> FakeServer::MakeProbe() {
  return std::make_unique<FakeProbe>(shared_from_this());
}

}  // namespace headgate::health
