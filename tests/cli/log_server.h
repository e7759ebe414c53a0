// LogServer: a throttle log with canned rows behind gRPC, on a port of its own. It pages, filters
// nothing but denials by number and identity, and keeps what it was asked.
//
//   LogServer server;
//   server.log().intervals = {...};
//   EXPECT_EQ(server.Headgate({"log", "etl"}).status, 0);
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <headgate/v1/throttle_log_service.grpc.pb.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "gtest/gtest.h"
#include "tests/cli/run_headgate.h"

namespace headgate::cli {

// 2020-11-20, a time of day in UTC.
inline absl::Time Today(int hour, int minute, double second = 0) {
  return absl::FromCivil(absl::CivilMinute(2020, 11, 20, hour, minute), absl::UTCTimeZone()) +
         absl::Seconds(second);
}

inline void Set(absl::Time time, google::protobuf::Timestamp* to) {
  const int64_t nanos = absl::ToUnixNanos(time);
  to->set_seconds(nanos / 1'000'000'000);
  to->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
}

inline v1::DenialCause LagCause(int64_t denied = 0) {
  v1::DenialCause cause;
  cause.set_reason(v1::REASON_HEALTH);
  cause.set_limit_kind(v1::LIMIT_KIND_HEALTH);
  cause.set_signal("replication_lag_seconds on standby-2");
  cause.set_denied(denied);
  cause.set_peak(7.1);
  cause.set_limit(5);
  return cause;
}

inline v1::DenialCause BurstCause(int64_t denied = 0) {
  v1::DenialCause cause;
  cause.set_reason(v1::REASON_CAPACITY);
  cause.set_limit_kind(v1::LIMIT_KIND_BURST);
  cause.set_budget("rows");
  cause.set_denied(denied);
  cause.set_peak(130);
  cause.set_limit(100);
  return cause;
}

inline v1::ThrottledInterval Interval(const std::string& who, absl::Time from, absl::Time to,
                                      int64_t allowed, std::vector<v1::DenialCause> causes) {
  v1::ThrottledInterval interval;
  interval.set_identity(who);
  interval.set_target("main");
  Set(from, interval.mutable_from());
  Set(to, interval.mutable_to());
  interval.set_allowed(allowed);
  for (v1::DenialCause& cause : causes) {
    interval.set_denied(interval.denied() + cause.denied());
    *interval.add_causes() = std::move(cause);
  }
  interval.set_message("A sentence, of the server's.");
  return interval;
}

inline v1::LogSum Sum(const std::string& who, int64_t allowed, int64_t denied) {
  v1::LogSum sum;
  sum.set_identity(who);
  sum.set_allowed(allowed);
  sum.set_denied(denied);
  sum.set_allowed_cost(static_cast<double>(allowed) * 10);
  sum.set_denied_cost(static_cast<double>(denied) * 10);
  return sum;
}

inline v1::Denial DenialOf(int64_t number, const std::string& who, absl::Time at) {
  v1::Denial denial;
  denial.set_number(number);
  Set(at, denial.mutable_at());
  denial.set_identity(who);
  denial.set_outcome(v1::OUTCOME_DENIED);
  denial.set_predicted_cost(45);
  *denial.mutable_cause() = LagCause();
  denial.mutable_retry_after()->set_seconds(2);
  return denial;
}

class FakeLog final : public v1::ThrottleLogService::Service {
 public:
  // Of these pages are made; set before anybody asks.
  v1::QueryThrottleLogResponse sums;
  v1::LogSum total;           // where nothing is grouped
  int64_t denied_by_it = 0;   // of total, where reasons, budgets or signals are named
  grpc::Status query_status;  // of QueryThrottleLog and ListThrottledIntervals
  std::vector<v1::ThrottledInterval> intervals;
  v1::ReplayThrottleLogResponse replayed;
  grpc::Status replay_status;
  int max_in_page = 1000;

  // What ListDenials ends with instead of an answer; OK: it answers.
  using Refusal = std::function<grpc::Status(const v1::ListDenialsRequest&)>;
  void SetRefusal(Refusal refusal) {
    MutexLock lock(&mutex_);
    refusal_ = std::move(refusal);
  }

  void AddDenial(v1::Denial denial) {
    MutexLock lock(&mutex_);
    denials_.push_back(std::move(denial));
  }
  // As a server has them that counts anew.
  void SetDenials(std::vector<v1::Denial> denials) {
    MutexLock lock(&mutex_);
    denials_ = std::move(denials);
  }
  int denial_calls() const {
    MutexLock lock(&mutex_);
    return denial_calls_;
  }
  std::vector<v1::QueryThrottleLogRequest> queries() const {
    MutexLock lock(&mutex_);
    return queries_;
  }
  std::vector<v1::ListThrottledIntervalsRequest> interval_queries() const {
    MutexLock lock(&mutex_);
    return interval_queries_;
  }
  v1::ReplayThrottleLogRequest replay_request() const {
    MutexLock lock(&mutex_);
    return replay_request_;
  }

  grpc::Status QueryThrottleLog(grpc::ServerContext*, const v1::QueryThrottleLogRequest* request,
                                v1::QueryThrottleLogResponse* response) override {
    MutexLock lock(&mutex_);
    queries_.push_back(*request);
    *response->mutable_from() = sums.from();
    *response->mutable_to() = sums.to();
    response->set_waiting_checks(sums.waiting_checks());
    if (request->group_by().empty()) {
      *response->add_sums() = total;
      const v1::LogFilter& filter = request->filter();
      if (filter.reasons_size() + filter.budgets_size() + filter.signals_size() > 0) {
        // Nothing refused what was allowed.
        *response->mutable_sums(0) = v1::LogSum();
        response->mutable_sums(0)->set_denied(denied_by_it);
      }
      return query_status;
    }
    Page(*request, sums.sums(), response->mutable_sums(), *response);
    return query_status;
  }

  grpc::Status ListThrottledIntervals(grpc::ServerContext*,
                                      const v1::ListThrottledIntervalsRequest* request,
                                      v1::ListThrottledIntervalsResponse* response) override {
    MutexLock lock(&mutex_);
    interval_queries_.push_back(*request);
    Page(*request, intervals, response->mutable_intervals(), *response);
    return query_status;
  }

  grpc::Status ListDenials(grpc::ServerContext*, const v1::ListDenialsRequest* request,
                           v1::ListDenialsResponse* response) override {
    MutexLock lock(&mutex_);
    ++denial_calls_;
    if (refusal_ != nullptr) {
      if (grpc::Status refused = refusal_(*request); !refused.ok()) return refused;
    }
    const std::string& who = request->identity();
    for (auto denial = denials_.rbegin(); denial != denials_.rend(); ++denial) {
      if (denial->number() <= request->after()) continue;
      const std::string& its = denial->identity();
      if (!who.empty() && its != who && !its.ends_with(":" + who)) continue;
      if (response->denials_size() < request->page_size()) *response->add_denials() = *denial;
    }
    return grpc::Status();
  }

  grpc::Status ReplayThrottleLog(grpc::ServerContext*, const v1::ReplayThrottleLogRequest* request,
                                 v1::ReplayThrottleLogResponse* response) override {
    MutexLock lock(&mutex_);
    replay_request_ = *request;
    *response = replayed;
    return replay_status;
  }

 private:
  // The token is the place of the first row.
  template <typename Request, typename Rows, typename Response>
  void Page(const Request& request, const Rows& rows, auto* to, Response& response) const {
    const int first = std::atoi(request.page_token().c_str());
    const int end = std::min({static_cast<int>(rows.size()), first + max_in_page,
                              first + std::max(request.page_size(), 1)});
    for (int i = first; i < end; ++i) *to->Add() = *(rows.begin() + i);
    if (end < static_cast<int>(rows.size())) response.set_next_page_token(absl::StrCat(end));
  }

  mutable Mutex mutex_;
  std::vector<v1::Denial> denials_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  int denial_calls_ ABSL_GUARDED_BY(mutex_) = 0;
  Refusal refusal_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::QueryThrottleLogRequest> queries_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::ListThrottledIntervalsRequest> interval_queries_ ABSL_GUARDED_BY(mutex_);
  v1::ReplayThrottleLogRequest replay_request_ ABSL_GUARDED_BY(mutex_);
};

class ServedLog {
 public:
  ServedLog() {
    Set(Today(6, 0), log_.sums.mutable_from());
    Set(Today(14, 3), log_.sums.mutable_to());
    Start();
  }

  FakeLog& log() { return log_; }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  void Stop() { server_ = nullptr; }
  // On the same port as before, if there was one.
  void Start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&log_);
    server_ = builder.BuildAndStart();
    EXPECT_NE(server_, nullptr);
  }

 private:
  FakeLog log_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

using LogServer = AskedByHeadgate<ServedLog>;

}  // namespace headgate::cli
