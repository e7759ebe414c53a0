// HonestWorker: does what the documentation asks of jobs: a Check before each chunk, and a Report
// of what it came to. It is two of them in one, of which one asks over gRPC and one over HTTP, by
// turns: some hundred times a second each, from one thread.
//
//   WorkAsTold({.http_port = 8080, .address = "127.0.0.1:8081"});  // in a process of its own

#pragma once

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "tests/bench/isolation/honest_calls.h"
#include "tests/testing/wait_until.h"

namespace headgate::bench {

struct Experience {
  double grpc_p99_us = 0;  // of a Check
  double http_p99_us = 0;
  int checks = 0;        // of both
  int denied = 0;        // or failed, or its Report did
  std::string why = {};  // of the last one
  double shift = 0;      // by how much the predicted cost was off, at most, as a ratio
};

class HonestWorker {
 public:
  explicit HonestWorker(const AttackedServer& server) : over_grpc_(server), over_http_(server) {}

  Experience Work(absl::Duration period) {
    Experience experience;
    std::vector<double> grpc_us, http_us;
    const int64_t end_ns = MonotonicNs() + absl::ToInt64Nanoseconds(period);
    while (MonotonicNs() < end_ns) {
      grpc_us.push_back(Chunk(over_grpc_, experience));
      http_us.push_back(Chunk(over_http_, experience));
      poll(nullptr, 0, 2);
    }
    experience.grpc_p99_us = Percentile99(grpc_us);
    experience.http_p99_us = Percentile99(http_us);
    experience.checks = static_cast<int>(grpc_us.size() + http_us.size());
    return experience;
  }

 private:
  static constexpr double kRows = 10;

  static double Percentile99(std::vector<double>& us) {
    std::sort(us.begin(), us.end());
    return us[us.size() * 99 / 100];
  }

  // How long its Check took.
  static double Chunk(HonestCalls& calls, Experience& experience) {
    v1::CheckRequest check;
    check.set_identity("job-7:backfill");
    check.set_pattern(kSharedPattern);
    check.set_estimated_cost(kRows);
    v1::CheckResponse response;
    const int64_t began_ns = MonotonicNs();
    const grpc::Status status = calls.Check(check, response);
    const double took_us = 1e-3 * static_cast<double>(MonotonicNs() - began_ns);
    const v1::Decision& decision = response.decision();
    if (!status.ok()) return Failed(experience, status.error_message(), took_us);
    experience.shift = std::max(experience.shift, std::abs(decision.predicted_cost() / kRows - 1));
    if (decision.verdict() != v1::VERDICT_ALLOWED) {
      return Failed(experience, decision.message(), took_us);
    }
    if (decision.has_permit_id()) Report(calls, decision.permit_id(), experience);
    return took_us;
  }

  static void Report(HonestCalls& calls, uint64_t permit, Experience& experience) {
    v1::ReportRequest request;
    v1::PermitReport& report = *request.add_reports();
    report.set_permit_id(permit);
    report.set_actual_cost(kRows);
    v1::ReportResponse response;
    const grpc::Status status = calls.Report(request, response);
    if (!status.ok()) Failed(experience, "Report: " + status.error_message(), 0);
  }

  static double Failed(Experience& experience, const std::string& why, double took_us) {
    ++experience.denied;
    experience.why = why;
    return took_us;
  }

  HonestCallsOverGrpc over_grpc_;
  HonestCallsOverHttp over_http_;
};

// Works for so many milliseconds each time that it is told so, until the input ends.
inline void WorkAsTold(const AttackedServer& server) {
  HonestWorker worker(server);
  for (int ms = 0; std::cin >> ms;) {
    const Experience had = worker.Work(absl::Milliseconds(ms));
    std::cout << had.grpc_p99_us << ' ' << had.http_p99_us << ' ' << had.checks << ' ' << had.denied
              << ' ' << had.shift << ' ' << absl::StrReplaceAll(had.why, {{"\n", " "}})
              << std::endl;
  }
}

}  // namespace headgate::bench
