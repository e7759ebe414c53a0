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
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/decide/engine/answer.h"
#include "server/decide/engine/engine.h"
#include "server/decide/engine/ip_prefix.h"
#include "server/govern/access/access_control.h"
#include "server/remember/throttle_log/thread_counts.h"
#include "server/remember/throttle_log/told_once.h"
#include "server/serve/rpc/check_requests.h"
#include "server/serve/rpc/dependencies.h"
#include "server/serve/rpc/sources.h"
#include "server/serve/rpc/waiting_call.h"
#include "server/serve/transport/latency_histogram.h"

namespace headgate::rpc {

constexpr int kMaxInBatch = 1000;  // Checks, or Reports, of one request

// The error of one that has more.
grpc::Status TooMany(const char* field, int count);

// As many as there are items: those that stay keep their memory.
template <typename Message>
void Resize(google::protobuf::RepeatedPtrField<Message>& list, int size) {
  if (list.size() > size) list.DeleteSubrange(size, list.size() - size);
  list.Reserve(size);
  while (list.size() < size) list.Add();
}

// Who asks, and from where.
struct Asker : access::Asker {
  const engine::IpAddress* address = nullptr;  // null: not known
};

// Who asks, as Checks with request ids have to know.
CheckRequests::From FromAsker(const Asker& asker);

class Throttler {
 public:
  // For the thread that makes it. Every 64th decision is timed.
  explicit Throttler(const Dependencies& on)
      : engine_(on.engine),
        clock_(on.clock),
        activity_(on.activity),
        thread_counts_(on.recorder.AddThread()),
        told_(on.recorder.told()),
        access_(on.access),
        lines_(on.lines),
        approximate_(on.approximate),
        has_peers_(on.remote_decider != nullptr),
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

  // The same where nobody decides for the targets, and there are ApproximateLimits: answered at
  // once, whatever a Check may wait.
  grpc::Status CheckApproximately(const v1::CheckRequest& check, const Asker& asker,
                                  v1::Decision& decision);
  grpc::Status BatchCheckApproximately(const Checks& checks, const Asker& asker, Results& results);

  // Thread-safe.
  static grpc::Status Explain(const Dependencies& on, const v1::ExplainRequest& request,
                              const Asker& asker, v1::ExplainResponse& response);

 private:
  // Who asks may ask.
  absl::Status DecideApproximately(const v1::CheckRequest& check, const Asker& asker,
                                   v1::Decision& decision);
  // Keeps which Checks of a batch the caller may not ask.
  void FindRefused(const Checks& checks, const access::Asker& asker);
  // Why this one is refused; null: it is not.
  const access::Refusal* RefusalOf(int place) const;
  void NoteChecks(const Checks& checks);
  // Who asks, when, and by which call, in which it may wait for its answer.
  struct Asked {
    const Asker& asker;
    const Now now;
    CallToWait& call;
  };
  // Some Checks of a batch that are decided in one go: `count` of them from `first` on.
  struct Chunk {
    const Asked& asked;
    const Checks& checks;
    int first;
    int count;
  };
  // One Check: which of the answers is its own, its place in the batch, and how long it may wait.
  struct MayWait {
    size_t at;
    int place;
    absl::Duration max_wait;
    const v1::Decision& decided;  // of which what was returned is said already
  };
  void DecideChunk(const Chunk& chunk, Results& results);
  // Counts the Checks that were decided, and do not wait.
  void RecordChunk(const Chunk& chunk);
  // What is not for the engine to decide.
  void DecideWithoutEngine(size_t at, int place, Now now);
  // Reads how long each may wait, where any may.
  void ReadWaits(const Checks& checks);
  bool IsWaitValid(int place) const {
    return waits_.empty() || waits_[static_cast<size_t>(place)].ok();
  }
  // Lets those wait that were refused and may.
  void WaitWithChunk(const Chunk& chunk, const Results& results);
  // One that time cures. False: it does not wait, and its answer says why.
  bool Wait(const MayWait& check, const Asked& asked);
  void FillResults(const Chunk& chunk, Results& results);
  // Answers a Check that is only to be validated.
  void ExplainInstead(size_t place, Now now);
  // Who reports, when, and where it stands in the request.
  struct Reporting {
    const access::Asker& asker;
    const Now now;
    const engine::CheckRequest* check = nullptr;  // with which a lease is returned; null: alone
    int place = -1;                               // -1: there is only one

    std::string Path() const;
  };
  void ReportOne(const v1::PermitReport& report, const Reporting& by, v1::ReportResult& result);
  // `subject_key`: whose lease it has to be; 0: anybody's.
  absl::Status Settle(const v1::PermitReport& report, const Reporting& by, uint64_t subject_key,
                      v1::ReportResult& result);
  absl::Status SettleLease(const v1::PermitReport& report, const Reporting& by,
                           v1::ReportResult& result);
  // Unless the same message was counted before.
  void CountPieces(const v1::LeaseUse& use, const engine::PieceSubject& subject,
                   std::string_view identity, Now now);
  // What comes back with Checks for other leases, which then say so.
  void ReturnLease(const v1::CheckRequest& check, const Reporting& by, v1::Decision& decision);
  void ReturnLeases(const Chunk& chunk, Results& results);

  engine::Engine& engine_;
  Clock& clock_;
  CheckListener& activity_;
  throttle_log::ThreadCounts& thread_counts_;
  throttle_log::ToldOnce& told_;
  access::AccessControl& access_;
  std::vector<std::pair<int, access::Refusal>> refused_;  // of the batch, by place
  std::vector<absl::StatusOr<absl::Duration>> waits_;     // of the batch; empty: nobody waits
  std::vector<AdmittedCheck> admitted_;                   // of the batch, where any may wait
  std::vector<bool> in_line_;       // of those decided last, which wait; empty: none may
  WaitingCall* waiting_ = nullptr;  // the batch, where one of it does
  line::WaitingLines& lines_;
  approximate::ApproximateLimits* const approximate_;  // null: nothing is decided so
  const bool has_peers_;
  transport::LatencyHistogram& latency_;
  uint32_t decisions_ = 0;
  int checks_ = 0;  // of the call
  CheckRequests requests_;
  std::vector<engine::CheckAnswer> answers_{1};
  std::vector<absl::Status> statuses_{1};
};

}  // namespace headgate::rpc
