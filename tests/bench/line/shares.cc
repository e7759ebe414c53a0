#include "tests/bench/line/shares.h"

#include <google/protobuf/util/time_util.h>
#include <headgate/v1/throttler_service.grpc.pb.h>
#include <poll.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <thread>

#include "tests/testing/own_channel.h"
#include "tests/testing/wait_until.h"

namespace headgate::bench {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
// What a bucket's burst lets through at once is nobody's share.
constexpr double kSettlingShare = 0.2;

[[noreturn]] void EndWith(const grpc::Status& status) {
  std::fprintf(stderr, "line: a call failed: %s\n", status.error_message().c_str());
  std::exit(EXIT_FAILURE);
}

// What the workers of one job have been admitted. relaxed: sums that order nothing.
struct Admitted {
  std::atomic<double> all{0};
  std::atomic<double> settled{0};
};

struct Span {
  int64_t settled_ns;
  int64_t end_ns;
};

class Worker {
 public:
  Worker(int port, const SharingJob& job, const Span& span, Admitted& admitted)
      : job_(job), span_(span), admitted_(admitted), stub_(OwnChannel(port)) {}

  void Run() {
    while (MonotonicNs() < span_.end_ns) {
      const v1::Decision decision = Ask();
      const int64_t now_ns = MonotonicNs();
      if (now_ns >= span_.end_ns) {
        if (decision.verdict() == v1::VERDICT_ALLOWED) Report(decision.permit_id());
        return;
      }
      if (decision.verdict() == v1::VERDICT_ALLOWED) {
        admitted_.all.fetch_add(job_.chunk, std::memory_order_relaxed);
        if (now_ns >= span_.settled_ns) {
          admitted_.settled.fetch_add(job_.chunk, std::memory_order_relaxed);
        }
        Report(decision.permit_id());
      } else if (job_.polls) {
        Pause(google::protobuf::util::TimeUtil::DurationToNanoseconds(decision.retry_after()));
      }
    }
  }

 private:
  v1::Decision Ask() {
    v1::CheckRequest request;
    request.set_identity(job_.identity);
    request.set_estimated_cost(job_.chunk);
    const int64_t left_ns = span_.end_ns - MonotonicNs();
    if (!job_.polls && left_ns > 0) {
      *request.mutable_max_wait() =
          google::protobuf::util::TimeUtil::NanosecondsToDuration(left_ns);
    }
    v1::CheckResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub_.Check(&context, request, &response);
    if (!status.ok()) EndWith(status);
    return response.decision();
  }

  void Report(uint64_t permit) {
    v1::ReportRequest request;
    v1::PermitReport& report = *request.add_reports();
    report.set_permit_id(permit);
    report.set_actual_cost(job_.chunk);
    v1::ReportResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub_.Report(&context, request, &response);
    if (!status.ok()) EndWith(status);
  }

  void Pause(int64_t pause_ns) const {
    const timespec pause{.tv_sec = pause_ns / kSecondNs, .tv_nsec = pause_ns % kSecondNs};
    ppoll(nullptr, 0, &pause, nullptr);
  }

  const SharingJob& job_;
  const Span span_;
  Admitted& admitted_;
  v1::ThrottlerService::Stub stub_;
};

}  // namespace

double Sharing::ShareOf(size_t job) const {
  double sum = 0;
  for (const double its : cost) sum += its;
  return cost[job] / sum;
}

double JainIndex(const std::vector<double>& shares) {
  double sum = 0;
  double squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return sum * sum / (static_cast<double>(shares.size()) * squares);
}

Sharing Share(int port, const std::vector<SharingJob>& jobs, absl::Duration time) {
  const int64_t began_ns = MonotonicNs();
  const int64_t length_ns = absl::ToInt64Nanoseconds(time);
  const Span span{.settled_ns = began_ns + static_cast<int64_t>(kSettlingShare *
                                                                static_cast<double>(length_ns)),
                  .end_ns = began_ns + length_ns};
  std::deque<Admitted> admitted(jobs.size());
  std::deque<Worker> workers;
  std::vector<std::thread> threads;
  for (size_t job = 0; job < jobs.size(); ++job) {
    for (int i = 0; i < jobs[job].workers; ++i) {
      Worker& worker = workers.emplace_back(port, jobs[job], span, admitted[job]);
      threads.emplace_back([&worker] { worker.Run(); });
    }
  }
  for (std::thread& thread : threads) thread.join();
  Sharing sharing;
  for (const Admitted& its : admitted) {
    sharing.cost.push_back(its.settled.load(std::memory_order_relaxed));
    sharing.all += its.all.load(std::memory_order_relaxed);
  }
  sharing.seconds = static_cast<double>(length_ns) / static_cast<double>(kSecondNs);
  return sharing;
}

}  // namespace headgate::bench
