// Requests to the throttler, answered: protobuf in, a decision of the engine's, protobuf out.
//
// Belongs to one thread, since it reuses what it needs in between; Explain, which is rare and runs
// anywhere, does not. The answers that it reuses keep the policy of the last Check and that of the
// last batch alive.
//
//   Throttler throttler(dependencies);
//   grpc::Status status = throttler.Check(request, asker, *response.mutable_decision());

#pragma once

#include <google/protobuf/repeated_ptr_field.h>
#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/access/access_control.h"
#include "server/engine/answer.h"
#include "server/engine/engine.h"
#include "server/engine/ip_prefix.h"
#include "server/rpc/check_requests.h"
#include "server/rpc/dependencies.h"
#include "server/rpc/sources.h"
#include "server/rpc/waiting_call.h"
#include "server/throttle_log/thread_counts.h"
#include "server/transport/latency_histogram.h"

namespace headgate::rpc {

// Who asks, and from where.
struct Asker : access::Asker {
  const engine::IpAddress* address = nullptr;  // null: not known
};

class Throttler {
 public:
  // For the thread that makes it. Every 64th decision is timed.
  explicit Throttler(const Dependencies& on)
      : engine_(on.engine),
        clock_(on.clock),
        activity_(on.activity),
        thread_counts_(on.recorder.AddThread()),
        access_(on.access),
        lines_(on.lines),
        has_peers_(on.elsewhere != nullptr),
        latency_(on.calls.AddDecisionThread()) {}

  using Checks = google::protobuf::RepeatedPtrField<v1::CheckRequest>;
  using Results = google::protobuf::RepeatedPtrField<v1::CheckResult>;

  // What stands in `decision` and `results` is overwritten. Where the call was parked they mean
  // nothing but what is decided already, and the caller has to say so when all is kept: see
  // WaitingCall.
  grpc::Status Check(const v1::CheckRequest& check, const Asker& asker, v1::Decision& decision,
                     CallToWait& call);
  grpc::Status BatchCheck(const Checks& checks, const Asker& asker, Results& results,
                          CallToWait& call);
  grpc::Status Report(const v1::ReportRequest& request, const access::Asker& asker,
                      v1::ReportResponse& response);

  // Thread-safe.
  static grpc::Status Explain(const Dependencies& on, const v1::ExplainRequest& request,
                              const Asker& asker, v1::ExplainResponse& response);

 private:
  // Keeps which Checks of a batch the caller may not ask.
  void FindRefused(const Checks& checks, const access::Asker& asker);
  // Why this one is refused; null: it is not.
  const access::Refusal* RefusalOf(int place) const;
  void NoteChecks(const Checks& checks);
  // Counts the Checks that were decided, and do not wait.
  void RecordSome(const Checks& checks, int first, int count, Now now);
  // Decides `count` Checks from `first` on.
  void DecideSome(const Checks& checks, int first, int count, const Asker& asker, Now now,
                  Results& results, CallToWait& call);
  // What is not for the engine to decide.
  void DecideWithoutEngine(size_t at, int place, Now now);
  // Reads how long each may wait, where any may.
  void ReadWaits(const Checks& checks);
  bool IsWaitValid(int place) const {
    return waits_.empty() || waits_[static_cast<size_t>(place)].ok();
  }
  // Lets those wait that were refused and may.
  void WaitWithSome(int first, int count, const Asker& asker, Now now, CallToWait& call);
  // One that time cures. False: it does not wait, and its answer says why.
  bool Wait(size_t at, int place, absl::Duration max_wait, const Asker& asker, Now now,
            CallToWait& call);
  void FillResults(const Checks& checks, int first, int count, const access::Caller* caller,
                   Results& results);
  // Answers a Check that is only to be validated.
  void ExplainInstead(size_t place, Now now);
  void ReportOne(const v1::PermitReport& report, int place, const access::Asker& asker, Now now,
                 v1::ReportResult& result);

  engine::Engine& engine_;
  Clock& clock_;
  CheckListener& activity_;
  throttle_log::ThreadCounts& thread_counts_;
  access::AccessControl& access_;
  std::vector<std::pair<int, access::Refusal>> refused_;  // of the batch, by place
  std::vector<absl::StatusOr<absl::Duration>> waits_;     // of the batch; empty: nobody waits
  std::vector<AdmittedCheck> admitted_;                   // of the batch, where any may wait
  std::vector<bool> in_line_;       // of those decided last, which wait; empty: none may
  WaitingCall* waiting_ = nullptr;  // the batch, where one of it does
  line::WaitingLines& lines_;
  const bool has_peers_;
  transport::LatencyHistogram& latency_;
  uint32_t decisions_ = 0;
  int checks_ = 0;  // of the call
  CheckRequests requests_;
  std::vector<engine::CheckAnswer> answers_{1};
  std::vector<absl::Status> statuses_{1};
};

}  // namespace headgate::rpc
