// Answers of the throttle log in protobuf.
//
// Pure functions.

#pragma once

#include <headgate/v1/throttle_log_service.pb.h>

#include <cstdint>
#include <vector>

#include "server/remember/throttle_log/intervals.h"
#include "server/remember/throttle_log/query.h"
#include "server/remember/throttle_log/recorder.h"
#include "server/remember/throttle_log/replay.h"

namespace headgate::rpc {

// v1::Outcome counts from here.
inline constexpr int kFromOutcome = 1;

// Fields that are not grouped by stay empty.
void FillSum(const throttle_log::Sum& from, const throttle_log::Grouping& by, v1::LogSum& to);
void FillInterval(const throttle_log::Interval& from, v1::ThrottledInterval& to);
void FillDenial(const throttle_log::Denial& from, v1::Denial& to);
void FillReplayed(const throttle_log::ReplayedIdentity& from, v1::ReplayedIdentity& to);
// What a replay of the configuration in force gave, beside the same identities. Both are sorted.
void FillBaseline(const std::vector<throttle_log::ReplayedIdentity>& in_force,
                  v1::ReplayThrottleLogResponse& to);
void SetSeconds(int64_t unix_s, google::protobuf::Timestamp& to);

}  // namespace headgate::rpc
