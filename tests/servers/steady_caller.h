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
  SteadyCaller(const Deployment& servers, int server, std::string target, double cost)
      : servers_(servers),
        server_(server),
        target_(std::move(target)),
        cost_(cost),
        started_ns_(MonotonicNs()),
        thread_([this] { Run(); }) {}
  ~SteadyCaller() { Stop(); }

  void Stop() {
    stopping_ = true;
    if (!thread_.joinable()) return;
    thread_.join();
    span_ = absl::Nanoseconds(MonotonicNs() - started_ns_);
  }

  int64_t asked() const { return asked_; }
  // After Stop.
  int64_t failed() const { return failed_; }
  double admitted() const { return admitted_; }
  absl::Duration span() const { return span_; }
  // The longest that one Check took, with its second try.
  absl::Duration longest() const { return absl::Nanoseconds(longest_ns_); }
  const std::string& last_error() const { return last_error_; }

 private:
  void Run() {
    while (!stopping_) {
      const int64_t before_ns = MonotonicNs();
      v1::Decision decision;
      grpc::Status status;
      for (int tries = 0; tries < 2; ++tries) {
        const int server = (server_ + tries) % servers_.size();
        status = servers_.TryCheck(server, target_, "job", &decision, cost_, absl::Seconds(10));
        if (status.ok()) break;
      }
      longest_ns_ = std::max(longest_ns_, MonotonicNs() - before_ns);
      if (!status.ok()) {
        ++failed_;
        last_error_ =
            absl::StrCat(static_cast<int>(status.error_code()), " ", status.error_message());
      } else if (decision.verdict() == v1::VERDICT_ALLOWED) {
        admitted_ += cost_;
      }
      ++asked_;
      poll(nullptr, 0, 10);
    }
  }

  const Deployment& servers_;
  const int server_;
  const std::string target_;
  const double cost_;
  const int64_t started_ns_;
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> asked_{0};
  int64_t failed_ = 0;
  int64_t longest_ns_ = 0;
  double admitted_ = 0;
  absl::Duration span_;
  std::string last_error_;
  std::thread thread_;  // the last: it uses all above
};

}  // namespace headgate
