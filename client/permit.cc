#include <headgate/client.h>
#include <headgate/permit.h>

#include <algorithm>
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

absl::Status Permit::Report(const WorkDone& done) {
  if (core_ == nullptr) return absl::OkStatus();
  PermitReport report{.permit_id = *answer_.permit_id, .done = done};
  if (!done.busy_time.has_value()) {
    report.done.busy_time = Elapsed();
    report.measured = true;
  }
  absl::Status status = core_->Report(report);
  if (status.ok()) core_ = nullptr;
  return status;
}

absl::Duration Permit::Elapsed() const {
  if (time_ == nullptr) return absl::ZeroDuration();
  return std::max(time_->Now() - granted_at_, absl::ZeroDuration());
}

void Permit::Settle() noexcept {
  Report().IgnoreError();  // what it has measured itself is never refused
  core_ = nullptr;
}

}  // namespace headgate::client
