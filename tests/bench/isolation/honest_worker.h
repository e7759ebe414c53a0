// HonestWorker: does what the documentation asks of a job: a Check before each chunk, and a Report
// of what it came to. It asks some hundred times a second, from one thread.
//
//   WorkAsTold({.address = "127.0.0.1:8081"});  // in a process of its own

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
#include "tests/bench/isolation/calls.h"
#include "tests/testing/wait_until.h"

namespace headgate::bench {

struct Experience {
  double p99_us = 0;  // of a Check
  int checks = 0;
  int denied = 0;        // or failed, or its Report did
  std::string why = {};  // of the last one
  double shift = 0;      // by how much the predicted cost was off, at most, as a ratio
};

class HonestWorker {
 public:
  explicit HonestWorker(const AttackedServer& server) : calls_(server) {}

  Experience Work(absl::Duration period) {
    Experience experience;
    std::vector<double> us;
    const int64_t end_ns = MonotonicNs() + absl::ToInt64Nanoseconds(period);
    while (MonotonicNs() < end_ns) {
      us.push_back(Chunk(experience));
      poll(nullptr, 0, 2);
    }
    std::sort(us.begin(), us.end());
    experience.p99_us = us[us.size() * 99 / 100];
    experience.checks = static_cast<int>(us.size());
    return experience;
  }

 private:
  static constexpr double kRows = 10;

  // How long its Check took.
  double Chunk(Experience& experience) {
    v1::CheckRequest check;
    check.set_identity("job-7:backfill");
    check.set_pattern(kSharedPattern);
    check.set_estimated_cost(kRows);
    v1::CheckResponse response;
    grpc::ClientContext context;
    SetTwoSeconds(context);
    const int64_t began_ns = MonotonicNs();
    const grpc::Status status = calls_.throttler.Check(&context, check, &response);
    const double took_us = 1e-3 * static_cast<double>(MonotonicNs() - began_ns);
    const v1::Decision& decision = response.decision();
    if (!status.ok()) return Failed(experience, status.error_message(), took_us);
    experience.shift = std::max(experience.shift, std::abs(decision.predicted_cost() / kRows - 1));
    if (decision.verdict() != v1::VERDICT_ALLOWED) {
      return Failed(experience, decision.message(), took_us);
    }
    if (decision.has_permit_id()) Report(decision.permit_id(), experience);
    return took_us;
  }

  void Report(uint64_t permit, Experience& experience) {
    v1::ReportRequest request;
    v1::PermitReport& report = *request.add_reports();
    report.set_permit_id(permit);
    report.set_actual_cost(kRows);
    v1::ReportResponse response;
    grpc::ClientContext context;
    SetTwoSeconds(context);
    const grpc::Status status = calls_.throttler.Report(&context, request, &response);
    if (!status.ok()) Failed(experience, "Report: " + status.error_message(), 0);
  }

  static double Failed(Experience& experience, const std::string& why, double took_us) {
    ++experience.denied;
    experience.why = why;
    return took_us;
  }

  Calls calls_;
};

// Works for so many milliseconds each time that it is told so, until the input ends.
inline void WorkAsTold(const AttackedServer& server) {
  HonestWorker worker(server);
  for (int ms = 0; std::cin >> ms;) {
    const Experience had = worker.Work(absl::Milliseconds(ms));
    std::cout << had.p99_us << ' ' << had.checks << ' ' << had.denied << ' ' << had.shift << ' '
              << absl::StrReplaceAll(had.why, {{"\n", " "}}) << std::endl;
  }
}

}  // namespace headgate::bench
