#include "server/serve/rpc/serving_thread.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/hold_time.h"

namespace headgate::rpc {
namespace {

// Of all parked calls, on all loops. MemoryLimit ends connections from 192 MiB on. What a call
// takes is nearly all gRPC's own.
constexpr int64_t kBytesOfCall = 15'000;
constexpr int64_t kBytesOfResult = 500;
constexpr int64_t kMaxParkedBytes = static_cast<int64_t>(kMaxParkedCalls) * kBytesOfCall;

// What is decided at once, kept where others of the call wait or where nothing waits after all.
void Keep(WaitingSingleCheck& call, const v1::CheckResponse& response) {
  if (!call.waits()) call.Keep(response);
}
template <typename Response>
void Keep(WaitingBatch<Response>& call, const Response& response) {
  if (response.results_size() > 1 || !call.waits()) call.Keep(response);
}

// Parks a call as `Waiting` when it has to be.
template <typename Waiting, typename Response>
class ParkedOnDemand final : public CallToWait {
 public:
  ParkedOnDemand(const WaitingNeeds& needs, transport::Parking<Response>& parking)
      : needs_(needs), parking_(parking) {}

  WaitingCall* Park(const access::Asker& asker, int checks, Now now) override {
    if (call_ == nullptr) {
      constexpr bool kIsCall = !std::is_same_v<Response, v1::CheckStreamResponse>;
      const int64_t bytes =
          (kIsCall ? kBytesOfCall : 0) + (checks > 1 ? checks * kBytesOfResult : 0);
      // relaxed: a bound that a few threads may pass by one call each.
      const int64_t taken = needs_.parked_bytes.load(std::memory_order_relaxed);
      if (bytes > 0 && taken + bytes > kMaxParkedBytes) return nullptr;
      call_ = std::make_shared<Waiting>(needs_, asker, now);
      auto parked = parking_.Park(call_);
      if (parked == nullptr) {
        call_ = nullptr;
        return nullptr;
      }
      time_left_ = parked->time_left_ns() == INT64_MAX
                       ? absl::InfiniteDuration()
                       : HoldTimeWithin(absl::Nanoseconds(parked->time_left_ns()));
      call_->SetParked(std::move(parked));
      call_->CountBytes(bytes);
    }
    return call_.get();
  }
  absl::Duration TimeLeft() const override { return time_left_; }

  // The handler is done, and has said `response` of what does not wait, or that the call fails.
  void End(const grpc::Status& status, const Response& response) {
    if (call_ == nullptr) [[likely]]
      return;
    if (status.ok()) Keep(*call_, response);
    call_->AllHaveEntered(status);
  }

