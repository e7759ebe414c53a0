// Jobs that ask one server about one target on and on, each one Check after the other, and each
// Check under one request id until it is answered. They count how often they are told that its
// owner was lost.
//
//   AskingCallers callers(deployment, 1, "orders", 16);
//   ...
//   callers.Stop();
//   EXPECT_LE(callers.most_lost(), 1);

#pragma once

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/servers/deployment.h"
#include "tests/testing/error_details.h"

namespace headgate {

class AskingCallers {
 public:
  AskingCallers(const Deployment& servers, int server, std::string target, int count)
      : servers_(servers), server_(server), target_(std::move(target)), started_ns_(MonotonicNs()) {
    for (int i = 0; i < count; ++i) {
      callers_.push_back(std::make_unique<Caller>());
      Caller& caller = *callers_.back();
      caller.thread = std::thread([this, &caller, i] { Run(caller, i); });
    }
  }
  ~AskingCallers() { Stop(); }

  // Once each has its answer.
  void Stop() {
    stopping_ = true;
    for (const auto& caller : callers_) {
      if (caller->thread.joinable()) caller->thread.join();
    }
    span_ = absl::Nanoseconds(MonotonicNs() - started_ns_);
  }

  // Whether each is answered so often from now on.
  bool AwaitAnswers(int64_t more) const {
    std::vector<int64_t> before;
    for (const auto& caller : callers_) before.push_back(caller->answered);
    return WaitUntil([&] {
      for (size_t i = 0; i < callers_.size(); ++i) {
        if (callers_[i]->answered < before[i] + more) return false;
      }
      return true;
    });
  }
  int64_t lost() const {
    int64_t lost = 0;
    for (const auto& caller : callers_) lost += caller->lost;
    return lost;
  }
  int64_t most_lost() const {
    int64_t most = 0;
    for (const auto& caller : callers_) most = std::max<int64_t>(most, caller->lost);
    return most;
  }
  // After Stop.
  int64_t admitted() const {
    int64_t admitted = 0;
    for (const auto& caller : callers_) admitted += caller->admitted;
    return admitted;
  }
  // Other errors than that, one after the other.
  std::string errors() const {
    std::string errors;
    for (const auto& caller : callers_) absl::StrAppend(&errors, caller->errors);
    return errors;
  }
  absl::Duration span() const { return span_; }

 private:
  struct Caller {
    std::atomic<int64_t> answered{0};
    std::atomic<int64_t> lost{0};
    int64_t admitted = 0;
    std::string errors;
    std::thread thread;
  };

  void Run(Caller& caller, int number) const {
    for (int64_t check = 0; !stopping_; ++check) {
      v1::CheckRequest request;
      request.set_identity("job");
      request.set_target(target_);
      request.set_estimated_cost(1);
      request.set_request_id(absl::StrCat("caller-", number, "-", check));
      v1::CheckResponse response;
      for (;;) {
        const grpc::Status status = servers_.Try(server_, &v1::ThrottlerService::Stub::Check,
                                                 request, response, absl::Minutes(1));
        if (status.ok()) break;
        const std::string reason = ReadDetails(status).value_or(ErrorDetails()).reason;
        if (reason == "OWNER_LOST") {
          ++caller.lost;
        } else {
          absl::StrAppend(&caller.errors, reason, " ", status.error_message(), "\n");
          poll(nullptr, 0, 100);
        }
      }
      if (response.decision().verdict() == v1::VERDICT_ALLOWED) ++caller.admitted;
      ++caller.answered;
      poll(nullptr, 0, 1);
    }
  }

  const Deployment& servers_;
  const int server_;
  const std::string target_;
  const int64_t started_ns_;
  std::atomic<bool> stopping_{false};
  absl::Duration span_;
  std::vector<std::unique_ptr<Caller>> callers_;
};

}  // namespace headgate
