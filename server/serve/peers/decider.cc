#include "server/serve/peers/decider.h"

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "server/serve/peers/forwarded_evidence.h"
#include "server/serve/rpc/errors.h"
#include "server/serve/transport/error_status.h"

namespace headgate::peers {
namespace {

using headgate::v1::BatchCheckResponse;
using headgate::v1::CheckResponse;
using headgate::v1::ReportResponse;

template <typename Response>
Response& ResponseIn(ForwardedAnswer& answer) {
  if constexpr (std::is_same_v<Response, CheckResponse>) {
    return *answer.mutable_check();
  } else if constexpr (std::is_same_v<Response, BatchCheckResponse>) {
    return *answer.mutable_batch();
  } else {
    return *answer.mutable_report();
  }
}

// An answer to a call of this kind, as an answer to a forwarded one.
template <typename Response>
class ParkedAnswer final : public transport::ParkedCall<Response> {
 public:
  explicit ParkedAnswer(std::shared_ptr<ParkedForward> parked)
      : transport::ParkedCall<Response>(parked->time_left_ns()), parked_(std::move(parked)) {}

  bool Answer(const grpc::Status& status, Response& response) override {
    ForwardedAnswer answer;
    if (status.ok()) {
      ResponseIn<Response>(answer).Swap(&response);
    } else if (rpc::IsOwnerChanged(status)) {
      answer.set_not_the_owner(true);  // nothing was charged: whoever forwarded it knows where to
    } else {
      SetError(status, answer);
    }
    return parked_->Answer(grpc::Status(), answer);
  }

 private:
  const std::shared_ptr<ParkedForward> parked_;
};

template <typename Response>
class AnswerParking final : public transport::Parking<Response> {
 public:
  explicit AnswerParking(ForwardParking& parking) : parking_(parking) {}

  std::shared_ptr<transport::ParkedCall<Response>> Park(
      std::shared_ptr<transport::ParkListener> listener) override {
    auto parked = parking_.Park(std::move(listener));
    if (parked == nullptr) return nullptr;
    parked_ = true;
    return std::make_shared<ParkedAnswer<Response>>(std::move(parked));
  }
  bool parked() const { return parked_; }

 private:
  ForwardParking& parking_;
  bool parked_ = false;
};

// Runs `decide(response, parking)`.
template <typename Response, typename Run>
bool DecideAs(ForwardedAnswer& answer, ForwardParking& parking, Run decide) {
  AnswerParking<Response> mine(parking);
  const grpc::Status status = decide(ResponseIn<Response>(answer), mine);
  if (!status.ok()) SetError(status, answer);
  return !mine.parked();
}

}  // namespace

void SetError(const grpc::Status& status, google::rpc::Status& error) {
  // Our own errors have all of it in their details.
  if (error.ParseFromString(status.error_details()) && error.code() != 0) return;
  error.Clear();
  error.set_code(status.error_code());
  error.set_message(status.error_message());
}

bool Decider::Decide(const ForwardedCall& call, ForwardedAnswer& answer, ForwardParking& parking) {
  const ForwardedEvidence evidence(call.caller(), call.peer());
  switch (call.call_case()) {
    case ForwardedCall::kCheck:
      return DecideAs<CheckResponse>(answer, parking, [&](auto& response, auto& mine) {
        return thread_->Check(evidence, call.check(), response, mine);
      });
    case ForwardedCall::kBatch:
      return DecideAs<BatchCheckResponse>(answer, parking, [&](auto& response, auto& mine) {
        return thread_->BatchCheck(evidence, call.batch().checks(), response, mine);
      });
    case ForwardedCall::kReport:
      return DecideAs<ReportResponse>(answer, parking, [&](auto& response, auto& mine) {
        return thread_->Report(evidence, call.report(), response, mine);
      });
    case ForwardedCall::kCharges:
      Charge(call.charges(), answer);
      return true;
    case ForwardedCall::CALL_NOT_SET:
      break;
  }
  SetError(transport::Failure(absl::StatusCode::kUnimplemented, "UNKNOWN_CALL",
                              "a newer peer forwards what this server does not know"),
           answer);
  return true;
}

void Decider::DecideApproximately(const ForwardedCall& call, ForwardedAnswer& answer) {
  const ForwardedEvidence evidence(call.caller(), call.peer());
  const grpc::Status status =
      call.has_check()
          ? thread_->CheckApproximately(evidence, call.check(), *answer.mutable_check())
          : thread_->BatchCheckApproximately(evidence, call.batch().checks(),
                                             *answer.mutable_batch());
  if (!status.ok()) SetError(status, answer);
}

void Decider::Charge(const peer::v1::ApproximateCharges& charges, ForwardedAnswer& answer) {
  if (api_.approximate() == nullptr) {
    SetError(transport::Failure(absl::StatusCode::kFailedPrecondition, "NOT_APPROXIMATE",
                                "this server's on_store_loss is not APPROXIMATE"),
             answer);
    return;
  }
  std::vector<engine::ApproximateCharge> all;
  for (const peer::v1::ApproximateCharge& charge : charges.charges()) {
    all.push_back({.budget = charge.budget(),
                   .bucket = charge.bucket(),
                   .cost = charge.cost(),
                   .undrained = charge.undrained(),
                   .since = absl::Seconds(charge.since().seconds()) +
                            absl::Nanoseconds(charge.since().nanos())});
  }
  absl::Status charged = api_.approximate()->ChargeOnce(
      {charges.target(), charges.incarnation(), charges.number()}, [&]() -> absl::Status {
        return api_.engine()
            .ChargeApproximately(charges.target(), all, api_.clock().Read())
            .status();
      });
  if (charged.ok()) {
    answer.set_charged(true);
  } else {
    SetError(rpc::ToGrpcStatus(charged, {}), answer);
  }
}

}  // namespace headgate::peers
