// A job that asks one Check after the other, which may wait in line, and counts by itself what
// became of them and how long it waited, by its own clock: what the throttle log has to agree with.
//
// Thread-compatible.
//
//   CountingJob job(server.channel(), "job:etl", absl::Minutes(1));
//   ...
//   ExpectLogged(sum_of_the_log, job.Stop());
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>
#include <headgate/v1/throttle_log_service.pb.h>
#include <headgate/v1/throttler_service.grpc.pb.h>
#include <poll.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "common/system_clock.h"
#include "gtest/gtest.h"

namespace headgate {

inline absl::Duration DurationOf(const google::protobuf::Duration& from) {
  return absl::Seconds(from.seconds()) + absl::Nanoseconds(from.nanos());
}

// What became of a job's Checks, as it saw it.
struct SeenByJob {
  int64_t allowed = 0;
  int64_t denied = 0;
  int64_t sent_away = 0;  // while it waited: asked again
  int64_t waited_and_allowed = 0;
  absl::Duration waited;  // by its own clock
  absl::Duration told;    // as the answers say
};

// Asks one Check after the other until it is told to stop.
class CountingJob {
 public:
  // It may not wait where `max_wait` is zero: then it asks 20 times a second.
  CountingJob(std::shared_ptr<grpc::Channel> channel, std::string identity, absl::Duration max_wait,
              std::string target = "")
      : channel_(std::move(channel)),
        identity_(std::move(identity)),
        target_(std::move(target)),
        max_wait_(max_wait),
        thread_([this] {
          while (!stopping_) Ask();
        }) {}
  ~CountingJob() { Stop(); }
  // What it saw, once it has its last answer.
  const SeenByJob& Stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    return seen_;
  }
  const std::string& identity() const { return identity_; }

 private:
  void Ask() {
    v1::CheckRequest request;
    request.set_identity(identity_);
    request.set_target(target_);
    request.set_estimated_cost(1);
    const bool waits = max_wait_ > absl::ZeroDuration();
    if (waits) request.mutable_max_wait()->set_seconds(absl::ToInt64Seconds(max_wait_));
    grpc::ClientContext context;
    // What it takes to connect is waited in no line.
    channel_->WaitForConnected(gpr_time_from_seconds(60, GPR_TIMESPAN));
    v1::CheckResponse response;
    const int64_t began_ns = SystemClock::ReadKernel().monotonic_ns;
    const grpc::Status status =
        v1::ThrottlerService::Stub(channel_).Check(&context, request, &response);
    const absl::Duration took =
        absl::Nanoseconds(SystemClock::ReadKernel().monotonic_ns - began_ns);
    const v1::Decision& decision = response.decision();
    if (!status.ok()) {
      // What it asks next, while that server ends and another one starts, waits in no line.
      if (waits && !is_sent_away_) {
        ++seen_.sent_away;
        seen_.waited += took;
      }
      is_sent_away_ = true;
      poll(nullptr, 0, 20);
      return;
    }
    is_sent_away_ = false;
    ++(decision.verdict() == v1::VERDICT_ALLOWED ? seen_.allowed : seen_.denied);
    if (decision.has_waited()) {
      seen_.waited += took;
      seen_.told += DurationOf(decision.waited());
      seen_.waited_and_allowed += decision.verdict() == v1::VERDICT_ALLOWED ? 1 : 0;
    }
    if (!waits) poll(nullptr, 0, 50);
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::string identity_;
  const std::string target_;
  const absl::Duration max_wait_;
  std::atomic<bool> stopping_ = false;
  SeenByJob seen_;
  bool is_sent_away_ = false;
  std::thread thread_;  // the last: it uses all above
};

// To the Check, and to a hundredth of the time: no less than the job was told, but for what was on
// its way to another server, and no more than it saw by its own clock, which begins before the
// server's and ends after it. As often as `moved`, at most, its Check went on to wait at another
// server without the job.
inline void ExpectLogged(const v1::LogSum& sum, const SeenByJob& seen, int64_t moved = 0) {
  EXPECT_EQ(sum.allowed(), seen.allowed);
  EXPECT_EQ(sum.denied(), seen.denied);
  EXPECT_EQ(sum.waiting().admitted(), seen.waited_and_allowed);
  // One that was on its way when its server ended had not come to wait.
  EXPECT_LE(sum.waiting().left(), seen.sent_away + moved);
  const absl::Duration waited = DurationOf(sum.waiting().waited());
  EXPECT_LE(waited, seen.waited + absl::Milliseconds(1));
  EXPECT_GE(waited, seen.told * 0.99 - absl::Milliseconds(500) * moved);
  EXPECT_LE(DurationOf(sum.waiting().held()), waited + absl::Milliseconds(1));
}

}  // namespace headgate