 private:
  const WaitingNeeds& needs_;
  transport::Parking<Response>& parking_;
  absl::Duration time_left_;
  std::shared_ptr<Waiting> call_;
};

}  // namespace

grpc::Status ServingThread::FindAsker(const access::Evidence& call, Asker& asker) {
  grpc::Status known = Identify(access_, call, asker);
  if (known.ok()) asker.address = peers_.Find(call.Peer());
  return known;
}

grpc::Status ServingThread::Check(const access::Evidence& call, const v1::CheckRequest& check,
                                  v1::CheckResponse& response,
                                  transport::Parking<v1::CheckResponse>& parking) {
  if (remote_decider_ == nullptr) [[likely]]
    return CheckHere(call, check, response, parking);
  const cluster::DecisionScope scope(remote_decider_->decisions());
  return remote_decider_->DecidesHere(check.target()) ? CheckHere(call, check, response, parking)
                                                      : CheckRemotely(call, check, parking);
}

grpc::Status ServingThread::CheckHere(const access::Evidence& call, const v1::CheckRequest& check,
                                      v1::CheckResponse& response,
                                      transport::Parking<v1::CheckResponse>& parking) {
  Asker asker;
  grpc::Status status = FindAsker(call, asker);
  if (!status.ok()) [[unlikely]]
    return status;
  ParkedOnDemand<WaitingSingleCheck, v1::CheckResponse> waiting(waiting_, parking);
  status = throttler_.Check(check, asker, *response.mutable_decision(), waiting);
  waiting.End(status, response);
  return status;
}

grpc::Status ServingThread::CheckApproximately(const access::Evidence& call,
                                               const v1::CheckRequest& check,
                                               v1::CheckResponse& response) {
  Asker asker;
  grpc::Status status = FindAsker(call, asker);
  if (!status.ok()) return status;
  return throttler_.CheckApproximately(check, asker, *response.mutable_decision());
}

grpc::Status ServingThread::BatchCheckApproximately(const access::Evidence& call,
                                                    const Throttler::Checks& checks,
                                                    v1::BatchCheckResponse& response) {
  Asker asker;
  grpc::Status status = FindAsker(call, asker);
  if (!status.ok()) return status;
  return throttler_.BatchCheckApproximately(checks, asker, *response.mutable_results());
}

template <typename Response>
grpc::Status ServingThread::BatchCheck(const access::Evidence& call,
                                       const Throttler::Checks& checks, Response& response,
                                       transport::Parking<Response>& parking) {
  if (remote_decider_ == nullptr) [[likely]]
    return BatchCheckHere(call, checks, response, parking);
  const cluster::DecisionScope scope(remote_decider_->decisions());
  return DecidesAllHere(checks) ? BatchCheckHere(call, checks, response, parking)
                                : SplitBatchCheck(call, checks, parking);
}

template <typename Response>
grpc::Status ServingThread::BatchCheckHere(const access::Evidence& call,
                                           const Throttler::Checks& checks, Response& response,
                                           transport::Parking<Response>& parking) {
  Asker asker;
  grpc::Status status = FindAsker(call, asker);
  if (!status.ok()) [[unlikely]]
    return status;
  ParkedOnDemand<WaitingBatch<Response>, Response> waiting(waiting_, parking);
  status = throttler_.BatchCheck(checks, asker, *response.mutable_results(), waiting);
  waiting.End(status, response);
  return status;
}

template grpc::Status ServingThread::BatchCheck(const access::Evidence&, const Throttler::Checks&,
                                                v1::BatchCheckResponse&,
                                                transport::Parking<v1::BatchCheckResponse>&);
template grpc::Status ServingThread::BatchCheck(const access::Evidence&, const Throttler::Checks&,
                                                v1::CheckStreamResponse&,
                                                transport::Parking<v1::CheckStreamResponse>&);

grpc::Status ServingThread::Report(const access::Evidence& call, const v1::ReportRequest& request,
                                   v1::ReportResponse& response) {
  access::Asker asker;
  grpc::Status known = Identify(access_, call, asker);
  if (!known.ok()) [[unlikely]]
    return known;
  if (remote_decider_ == nullptr) [[likely]]
    return throttler_.Report(request, asker, response);
  const cluster::DecisionScope scope(remote_decider_->decisions());
  return throttler_.Report(request, asker, response);
}

grpc::Status ServingThread::Report(const access::Evidence& call, const v1::ReportRequest& request,
                                   v1::ReportResponse& response,
                                   transport::Parking<v1::ReportResponse>& parking) {
  grpc::Status status = Report(call, request, response);
  if (remote_decider_ == nullptr || !status.ok()) [[likely]]
    return status;
  return ReportRemotely(call, request, response, parking);
}

grpc::Status ServingThread::AdmitStream(const access::Evidence& call, std::string& name) {
  Asker asker;
  grpc::Status known = FindAsker(call, asker);
  if (asker.caller != nullptr && !asker.caller->is_anybody()) {
    name = asker.caller->name();
  } else if (asker.address != nullptr) {
    name = absl::StrCat("at ", asker.address->ToString());
  }
  return known;
}

}  // namespace headgate::rpc
