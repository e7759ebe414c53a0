// What a forwarder does instead of holding a Check, where nobody decides and that is wanted.

#include <memory>
#include <utility>

#include "server/serve/peers/forwarder.h"
#include "server/serve/transport/error_status.h"

namespace headgate::peers {

// Charges the owner of a target for what was admitted without it.
class Forwarder::ChargeCall final : public OutgoingCall {
 public:
  ChargeCall(Destination to, ForwardedCall request, std::atomic<int64_t>& taken,
             ChargeSender& sender)
      : OutgoingCall(std::move(to), false, std::move(request), taken), sender_(sender) {}

 private:
  bool SendResponse(ForwardedAnswer& answer) override {
    const grpc::Status status =
        answer.charged()
            ? grpc::Status()
            : transport::Failure(absl::StatusCode::kUnimplemented, "NOT_CHARGED",
                                 "the owner does not know what was admitted approximately");
    sender_.OnAnswer(to().target, status);
    return true;
  }
  void SendError(const grpc::Status& status) override { sender_.OnAnswer(to().target, status); }

  ChargeSender& sender_;
};

Forwarder::Forwarder(const Options& options) : options_(options) {
  if (options_.approximation == nullptr) return;
  charges_.emplace(ChargeSender::Options{
      .approximation = *options_.approximation,
      .clock = options_.clock,
      .send = [this](peer::v1::ApproximateCharges charges) { SendCharges(std::move(charges)); }});
}

void Forwarder::Refresh() {
  options_.connections.FollowMembership();
  // Before, there may be nobody to charge, and more to come.
  const bool is_cut_off = options_.owners.ServersWithoutStore() > 0;
  if (charges_.has_value() && !is_cut_off) charges_->SendDue();
}

void Forwarder::SendCharges(peer::v1::ApproximateCharges charges) {
  Destination to{.target = charges.target()};
  ForwardedCall request;
  *request.mutable_charges() = std::move(charges);
  auto call = std::make_shared<ChargeCall>(std::move(to), std::move(request), taken_, *charges_);
  call->SetUntil(options_.clock.Read().monotonic_ns +
                 absl::ToInt64Nanoseconds(options_.longest_hold));
  if (!Route(call)) Hold(std::move(call));
}

void Forwarder::OnAnswer(const std::string& target, const ForwardedAnswer& answer) {
  options_.approximation->OnAnswer(target, answer);
}

bool Forwarder::DecideApproximately(const std::shared_ptr<OutgoingCall>& call) {
  if (options_.approximation == nullptr || !call->to().address.empty()) return false;
  if (!call->request.has_check() && !call->request.has_batch()) return false;
  const int servers = options_.owners.ServersWithoutStore();
  // Without a configuration nobody knows a limit.
  if (servers == 0 || !ConfiguredName(call->to().target).has_value()) return false;
  options_.approximation->limits().SetServers(servers);
  options_.approximation->Prepare(call->to().target);
  ForwardedAnswer answer;
  {
    const MutexLock lock(&here_mutex_);
    if (here_ == nullptr) return false;
    here_->DecideApproximately(call->request, answer);
  }
  call->SetListener(nullptr);  // this answer tells nothing new of the target's health
  call->Take(answer);
  return true;
}

}  // namespace headgate::peers
