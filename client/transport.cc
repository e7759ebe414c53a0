#include <headgate/transport.h>

#include <string>

#include "absl/strings/cord.h"

namespace headgate::client {
namespace {

constexpr char kRetryDelay[] = "headgate/retry-delay";

}  // namespace

absl::StatusOr<uint64_t> Transport::WatchLease(const LeaseWatch& /*watch*/,
                                               absl::Duration /*timeout*/,
                                               const std::stop_token& /*stop*/) {
  return absl::UnimplementedError("this transport does not watch leases");
}

void SetRetryDelay(absl::Duration delay, absl::Status& status) {
  status.SetPayload(kRetryDelay, absl::Cord(absl::FormatDuration(delay)));
}

std::optional<absl::Duration> RetryDelay(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kRetryDelay);
  absl::Duration delay;
  if (!payload.has_value() || !absl::ParseDuration(std::string(*payload), &delay))
    return std::nullopt;
  return delay;
}

}  // namespace headgate::client
