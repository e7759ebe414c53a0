#include "server/serve/peers/charge_sender.h"

#include <algorithm>
#include <utility>

namespace headgate::peers {
namespace {

constexpr size_t kMostBuckets = 1000;

// Whether it may go well if it is sent once more.
bool MayGoWell(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return true;
    default:
      return false;
  }
}

}  // namespace

peer::v1::ApproximateCharges ChargeSender::ToProto(const std::string& target,
                                                   const Message& message, int64_t now_ns) const {
  peer::v1::ApproximateCharges charges;
  charges.set_target(target);
  charges.set_incarnation(options_.approximation.incarnation());
  charges.set_number(message.number);
  for (const approximate::UnchargedCost& cost : message.costs) {
    peer::v1::ApproximateCharge& charge = *charges.add_charges();
    charge.set_budget(cost.budget);
    charge.set_bucket(cost.bucket);
    charge.set_cost(cost.cost);
    charge.set_undrained(cost.undrained);
    const int64_t since_ns = std::max<int64_t>(now_ns - cost.first_ns, 0);
    charge.mutable_since()->set_seconds(since_ns / 1'000'000'000);
    charge.mutable_since()->set_nanos(static_cast<int32_t>(since_ns % 1'000'000'000));
  }
  return charges;
}

void ChargeSender::SendDue() {
  approximate::ApproximateLimits& limits = options_.approximation.limits();
  const Now now = options_.clock.Read();
  std::vector<peer::v1::ApproximateCharges> due;
  {
    const MutexLock lock(&mutex_);
    for (const std::string& target : limits.UnchargedTargets()) {
      if (messages_.contains(target)) continue;
      Message message{.costs = limits.TakeUncharged(target, kMostBuckets, now),
                      .number = ++last_number_,
                      .first_tried_ns = now.monotonic_ns};
      if (!message.costs.empty()) messages_.emplace(target, std::move(message));
    }
    for (auto& [target, message] : messages_) {
      if (std::exchange(message.is_under_way, true)) continue;
      due.push_back(ToProto(target, message, now.monotonic_ns));
    }
  }
  for (peer::v1::ApproximateCharges& charges : due) options_.send(std::move(charges));
}

void ChargeSender::OnAnswer(const std::string& target, const grpc::Status& status) {
  size_t buckets = 0;
  {
    const MutexLock lock(&mutex_);
    const auto found = messages_.find(target);
    if (found == messages_.end()) return;
    Message& message = found->second;
    const absl::Duration tried_for =
        absl::Nanoseconds(options_.clock.Read().monotonic_ns - message.first_tried_ns);
    if (!status.ok() && MayGoWell(status) && tried_for < options_.longest_try) {
      message.is_under_way = false;
      return;
    }
    buckets = message.costs.size();
    messages_.erase(found);
  }
  if (status.ok()) {
    options_.approximation.limits().NoteCharged(buckets);
    options_.approximation.OnCharged(target, buckets);
  } else {
    options_.approximation.limits().NoteLost(buckets);
    options_.approximation.OnLost(target, buckets, status.error_message());
  }
}

}  // namespace headgate::peers
