// A call of which Checks wait in line. It is answered when the last of them is decided, and owes
// nothing if its caller does not hear of it.
//
// Who asks is judged again when a Check is admitted, since rights may have been taken away
// meanwhile. A caller that goes away takes its Checks out of the lines; what they, or Checks of the
// same call that did not wait, were admitted is withdrawn, unless the answer was delivered.
//
// Thread-safe. It is made, and its Checks enter the lines, on the thread that the call came to;
// AllHaveEntered comes last. What it works with outlives it.
//
//   auto call = std::make_shared<WaitingSingleCheck>(on, evidence, now);
//   call->SetParked(parking.Park(call));
//   if (call->Enter(request, answer, 0, until_ns) != line::Entered::kWaits) ...
//   call->AllHaveEntered();

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/decide/engine/engine.h"
#include "server/decide/line/waiting_lines.h"
#include "server/govern/access/access_control.h"
#include "server/remember/throttle_log/thread_counts.h"
#include "server/serve/rpc/kept_evidence.h"
#include "server/serve/transport/parked_call.h"

namespace headgate::rpc {

// Calls that may wait at a time, on all connections, each with one Check; fewer with batches. Not
// counted are messages of streams.
inline constexpr size_t kMaxParkedCalls = 10'240;

// What calls that wait work with. Only the thread that works off the lines counts.
struct WaitingNeeds {
  engine::Engine& engine;
  line::WaitingLines& lines;
  access::AccessControl& access;
  Clock& clock;
  throttle_log::ThreadCounts& counts;
  // What parked calls take beside the lines: see CallToWait.
  std::atomic<int64_t>& parked_bytes;
};

// What it takes to withdraw a Check that was admitted.
struct AdmittedCheck {
  uint64_t permit;
  uint64_t subject_key;
  std::string request_id;
};

// Adds it, if it is to be withdrawn where its caller does not hear of it: what repeats an answer
// that somebody else has is not.
void AddAdmitted(const engine::CheckRequest& request, const engine::CheckAnswer& answer,
                 std::vector<AdmittedCheck>& admitted);

class WaitingCall : public transport::ParkListener,
                    public line::Waiter,
                    public std::enable_shared_from_this<WaitingCall> {
 public:
  // `asker` as Identify has set it.
  WaitingCall(const WaitingNeeds& on, const access::Asker& asker, Now now);
  ~WaitingCall() override;

  // The Check at `place` stands in line, if it may: see WaitingLines::Enter.
  line::Entered Enter(const engine::CheckRequest& request, const engine::CheckAnswer& denial,
                      int place, int64_t until_ns) ABSL_LOCKS_EXCLUDED(mutex_);
  // Checks of this call that did not wait were admitted. Before AllHaveEntered.
  void NoteAdmitted(std::vector<AdmittedCheck> admitted) ABSL_LOCKS_EXCLUDED(mutex_);
  // The Check at `place` gave a lease back, which its decision says. Before it enters.
  void NoteReturned(int place, const v1::ReportResult& returned);
  // Of `parked_bytes` it has so many until it is gone. Once.
  void CountBytes(int64_t bytes);
  // Whether any of its Checks has entered.
  bool waits() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    return entered_;
  }
  // The answer goes out, now or when the last Check is decided. An error is that of the whole call.
  void AllHaveEntered(const grpc::Status& error = grpc::Status()) { OneIsDecided(error); }

  void OnGone() override ABSL_LOCKS_EXCLUDED(mutex_);
  void OnAnswered(bool delivered) override ABSL_LOCKS_EXCLUDED(mutex_);

  void Answer(int place, const line::Decided& decided) override ABSL_LOCKS_EXCLUDED(mutex_);
  bool MayWait(const engine::CheckRequest& request) override;

 protected:
  // The outcome of one Check, which is allowed or denied, to be overwritten. Under the mutex.
  virtual v1::Decision& DecisionAt(int place) = 0;
  // One that failed. An error is that of the whole call.
  virtual grpc::Status SetError(int place, const grpc::Status& error) = 0;
  // False: nobody is there any more.
  virtual bool Send(const grpc::Status& status) = 0;

  mutable Mutex mutex_;

