#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/bench/isolation/calls.h"
#include "tests/bench/isolation/neighbours.h"

namespace headgate::bench {
namespace {

constexpr int kPage = 1000;

Act StatusLoop(const AttackedServer& server) {
  return [calls = std::make_shared<Calls>(server)] {
    calls->Make(calls->status, &v1::StatusService::Stub::GetStatus, v1::GetStatusRequest());
  };
}

Act BucketLoop(const AttackedServer& server) {
  return [calls = std::make_shared<Calls>(server)] {
    v1::ListBucketsRequest request;
    request.set_budget("per-job");
    request.set_page_size(kPage);
    calls->Make(calls->status, &v1::StatusService::Stub::ListBuckets, request);
  };
}

Act ExplainLoop(const AttackedServer& server) {
  return [calls = std::make_shared<Calls>(server), number = 0]() mutable {
    v1::ExplainRequest request;
    request.mutable_check()->set_identity(absl::StrCat("job-", number++, kGuest));
    request.mutable_check()->set_estimated_cost(1e6);
    calls->Make(calls->throttler, &v1::ThrottlerService::Stub::Explain, request);
  };
}

Act LogQueries(const AttackedServer& server) {
  return [calls = std::make_shared<Calls>(server)] {
    v1::QueryThrottleLogRequest request;
    request.set_page_size(kPage);
    calls->Make(calls->log, &v1::ThrottleLogService::Stub::QueryThrottleLog, request);
    v1::ListDenialsRequest denials;
    denials.set_page_size(kPage);
    calls->Make(calls->log, &v1::ThrottleLogService::Stub::ListDenials, denials);
  };
}

Act Replays(const AttackedServer& server) {
  return [calls = std::make_shared<Calls>(server)] {
    v1::ReplayThrottleLogRequest request;
    std::string& yaml = *request.mutable_config_yaml();
    yaml = "budgets:\n";
    for (int i = 0; i < 5000; ++i)
      absl::StrAppend(&yaml, "  - {name: b", i, ", rate: 1, burst: 1}\n");
    calls->Make(calls->log, &v1::ThrottleLogService::Stub::ReplayThrottleLog, request);
  };
}

Act Overrides(const AttackedServer& server) {
  return [calls = std::make_shared<Calls>(server), number = 0]() mutable {
    for (int i = 0; i < 10; ++i) {
      v1::CreateOverrideRequest request;
      request.set_kind(v1::OVERRIDE_KIND_PAUSE);
      request.mutable_selector()->set_identity(absl::StrCat("job-", number++, kGuest));
      request.set_actor("guest");
      request.set_reason(std::string(1000, 'r'));
      request.mutable_expires_in()->set_seconds(3600);
      calls->Make(calls->overrides, &v1::OverrideService::Stub::CreateOverride, request);
    }
  };
}

Act OverrideLists(const AttackedServer& server) {
  Act make = Overrides(server);
  for (int i = 0; i < 50; ++i) make();
  return [calls = std::make_shared<Calls>(server)] {
    v1::ListOverridesRequest request;
    request.set_page_size(kPage);
    calls->Make(calls->overrides, &v1::OverrideService::Stub::ListOverrides, request);
    v1::ListOverrideEventsRequest events;
    events.set_page_size(kPage);
    calls->Make(calls->overrides, &v1::OverrideService::Stub::ListOverrideEvents, events);
  };
}

constexpr auto kReadNeighbours = std::to_array<Neighbour>({
    {"status_loop", StatusLoop},
    {"bucket_loop", BucketLoop},
    {"explain_loop", ExplainLoop},
    {"log_queries", LogQueries},
    {"replays", Replays},
    {"overrides", Overrides},
    {"override_lists", OverrideLists},
});

}  // namespace

std::span<const Neighbour> ReadNeighbours() { return kReadNeighbours; }

}  // namespace headgate::bench
