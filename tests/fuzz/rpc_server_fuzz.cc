// Any bytes as the message of any call that is answered once, over a connection to a real server:
// it is answered, and an error is of a kind that callers know and names a field of the request.
//
// The first byte chooses the method; the rest is its message. Checks and the log's questions have
// fuzzers of their own, which look further into the answers.
#include <google/protobuf/stubs/logging.h>
#include <headgate/v1/cost_service.pb.h>
#include <headgate/v1/override_service.pb.h>
#include <headgate/v1/status_service.pb.h>
#include <headgate/v1/throttle_log_service.pb.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "tests/fuzz/require.h"
#include "tests/fuzz/rpc_status.h"
#include "tests/remember/throttle_log/fake_store.h"
#include "tests/testing/in_process_server.h"

namespace {

using headgate::InProcessServer;
using headgate::fuzz::Require;
namespace overrides = headgate::overrides;
namespace v1 = headgate::v1;

struct Method {
  const char* path;
  const google::protobuf::Descriptor* request;
  std::unique_ptr<google::protobuf::Message> response;
};

template <typename Request, typename Response>
Method MethodOf(const char* path) {
  return {path, Request::descriptor(), std::make_unique<Response>()};
}

// Those that come later are added at the end: the corpus counts from the first.
const Method kMethods[] = {
    MethodOf<v1::GetStatusRequest, v1::GetStatusResponse>("StatusService/GetStatus"),
    MethodOf<v1::ListBudgetsRequest, v1::ListBudgetsResponse>("StatusService/ListBudgets"),
    MethodOf<v1::ListBucketsRequest, v1::ListBucketsResponse>("StatusService/ListBuckets"),
    MethodOf<v1::CreateOverrideRequest, v1::CreateOverrideResponse>(
        "OverrideService/CreateOverride"),
    MethodOf<v1::ListOverridesRequest, v1::ListOverridesResponse>("OverrideService/ListOverrides"),
    MethodOf<v1::DeleteOverrideRequest, v1::DeleteOverrideResponse>(
        "OverrideService/DeleteOverride"),
    MethodOf<v1::ListOverrideEventsRequest, v1::ListOverrideEventsResponse>(
        "OverrideService/ListOverrideEvents"),
    MethodOf<v1::QueryThrottleLogRequest, v1::QueryThrottleLogResponse>(
        "ThrottleLogService/QueryThrottleLog"),
    MethodOf<v1::ListThrottledIntervalsRequest, v1::ListThrottledIntervalsResponse>(
        "ThrottleLogService/ListThrottledIntervals"),
    MethodOf<v1::ListDenialsRequest, v1::ListDenialsResponse>("ThrottleLogService/ListDenials"),
    MethodOf<v1::ReplayThrottleLogRequest, v1::ReplayThrottleLogResponse>(
        "ThrottleLogService/ReplayThrottleLog"),
    MethodOf<v1::CheckRequest, v1::CheckResponse>("ThrottlerService/Check"),
    MethodOf<v1::BatchCheckRequest, v1::BatchCheckResponse>("ThrottlerService/BatchCheck"),
    MethodOf<v1::ReportRequest, v1::ReportResponse>("ThrottlerService/Report"),
    MethodOf<v1::ExplainRequest, v1::ExplainResponse>("ThrottlerService/Explain"),
    MethodOf<v1::ListCostsRequest, v1::ListCostsResponse>("CostService/ListCosts"),
    MethodOf<v1::ForgetCostsRequest, v1::ForgetCostsResponse>("CostService/ForgetCosts"),
    MethodOf<v1::ForgiveDebtRequest, v1::ForgiveDebtResponse>("CostService/ForgiveDebt"),
    MethodOf<v1::ListLinesRequest, v1::ListLinesResponse>("StatusService/ListLines"),
    MethodOf<v1::ListLeasesRequest, v1::ListLeasesResponse>("StatusService/ListLeases"),
};

// With a budget, three buckets that owe, two overrides, and half an hour in its log.
struct Server {
  Server() {
    server.clock.Advance(absl::Hours(8));
    for (int minute = 0; minute < 30; ++minute) {
      const int64_t at_s = headgate::throttle_log::TimeOfDay(7, minute);
      store.Add(headgate::throttle_log::Allowed(at_s, "a:etl", 3, 30));
    }
    for (const char* identity : {"a:etl", "b:etl", "c:ddl"}) server.Allowed(identity, 5);
    for (const char* identity : {"stuck:etl", "late:ddl"}) {
      Require(server.registry->Create(Pause(identity)).ok(), "no override");
    }
  }

  static overrides::CreateRequest Pause(const std::string& identity) {
    overrides::CreateRequest request;
    request.kind = overrides::Kind::kPause;
    request.selector.identity = identity;
    request.actor = "alice";
    request.reason = "stuck shard";
    request.expiry = overrides::Never{};
    return request;
  }

  headgate::throttle_log::FakeStore store;
  InProcessServer server{headgate::engine::OneBudget(headgate::engine::RateBudget("b", 10, 100)),
                         {.overrides = headgate::InProcessOptions::kKept, .log_store = &store}};
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  google::protobuf::SetLogHandler(nullptr);  // a line for each string that is not UTF-8
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const server = new Server;
  if (size == 0) return 0;
  const Method& method = kMethods[data[0] % std::size(kMethods)];
  const std::string message(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string answer;
  const grpc::Status status =
      server->server.Send(std::string("/headgate.v1.") + method.path, message, &answer);
  headgate::fuzz::RequireAnswerable(status, *method.request);
  if (status.ok()) Require(method.response->ParseFromString(answer), "an answer of another kind");
  return 0;
}
