#include "server/serve/rpc/waiting_call.h"

#include <iterator>
#include <string_view>
#include <utility>

#include "server/serve/rpc/access_status.h"
#include "server/serve/rpc/decision_proto.h"
#include "server/serve/rpc/errors.h"
#include "server/serve/rpc/lease_proto.h"
#include "server/serve/rpc/proto_time.h"
#include "server/serve/transport/error_status.h"

namespace headgate::rpc {

WaitingCall::WaitingCall(const WaitingNeeds& on, const access::Asker& asker, Now now)
    : on_(on),
      since_(now),
      // Kept where everybody may do everything, too: that may change while it waits.
      evidence_(asker.evidence == nullptr ? nullptr
                                          : std::make_unique<KeptEvidence>(*asker.evidence)) {}

WaitingCall::~WaitingCall() {
  // relaxed: a number that orders nothing.
  on_.parked_bytes.fetch_sub(bytes_, std::memory_order_relaxed);
}

void WaitingCall::CountBytes(int64_t bytes) {
  on_.parked_bytes.fetch_add(bytes, std::memory_order_relaxed);
  bytes_ = bytes;
}

line::Entered WaitingCall::Enter(const engine::CheckRequest& request,
                                 const engine::CheckAnswer& denial, int place, int64_t until_ns) {
  {
    const MutexLock lock(&mutex_);
    ++undecided_;
    entered_ = true;
  }
  uint64_t ticket = 0;
  const line::Entered entered = on_.lines.Enter(
      {request, denial, since_},
      {.waiter = shared_from_this(), .place = place, .until_ns = until_ns}, &ticket);
  bool gone = false;
  {
    const MutexLock lock(&mutex_);
    if (entered != line::Entered::kWaits) {
      --undecided_;  // never the last one: AllHaveEntered is still to come
      entered_ = !tickets_.empty();
      return entered;
    }
    tickets_.push_back(ticket);
    gone = gone_;
  }
  if (gone) on_.lines.Leave(ticket, on_.clock.Read());
  return entered;
}

void AddAdmitted(const engine::CheckRequest& request, const engine::CheckAnswer& answer,
                 std::vector<AdmittedCheck>& admitted) {
  if (answer.verdict != engine::Verdict::kAllowed || answer.permit == 0 || answer.repeated) return;
  admitted.push_back({.permit = answer.permit,
                      .subject_key = answer.subject_key,
                      .request_id = std::string(request.request_id)});
}

void WaitingCall::NoteReturned(int place, const v1::ReportResult& returned) {
  const MutexLock lock(&mutex_);
  OutcomeNow().returned[place] = returned;
}

void WaitingCall::NoteAdmitted(std::vector<AdmittedCheck> admitted) {
  const MutexLock lock(&mutex_);
  if (admitted.empty()) return;
  std::vector<AdmittedCheck>& all = OutcomeNow().admitted;
  all.insert(all.end(), std::make_move_iterator(admitted.begin()),
             std::make_move_iterator(admitted.end()));
}

access::AccessControl::Refused WaitingCall::Judge(const engine::CheckRequest& request,
                                                  access::Asker& asker) const {
  if (evidence_ == nullptr) return std::nullopt;
  auto refused = on_.access.Identify(*evidence_, asker);
  if (refused.has_value() || asker.caller == nullptr) return refused;
  absl::InlinedVector<std::pair<std::string_view, std::string_view>, 4> tags;
  for (const engine::Tag& tag : request.tags) tags.emplace_back(tag.key, tag.value);
  return on_.access.MayCheck(asker, request.identity, tags);
}

bool WaitingCall::MayWait(const engine::CheckRequest& request) {
  access::Asker asker;
  return !Judge(request, asker).has_value();
}

grpc::Status WaitingCall::ErrorOf(const absl::Status& status, const engine::CheckRequest& request) {
  if (absl::IsUnavailable(status)) return transport::ShuttingDown();
  if (absl::IsAborted(status)) return OwnerChanged();
  return ToGrpcStatus(status, {.tags = request.tags});
}

void WaitingCall::Answer(int place, const line::Decided& decided) {
  const auto& [status, request, answer, now] = decided;
  access::Asker asker;
  const auto refused = Judge(request, asker);
  const bool admitted = status.ok() && answer.verdict == engine::Verdict::kAllowed;
  grpc::Status error;
  {
    const MutexLock lock(&mutex_);
    // A Check that waits counts once, by what became of it: not by the refusal that made it wait,
    // nor where its caller hears of no decision.
    const bool counts = status.ok() && !refused.has_value() && request.lease == nullptr;
    if (counts && !gone_) on_.counts.Record(request, answer, now);
    if (admitted && !refused.has_value()) AddAdmitted(request, answer, OutcomeNow().admitted);
    if (refused.has_value()) {
      error = SetError(place, ToGrpcStatus(*refused));
    } else if (!status.ok()) {
      error = SetError(place, ErrorOf(status, request));
    } else {
      v1::Decision& decision = DecisionAt(place);
      if (request.IsWatch()) {
        decision.mutable_lease()->set_state(answer.grant.state);
      } else {
        FillDecision(answer, request.identity, decision);
        if (request.lease != nullptr) FillLeaseOf(answer, place, decision);
      }
      SetDuration(absl::Nanoseconds(now.monotonic_ns - since_.monotonic_ns),
                  *decision.mutable_waited());
      if (asker.caller != nullptr && decision.has_permit_id()) {
        decision.set_permit_id(asker.caller->seal().Seal(decision.permit_id()));
      }
    }
  }
  // Who may not ask any more gets nothing of it.
  if (refused.has_value() && admitted) on_.engine.Withdraw(request, answer, now);
  OneIsDecided(error);
}

void WaitingCall::FillLeaseOf(const engine::CheckAnswer& answer, int place,
                              v1::Decision& decision) {
  v1::Lease& lease = *decision.mutable_lease();
  FillLease(answer, lease);
  if (outcome_ == nullptr) return;
  const auto returned = outcome_->returned.find(place);
  if (returned != outcome_->returned.end()) *lease.mutable_returned() = returned->second;
}

void WaitingCall::OneIsDecided(const grpc::Status& error) {
  grpc::Status status;
  bool gone = false;
  {
    const MutexLock lock(&mutex_);
    if (!error.ok()) OutcomeNow().error = error;
    gone = gone_;
    if (--undecided_ > 0 && !gone) return;
    if (outcome_ != nullptr) status = outcome_->error;
  }
  // From here on nobody else touches the answer. Of a call whose caller is gone, those that were
  // being examined just then come here one by one.
  // Who is told of an error hears nothing of what was admitted.
  if (gone || !Send(status) || !status.ok()) WithdrawAll();
}

void WaitingCall::OnGone() {
  absl::InlinedVector<uint64_t, 1> tickets;
  {
    const MutexLock lock(&mutex_);
    gone_ = true;
    tickets.swap(tickets_);
  }
  for (const uint64_t ticket : tickets) on_.lines.Leave(ticket, on_.clock.Read());
  WithdrawAll();
}

void WaitingCall::OnAnswered(bool delivered) {
  if (!delivered) WithdrawAll();
}

void WaitingCall::WithdrawAll() {
  std::vector<AdmittedCheck> admitted;
  {
    const MutexLock lock(&mutex_);
    if (outcome_ == nullptr) return;
    admitted.swap(outcome_->admitted);
  }
  const Now now = on_.clock.Read();
  engine::CheckAnswer answer;
  answer.verdict = engine::Verdict::kAllowed;
  for (const AdmittedCheck& each : admitted) {
    answer.permit = each.permit;
    answer.subject_key = each.subject_key;
    on_.engine.Withdraw({.request_id = each.request_id}, answer, now);
  }
}

v1::Decision& WaitingSingleCheck::DecisionAt(int /*place*/) {
  if (response_ == nullptr) response_ = std::make_unique<v1::CheckResponse>();
  return *response_->mutable_decision();
}

grpc::Status WaitingSingleCheck::SetError(int /*place*/, const grpc::Status& error) {
  return error;
}

bool WaitingSingleCheck::Send(const grpc::Status& status) {
  if (response_ == nullptr) response_ = std::make_unique<v1::CheckResponse>();
  return parked_->Answer(status, *response_);
}

template <typename Response>
grpc::Status WaitingBatch<Response>::SetError(int place, const grpc::Status& error) {
  // The server stops: that is said to the call, which may then go elsewhere.
  if (error.error_code() == grpc::StatusCode::UNAVAILABLE) return error;
  v1::Error& its = *ResultAt(place).mutable_error();
  its.set_code(error.error_code());
  its.set_message(error.error_message());
  return grpc::Status();
}

template class WaitingBatch<v1::BatchCheckResponse>;
template class WaitingBatch<v1::CheckStreamResponse>;

}  // namespace headgate::rpc
