#include <headgate/client.h>
#include <headgate/permit.h>

#include <utility>

#include "client/core.h"

namespace headgate::client {

Permit::Permit(std::shared_ptr<internal::Core> core, Answer answer)
    : core_(std::move(core)),
      time_(core_->options().time),
      granted_at_(time_->Now()),
      answer_(std::move(answer)) {
  if (!answer_.permit_id.has_value()) core_ = nullptr;
}

Permit::Permit(Permit&& other) noexcept
    : core_(std::exchange(other.core_, nullptr)),
      time_(std::exchange(other.time_, nullptr)),
      granted_at_(other.granted_at_),
      answer_(std::move(other.answer_)) {}

Permit& Permit::operator=(Permit&& other) noexcept {
  if (this == &other) return *this;
  Settle();
  core_ = std::exchange(other.core_, nullptr);
  time_ = std::exchange(other.time_, nullptr);
  granted_at_ = other.granted_at_;
  answer_ = std::move(other.answer_);
  return *this;
}

absl::Status Permit::Report(double actual_cost) {
  if (core_ == nullptr) return absl::OkStatus();
  absl::Status status = core_->Report(*answer_.permit_id, actual_cost);
  if (status.ok()) core_ = nullptr;
  return status;
}

void Permit::ReportElapsed() { Report(absl::ToDoubleSeconds(Elapsed())).IgnoreError(); }

absl::Duration Permit::Elapsed() const {
  return time_ == nullptr ? absl::ZeroDuration() : time_->Now() - granted_at_;
}

void Permit::Settle() noexcept {
  if (core_ == nullptr) return;
  if (core_->options().unreported == Unreported::kPredictedCost) {
    Report(answer_.predicted_cost).IgnoreError();
  } else {
    ReportElapsed();
  }
  core_ = nullptr;
}

}  // namespace headgate::client
