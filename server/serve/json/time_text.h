// Durations and points in time as proto3's JSON mapping writes them: "1.500s", and RFC 3339 as in
// "2026-03-01T06:00:00.250Z".
//
// Pure functions.

#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace headgate::json {

// False: the text is none, or beyond what the type holds.
bool ReadDuration(std::string_view text, google::protobuf::Duration& duration);
bool ReadTimestamp(std::string_view text, google::protobuf::Timestamp& timestamp);

// With 0, 3, 6 or 9 digits after the point. What is out of range is written as it is.
std::string DurationText(const google::protobuf::Duration& duration);
std::string TimestampText(const google::protobuf::Timestamp& timestamp);

}  // namespace headgate::json
