// A job that asks on and on, over every restart, and what it was told.
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/testing/wait_until.h"

namespace headgate {

// One Check that was admitted: somewhere between the two times.
struct Admission {
  int64_t sent_ns = 0;
  int64_t received_ns = 0;
  double cost = 0;
};

// When the server was killed, and how much of what it had answered until then it may have
// forgotten.
struct Kill {
  int64_t at_ns = 0;
  absl::Duration lost;
};

struct CallerCounts {
  int64_t checks = 0;
  int64_t retried = 0;
  int64_t cancelled = 0;  // of the retried, those that were not told UNAVAILABLE
  int64_t failed = 0;     // in spite of all retries
  std::string last_error;
};

inline std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

class RestartCaller {
 public:
  // Each Check is tried `tries` times at most, and waited for so long each time.
  RestartCaller(const std::string& address, std::string identity, double cost, int tries,
                int64_t patience_ms = 20'000)
      : identity_(std::move(identity)),
        cost_(cost),
        tries_(tries),
        patience_ms_(patience_ms),
        stub_(v1::ThrottlerService::NewStub(ChannelTo(address))),
        thread_([this] { Run(); }) {}
  ~RestartCaller() { Stop(); }
  RestartCaller(const RestartCaller&) = delete;
  RestartCaller& operator=(const RestartCaller&) = delete;

  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // Whether any of its Checks was admitted by now.
  bool was_admitted() const { return was_admitted_; }
  // After Stop.
  const std::vector<Admission>& admissions() const { return admissions_; }
  const CallerCounts& counts() const { return counts_; }

 private:
  void Run() {
    v1::CheckRequest request;
    v1::CheckResponse response;
    request.set_identity(identity_);
    request.set_estimated_cost(cost_);
    for (int64_t i = 0; !stop_; ++i) {
      request.set_request_id(absl::StrCat(i));
      ++counts_.checks;
      const int64_t sent_ns = MonotonicNs();
      if (!Ask(request, response)) continue;
      if (response.decision().verdict() == v1::VERDICT_ALLOWED) {
        admissions_.push_back({sent_ns, MonotonicNs(), cost_});
        was_admitted_ = true;
      }
    }
  }

  bool Ask(const v1::CheckRequest& request, v1::CheckResponse& response) {
    for (int attempt = 1;; ++attempt) {
      grpc::ClientContext context;
      context.set_wait_for_ready(true);
      context.set_deadline(gpr_time_from_millis(patience_ms_, GPR_TIMESPAN));
      const grpc::Status status = stub_->Check(&context, request, &response);
      if (status.ok()) return true;
      const bool cancelled = status.error_code() == grpc::StatusCode::CANCELLED;
      const bool again = cancelled || status.error_code() == grpc::StatusCode::UNAVAILABLE;
      if (!again || attempt == tries_) {
        ++counts_.failed;
        counts_.last_error =
            absl::StrCat(static_cast<int>(status.error_code()), " ", status.error_message());
        return false;
      }
      ++counts_.retried;
      counts_.cancelled += cancelled ? 1 : 0;
    }
  }

  const std::string identity_;
  const double cost_;
  const int tries_;
  const int64_t patience_ms_;
  const std::unique_ptr<v1::ThrottlerService::Stub> stub_;
  std::vector<Admission> admissions_;
  CallerCounts counts_;
  // relaxed would do: nothing is read on the strength of it but itself.
  std::atomic<bool> stop_{false};
  std::atomic<bool> was_admitted_{false};  // likewise
  std::thread thread_;
};

// Those that no kill may have taken.
inline std::vector<Admission> WithoutLost(const std::vector<Kill>& kills,
                                          std::vector<Admission> admissions) {
  std::erase_if(admissions, [&](const Admission& one) {
    return std::any_of(kills.begin(), kills.end(), [&](const Kill& kill) {
      return one.sent_ns <= kill.at_ns &&
             one.received_ns > kill.at_ns - absl::ToInt64Nanoseconds(kill.lost);
    });
  });
  return admissions;
}

inline double SumOf(const std::vector<Admission>& admissions) {
  double sum = 0;
  for (const Admission& one : admissions) sum += one.cost;
  return sum;
}

// The most that was admitted in any interval above what `burst` and `rate` allow for it. Not above
// 0: the limit held.
inline double OverAdmission(std::vector<Admission> admissions, double burst, double rate) {
  constexpr double kSecond = 1e9;
  std::sort(admissions.begin(), admissions.end(),
            [](const Admission& a, const Admission& b) { return a.received_ns < b.received_ns; });
  double worst = -burst;
  for (const Admission& first : admissions) {
    double sum = 0;
    for (const Admission& last : admissions) {
      if (last.sent_ns < first.sent_ns) continue;
      sum += last.cost;
      const double span = static_cast<double>(last.received_ns - first.sent_ns) / kSecond;
      worst = std::max(worst, sum - burst - rate * span);
    }
  }
  return worst;
}

}  // namespace headgate
