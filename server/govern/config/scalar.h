// Plain values of a YAML file, read strictly: nothing is guessed, rounded or converted.
//
// An error is the rest of a sentence whose beginning is the field: "expected a number without a
// unit, got '5s'". Pure functions.

#pragma once

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/govern/config/yaml_tree.h"

namespace headgate::config {

// "expected WHAT, got ...".
absl::Status Expected(std::string_view what, const YamlNode& got);
// The same without showing the value, which may be a secret.
absl::Status ExpectedNotShown(std::string_view what, const YamlNode& got);

// Text is taken as it is written: 1.10 and no are text like any other. Never empty unless
// `Empty::kAllowed`, and without control characters but tabs and line breaks.
enum class Empty : uint8_t { kRefused, kAllowed };
absl::StatusOr<std::string> ReadText(const YamlNode& node, Empty empty);

// `true` and `false`; yes, on and off mean different things to different readers of YAML.
absl::StatusOr<bool> ReadBool(const YamlNode& node);

// Decimal digits: no 010, 0x10 or 1e3, which some read otherwise.
absl::StatusOr<int64_t> ReadInteger(const YamlNode& node, int64_t least, int64_t most);

absl::StatusOr<double> ReadNumber(const YamlNode& node);

// "250ms", "1h30m", "1.5s": 0 to 100 years.
absl::StatusOr<absl::Duration> ReadDuration(const YamlNode& node);

// RFC 3339, years 1970 to 2261, which nanoseconds since 1970 can hold.
absl::StatusOr<absl::Time> ReadTime(const YamlNode& node);

// The number of a value without its prefix, capitals and all.
absl::StatusOr<int> ReadEnum(const YamlNode& node,
                             const google::protobuf::EnumDescriptor& descriptor);

// Whether text is a number as YAML writes them; for values that may be several things.
bool LooksLikeNumber(const YamlNode& node);

}  // namespace headgate::config
