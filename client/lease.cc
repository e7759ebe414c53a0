#include <headgate/client.h>
#include <headgate/lease.h>

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/core.h"
#include "client/lease_runner.h"

namespace headgate::client {
namespace {

absl::Status Validate(const LeaseOptions& options) {
  if (!(options.piece >= 0 && options.piece <= kMaxCost)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "piece: ", options.piece, " is not a cost; it has to be from 0 to ", kMaxCost));
  }
  constexpr absl::Duration kShortest = absl::Milliseconds(100);
  constexpr absl::Duration kLongest = absl::Seconds(10);
  if (options.time < kShortest || options.time > kLongest) {
    return absl::InvalidArgumentError(absl::StrCat("time: ", absl::FormatDuration(options.time),
                                                   " is not from ", absl::FormatDuration(kShortest),
                                                   " to ", absl::FormatDuration(kLongest)));
  }
  constexpr absl::Duration kLongestSafe = absl::Minutes(1);
  if (options.safe_time >= absl::ZeroDuration() && options.safe_time <= kLongestSafe) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("safe_time: ", absl::FormatDuration(options.safe_time), " is not from 0 to ",
                   absl::FormatDuration(kLongestSafe)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Lease>> Client::NewLease(LeaseOptions options) {
  if (absl::Status valid = Validate(options); !valid.ok()) return valid;
  if (options.identity.empty()) options.identity = core_->options().identity;
  if (options.target.empty()) options.target = core_->options().target;
  auto runner = std::make_shared<internal::LeaseRunner>(core_, options);
  core_->Add(runner);
  // Not make_unique: the constructor is private.
  return std::unique_ptr<Lease>(new Lease(std::move(runner)));
}

Lease::Lease(std::shared_ptr<internal::LeaseRunner> runner) : runner_(std::move(runner)) {}

Lease::~Lease() { runner_->Close(); }

Admission Lease::Admit(double cost) { return runner_->Admit(cost); }

absl::Status Lease::Wait(double cost, absl::Duration max_wait, const std::stop_token& stop) {
  return runner_->Wait(cost, max_wait, stop);
}

absl::Status Lease::Settle(double estimate, const WorkDone& done) {
  return runner_->Settle(estimate, done);
}

void Lease::Close() { runner_->Close(); }

LeaseStats Lease::stats() const { return runner_->stats(); }

}  // namespace headgate::client
