// Requests to the throttler, answered: protobuf in, a decision of the engine's, protobuf out.
//
// Belongs to one thread, since it reuses what it needs in between; Explain, which is rare and runs
// anywhere, does not.
//
//   Throttler throttler(engine, clock, demand, lane);
//   grpc::Status status = throttler.Check(request, address, *response.mutable_decision());

#ifndef HEADGATE_SERVER_RPC_THROTTLER_H_
#define HEADGATE_SERVER_RPC_THROTTLER_H_

#include <google/protobuf/repeated_ptr_field.h>
#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "server/engine/answer.h"
#include "server/engine/engine.h"
#include "server/engine/ip_prefix.h"
#include "server/rpc/check_requests.h"
#include "server/rpc/latency_histogram.h"
#include "server/rpc/sources.h"
#include "server/throttle_log/lane.h"

namespace headgate::rpc {

class Throttler {
 public:
  // `demand`, `lane`, where decided Checks are counted, and `latency`, where every 64th decision is
  // timed, may be null; all outlive this.
  Throttler(engine::Engine& engine, Clock& clock, DemandListener* demand, throttle_log::Lane* lane,
            LatencyHistogram* latency = nullptr)
      : engine_(engine), clock_(clock), demand_(demand), lane_(lane), latency_(latency) {}

  using Checks = google::protobuf::RepeatedPtrField<v1::CheckRequest>;
  using Results = google::protobuf::RepeatedPtrField<v1::CheckResult>;

  // `address` is the caller's; null: not known. What stands in `decision` and `results` is
  // overwritten.
  grpc::Status Check(const v1::CheckRequest& check, const engine::IpAddress* address,
                     v1::Decision& decision);
  grpc::Status BatchCheck(const Checks& checks, const engine::IpAddress* address, Results& results);
  grpc::Status Report(const v1::ReportRequest& request, v1::ReportResponse& response);

  // Thread-safe.
  static grpc::Status Explain(engine::Engine& engine, Clock& clock,
                              const v1::ExplainRequest& request, const engine::IpAddress* address,
                              v1::ExplainResponse& response);

 private:
  void NoteDemand(const Checks& checks);
  // Counts the Checks that were decided.
  void RecordSome(const Checks& checks, int first, int count, Now now);
  // Decides `count` Checks from `first` on.
  void DecideSome(const Checks& checks, int first, int count, const engine::IpAddress* address,
                  Now now, Results& results);
  // Answers a Check that is only to be validated.
  void ExplainInstead(size_t place, Now now);
  void ReportOne(const v1::PermitReport& report, int place, Now now, v1::ReportResult& result);

  engine::Engine& engine_;
  Clock& clock_;
  DemandListener* const demand_;
  throttle_log::Lane* const lane_;
  LatencyHistogram* const latency_;
  uint32_t decisions_ = 0;
  CheckRequests requests_;
  std::vector<engine::CheckAnswer> answers_{1};
  std::vector<absl::Status> statuses_{1};
};

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_THROTTLER_H_
