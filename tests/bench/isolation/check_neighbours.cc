#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/bench/isolation/calls.h"
#include "tests/bench/isolation/neighbours.h"

namespace headgate::bench {
namespace {

using Throttler = v1::ThrottlerService::Stub;

constexpr int kInBatch = 200;

// What one of a batch looks like; `number` is another one each time.
using Fill = void (*)(v1::CheckRequest& check, int64_t number);
// What is reported of a permit; false: nothing.
using Settle = bool (*)(v1::PermitReport& report);

bool NoReport(v1::PermitReport& /*report*/) { return false; }

void Report(Calls& calls, const v1::BatchCheckResponse& response, Settle settle) {
  v1::ReportRequest reports;
  for (const v1::CheckResult& result : response.results()) {
    if (!result.decision().has_permit_id()) continue;
    v1::PermitReport report;
    report.set_permit_id(result.decision().permit_id());
    if (settle(report)) *reports.add_reports() = report;
  }
  if (reports.reports_size() > 0) calls.Make(calls.throttler, &Throttler::Report, reports);
}

Act Batches(const AttackedServer& server, int in_batch, Fill fill, Settle settle) {
  return [calls = std::make_shared<Calls>(server), in_batch, fill, settle,
          number = int64_t{0}]() mutable {
    v1::BatchCheckRequest batch;
    for (int i = 0; i < in_batch; ++i) fill(*batch.add_checks(), number++);
    Report(*calls, calls->Make(calls->throttler, &Throttler::BatchCheck, batch), settle);
  };
}

void SetJob(v1::CheckRequest& check, int64_t number) {
  check.set_identity(absl::StrCat("job-", number, kGuest));
  check.set_estimated_cost(1);
}
void SetOneJob(v1::CheckRequest& check) { SetJob(check, 0); }

Act FloodOfPermits(const AttackedServer& server) { return Batches(server, 1000, SetJob, NoReport); }

Act FloodOfIdentities(const AttackedServer& server) {
  return Batches(server, kInBatch, SetJob, [](v1::PermitReport& report) {
    report.set_actual_cost(1);
    return true;
  });
}

Act FloodOfPatterns(const AttackedServer& server) {
  return Batches(
      server, kInBatch,
      [](v1::CheckRequest& check, int64_t number) {
        SetOneJob(check);
        check.set_estimated_cost(0);
        check.set_pattern(absl::StrCat("SELECT ", number));
      },
      [](v1::PermitReport& report) {
        report.set_actual_cost(1000);
        return true;
      });
}

// The same statement as the honest job's, by others. Each is a caller no rule matches, then a
// guest.
void SetSharedPattern(v1::CheckRequest& check, int64_t number) {
  check.set_identity(number % 2 == 0 ? absl::StrCat("nobody-", number)
                                     : absl::StrCat("job-", number, kGuest));
  check.set_pattern(kSharedPattern);
  check.set_estimated_cost(10);
}

Act ReportsOfHugeCosts(const AttackedServer& server) {
  return Batches(server, 10, SetSharedPattern, [](v1::PermitReport& report) {
    report.set_actual_cost(1e12);
    return true;
  });
}

Act ReportsInWrongUnits(const AttackedServer& server) {
  return Batches(server, 10, SetSharedPattern, [](v1::PermitReport& report) {
    report.set_actual_cost(0.002);  // seconds, where the budget counts rows
    return true;
  });
}

// An hour of the database's time for ten rows.
Act ReportsOfBusyTime(const AttackedServer& server) {
  return Batches(server, 10, SetSharedPattern, [](v1::PermitReport& report) {
    report.set_actual_cost(10);
    report.mutable_busy_time()->set_seconds(3600);
    return true;
  });
}

Act ReportsOfWorkWithoutPattern(const AttackedServer& server) {
  return Batches(
      server, 10,
      [](v1::CheckRequest& check, int64_t number) {
        SetSharedPattern(check, number);
        check.clear_pattern();
      },
      [](v1::PermitReport& report) {
        report.set_actual_cost(1600);
        return true;
      });
}

Act ReportsOfOthersPermits(const AttackedServer& server) {
  return [calls = std::make_shared<Calls>(server), state = uint64_t{1}]() mutable {
    v1::ReportRequest reports;
    for (int i = 0; i < 1000; ++i) {
      state = state * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
      v1::PermitReport& report = *reports.add_reports();
      report.set_permit_id(state);
      report.set_actual_cost(1e9);
    }
    calls->Make(calls->throttler, &Throttler::Report, reports);
  };
}

Act DeniedLoop(const AttackedServer& server) {
  return Batches(
      server, kInBatch,
      [](v1::CheckRequest& check, int64_t /*number*/) {
        SetOneJob(check);
        check.set_estimated_cost(500);
      },
      NoReport);
}

Act HugeEstimates(const AttackedServer& server) {
  return Batches(
      server, kInBatch,
      [](v1::CheckRequest& check, int64_t number) {
        SetJob(check, number);
        check.set_pattern(kSharedPattern);
        check.set_estimated_cost(1e15);
      },
      NoReport);
}

Act HugeTagMaps(const AttackedServer& server) {
  return Batches(
      server, 1,
      [](v1::CheckRequest& check, int64_t /*number*/) {
        SetOneJob(check);
        for (int i = 0; i < 100'000; ++i) (*check.mutable_tags())[absl::StrCat("k", i)] = "v";
      },
      NoReport);
}

Act ValidateOnly(const AttackedServer& server) {
  return Batches(
      server, kInBatch,
      [](v1::CheckRequest& check, int64_t number) {
        SetJob(check, number);
        check.set_validate_only(true);
      },
      NoReport);
}

Act RequestIds(const AttackedServer& server) {
  return Batches(
      server, kInBatch,
      [](v1::CheckRequest& check, int64_t number) {
        SetOneJob(check);
        check.set_estimated_cost(0);
        check.set_request_id(absl::StrCat("request-", number));
      },
      NoReport);
}

constexpr auto kCheckNeighbours = std::to_array<Neighbour>({
    {"flood_of_permits", FloodOfPermits},
    {"flood_of_identities", FloodOfIdentities},
    {"flood_of_patterns", FloodOfPatterns},
    {"reports_of_huge_costs", ReportsOfHugeCosts},
    {"reports_in_wrong_units", ReportsInWrongUnits},
    {"reports_of_busy_time", ReportsOfBusyTime},
    {"reports_without_pattern", ReportsOfWorkWithoutPattern},
    {"reports_of_others_permits", ReportsOfOthersPermits},
    {"denied_loop", DeniedLoop},
    {"huge_estimates", HugeEstimates},
    {"huge_tag_maps", HugeTagMaps},
    {"validate_only", ValidateOnly},
    {"request_ids", RequestIds},
});

}  // namespace

std::span<const Neighbour> CheckNeighbours() { return kCheckNeighbours; }

}  // namespace headgate::bench