 private:
  // What becomes of a call; most have none while they wait.
  struct Outcome {
    grpc::Status error;
    std::vector<AdmittedCheck> admitted;
    absl::flat_hash_map<int, v1::ReportResult> returned;  // by place
  };
  Outcome& OutcomeNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (outcome_ == nullptr) outcome_ = std::make_unique<Outcome>();
    return *outcome_;
  }

  access::AccessControl::Refused Judge(const engine::CheckRequest& request,
                                       access::Asker& asker) const;
  static grpc::Status ErrorOf(const absl::Status& status, const engine::CheckRequest& request);
  void FillLeaseOf(const engine::CheckAnswer& answer, int place, v1::Decision& decision)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OneIsDecided(const grpc::Status& error) ABSL_LOCKS_EXCLUDED(mutex_);
  void WithdrawAll() ABSL_LOCKS_EXCLUDED(mutex_);

  const WaitingNeeds& on_;
  const Now since_;
  const std::unique_ptr<const KeptEvidence> evidence_;  // null: there is none
  int64_t bytes_ = 0;
  bool entered_ ABSL_GUARDED_BY(mutex_) = false;
  int undecided_ ABSL_GUARDED_BY(mutex_) = 1;  // with one for AllHaveEntered
  bool gone_ ABSL_GUARDED_BY(mutex_) = false;
  absl::InlinedVector<uint64_t, 1> tickets_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Outcome> outcome_ ABSL_GUARDED_BY(mutex_);  // null: none yet
};

// A call that came just now, and may be parked: once, when the first of its Checks has to wait. It
// keeps what gRPC has for a call, but for messages of streams, and the results of all its Checks
// where there are several; all calls together have a bound.
class CallToWait {
 public:
  // The same one each time, of so many Checks. Null: there is no room for it.
  virtual WaitingCall* Park(const access::Asker& asker, int checks, Now now) = 0;
  // How long the caller of a parked one had left to wait when it was parked.
  virtual absl::Duration TimeLeft() const = 0;

 protected:
  ~CallToWait() = default;
};

// One that cannot be parked: its Checks are answered at once.
class CallThatCannotWait final : public CallToWait {
 public:
  WaitingCall* Park(const access::Asker& /*asker*/, int /*checks*/, Now /*now*/) override {
    return nullptr;
  }
  absl::Duration TimeLeft() const override { return absl::ZeroDuration(); }
};

// Of one Check.
class WaitingSingleCheck final : public WaitingCall {
 public:
  using WaitingCall::WaitingCall;
  void SetParked(std::shared_ptr<transport::ParkedCall<v1::CheckResponse>> parked) {
    parked_ = std::move(parked);
  }
  // Where it does not wait after all. Before AllHaveEntered.
  void Keep(const v1::CheckResponse& response) {
    response_ = std::make_unique<v1::CheckResponse>(response);
  }

 private:
  v1::Decision& DecisionAt(int place) override;
  grpc::Status SetError(int place, const grpc::Status& error) override;
  bool Send(const grpc::Status& status) override;

  std::shared_ptr<transport::ParkedCall<v1::CheckResponse>> parked_;
  std::unique_ptr<v1::CheckResponse> response_;
};

// Of several: a batch, or a message of a stream.
template <typename Response>
class WaitingBatch final : public WaitingCall {
 public:
  using WaitingCall::WaitingCall;
  void SetParked(std::shared_ptr<transport::ParkedCall<Response>> parked) {
    parked_ = std::move(parked);
  }
  // What is decided already. Before AllHaveEntered.
  void Keep(const Response& response) {
    const MutexLock lock(&mutex_);
    for (int i = 0; i < response.results_size(); ++i) {
      v1::CheckResult& result = ResultAt(i);
      // One that waited may have been decided meanwhile.
      if (result.outcome_case() == v1::CheckResult::OUTCOME_NOT_SET) result = response.results(i);
    }
  }

 private:
  v1::CheckResult& ResultAt(int place) {
    if (response_ == nullptr) response_ = std::make_unique<Response>();
    while (response_->results_size() <= place) response_->add_results();
    return *response_->mutable_results(place);
  }
  v1::Decision& DecisionAt(int place) override { return *ResultAt(place).mutable_decision(); }
  grpc::Status SetError(int place, const grpc::Status& error) override;
  bool Send(const grpc::Status& status) override {
    if (response_ == nullptr) response_ = std::make_unique<Response>();
    return parked_->Answer(status, *response_);
  }

  std::shared_ptr<transport::ParkedCall<Response>> parked_;
  std::unique_ptr<Response> response_;
};

extern template class WaitingBatch<v1::BatchCheckResponse>;
extern template class WaitingBatch<v1::CheckStreamResponse>;

}  // namespace headgate::rpc
