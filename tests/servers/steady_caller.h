// A job that asks one server about one target on and on, a hundred times a second, and tries what
// failed once more, at the next server.
//
//   SteadyCaller caller(deployment, 1, "orders", 10);
//   ...
//   caller.Stop();
//   EXPECT_EQ(caller.failed(), 0);

#pragma once

#include <poll.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/servers/deployment.h"

namespace headgate {

class SteadyCaller {
 public:
  // At the given server first, then at the one after it, and so on.
  struct Habit {
    int tries = 2;
    int pause_ms = 10;
    int retry_after_ms = 0;
    absl::Duration limit = absl::Seconds(10);  // of each try
  };
  SteadyCaller(const Deployment& servers, int server, std::string target, double cost)
      : SteadyCaller(servers, server, std::move(target), cost, Habit()) {}
  SteadyCaller(const Deployment& servers, int server, std::string target, double cost, Habit habit)
      : servers_(servers),
        server_(server),
        target_(std::move(target)),
        cost_(cost),
        habit_(habit),
        started_ns_(MonotonicNs()),
        thread_([this] { Run(); }) {}
  ~SteadyCaller() { Stop(); }

  void Stop() {
    stopping_ = true;
    if (!thread_.joinable()) return;
    thread_.join();
    span_ = absl::Nanoseconds(MonotonicNs() - started_ns_);
  }

  // `failed` and `longest` count from here on.
  void Begin() {
    longest_ns_ = 0;
    failed_ = 0;
  }
  int64_t asked() const { return asked_; }
  int64_t failed() const { return failed_; }
  // Denied since nobody knew how the target was, or it was not well.
  int64_t denied_by_health() const { return denied_by_health_; }
  // The longest that one Check took, with all its tries.
  absl::Duration longest() const { return absl::Nanoseconds(longest_ns_.load()); }
  // After Stop.
  double admitted() const { return admitted_; }
  absl::Duration span() const { return span_; }
  const std::string& last_error() const { return last_error_; }

 private:
  void Run() {
    while (!stopping_) {
      const int64_t before_ns = MonotonicNs();
      v1::Decision decision;
      grpc::Status status;
      for (int tries = 0; tries < habit_.tries; ++tries) {
        if (tries > 0) poll(nullptr, 0, habit_.retry_after_ms);
        const int server = (server_ + tries) % servers_.size();
        status = servers_.TryCheck(server, target_, "job", &decision, cost_, habit_.limit);
        if (status.ok()) break;
      }
      longest_ns_ = std::max<int64_t>(longest_ns_, MonotonicNs() - before_ns);
      if (!status.ok()) {
        ++failed_;
        last_error_ =
            absl::StrCat(static_cast<int>(status.error_code()), " ", status.error_message());
      } else if (decision.verdict() == v1::VERDICT_ALLOWED) {
        admitted_ += cost_;
      } else if (decision.reason() == v1::REASON_HEALTH) {
        ++denied_by_health_;
      }
      ++asked_;
      poll(nullptr, 0, habit_.pause_ms);
    }
  }

  const Deployment& servers_;
  const int server_;
  const std::string target_;
  const double cost_;
  const Habit habit_;
  const int64_t started_ns_;
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> asked_{0};
  std::atomic<int64_t> failed_{0};
  std::atomic<int64_t> denied_by_health_{0};
  std::atomic<int64_t> longest_ns_{0};
  double admitted_ = 0;
  absl::Duration span_;
  std::string last_error_;
  std::thread thread_;  // the last: it uses all above
};

}  // namespace headgate
