// How parts of answers read, for a person and in CSV.
//
// Pure functions; thread-safe.

#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <headgate/v1/status_service.pb.h>
#include <headgate/v1/throttle_log_service.pb.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

absl::Duration FromProto(const google::protobuf::Duration& duration);
absl::Time FromProto(const google::protobuf::Timestamp& time);
void SetTimestamp(absl::Time time, google::protobuf::Timestamp& to);
void SetDuration(absl::Duration duration, google::protobuf::Duration& to);

// Enum values without their prefix: "ALLOWED"; limit kinds as words: "max cost".
std::string Word(v1::Verdict verdict);
std::string Word(v1::Reason reason);
std::string Word(v1::HealthState state);
std::string Word(v1::ReportOutcome outcome);
std::string Word(v1::Outcome outcome);
std::string Word(v1::LimitKind kind);

Paint PaintOf(v1::Verdict verdict);
// Good while work is let through at full speed, bad where it is not let through.
Paint PaintOf(v1::ConditionKind condition);
std::string Word(v1::ConditionKind condition);
// "SHUT: profile 'strict': the gate is shut by active_backends, for 12s".
std::string ConditionText(const v1::Condition& condition, Colours colours);
// Bad where half or more was denied.
// Of how much was held back: 0 is good.
Paint PaintOfShare(double share);
Paint PaintOfDenied(int64_t denied, int64_t whole);

// "default: HEALTHY, speed 0.5, pressure 0.5 (replication_lag_seconds), sampled 300ms ago".
std::string Sentence(const v1::Health& health);

// An amount of a budget: "250", of busy time "0.25 s".
std::string Amount(double value, v1::BudgetUnit unit);
// "COST", "BUSY_TIME"; empty from a server that is older.
std::string Word(v1::BudgetUnit unit);
// "2026-01-01 12:00:00 UTC, a Report of 1000 s, for 909s".
std::string Sentence(const v1::ReportedDebt& debt, v1::BudgetUnit unit, absl::TimeZone zone);

// Whatever became of them.
int64_t Checks(const v1::LogSum& sum);
// By how many Checks the time was waited, at least: see waited_checks.h.
int64_t ChecksThatWaited(const v1::Waiting& waiting);

// Of a duration or time that may be absent. CSV: seconds, and RFC 3339 in UTC.
std::string Seconds(bool present, const google::protobuf::Duration& duration);
std::string Rfc3339(bool present, const google::protobuf::Timestamp& time);

}  // namespace headgate::cli
