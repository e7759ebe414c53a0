// Times as protobuf has them.
//
// Pure functions.

#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace headgate::rpc {

// What protobuf allows: 10,000 years.
inline constexpr int64_t kMaxSeconds = 315'576'000'000;
// The last second of the year 9999.
inline constexpr int64_t kLastUnixSecond = 253'402'300'799;
inline constexpr int32_t kNanosPerSecond = 1'000'000'000;

// Must be finite and >= 0; beyond 10,000 years it is 10,000 years.
inline void SetDuration(absl::Duration from, google::protobuf::Duration& to) {
  absl::Duration rest;
  const int64_t seconds = absl::IDivDuration(from, absl::Seconds(1), &rest);
  to.set_seconds(std::min(seconds, kMaxSeconds));
  to.set_nanos(seconds < kMaxSeconds ? static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)) : 0);
}

// Same, from a time of less than 292 years.
inline void SetDuration(int64_t from_ns, google::protobuf::Duration& to) {
  to.set_seconds(from_ns / kNanosPerSecond);
  to.set_nanos(static_cast<int32_t>(from_ns % kNanosPerSecond));
}

// From 1970 on; what comes after the year 9999 is its last second.
inline void SetTimestamp(absl::Time from, google::protobuf::Timestamp& to) {
  const absl::Duration since =
      std::clamp(from - absl::UnixEpoch(), absl::ZeroDuration(), absl::Seconds(kLastUnixSecond));
  absl::Duration rest;
  to.set_seconds(absl::IDivDuration(since, absl::Seconds(1), &rest));
  to.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
}

// Of one that is valid.
inline absl::Time TimeOf(const google::protobuf::Timestamp& at) {
  return absl::FromUnixSeconds(at.seconds()) + absl::Nanoseconds(at.nanos());
}

// Likewise.
inline absl::Duration DurationOf(const google::protobuf::Duration& span) {
  return absl::Seconds(span.seconds()) + absl::Nanoseconds(span.nanos());
}

}  // namespace headgate::rpc
