#include "server/govern/config/shorthand.h"

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <headgate/v1/config.pb.h>

#include <algorithm>
#include <string_view>

#include "absl/time/time.h"
#include "server/govern/config/scalar.h"

namespace headgate::config {
namespace {

using google::protobuf::Message;

void SetDuration(absl::Duration from, google::protobuf::Duration& to) {
  to.set_seconds(absl::IDivDuration(from, absl::Seconds(1), &from));
  to.set_nanos(static_cast<int32_t>(absl::IDivDuration(from, absl::Nanoseconds(1), &from)));
}

absl::Status ReadDurationMessage(const YamlNode& node, Message& message) {
  const absl::StatusOr<absl::Duration> duration = ReadDuration(node);
  if (duration.ok()) SetDuration(*duration, static_cast<google::protobuf::Duration&>(message));
  return duration.status();
}

absl::Status ReadTimestampMessage(const YamlNode& node, Message& message) {
  const absl::StatusOr<absl::Time> time = ReadTime(node);
  if (!time.ok()) return time.status();
  auto& timestamp = static_cast<google::protobuf::Timestamp&>(message);
  absl::Duration since = *time - absl::UnixEpoch();
  timestamp.set_seconds(absl::IDivDuration(since, absl::Seconds(1), &since));
  timestamp.set_nanos(
      static_cast<int32_t>(absl::IDivDuration(since, absl::Nanoseconds(1), &since)));
  return absl::OkStatus();
}

bool IsWord(const YamlNode& node, std::string_view word) {
  return node.kind == YamlNode::Kind::kScalar && node.text == word;
}

absl::Status ReadRate(const YamlNode& node, Message& message) {
  auto& rate = static_cast<v1::Rate&>(message);
  if (IsWord(node, "auto")) {
    rate.set_auto_(true);
    return absl::OkStatus();
  }
  YamlNode number = node;
  const bool percentage = number.text.ends_with('%');
  if (percentage) {
    number.text.pop_back();
    number.quoted = false;  // "20%" is text anyway
  }
  if (!LooksLikeNumber(number)) {
    return Expected("cost units a second such as 250, a share such as 20%, or auto", node);
  }
  const absl::StatusOr<double> value = ReadNumber(number);
  if (!value.ok()) return Expected("a finite number", node);
  if (percentage) {
    rate.set_server_share(*value);
  } else {
    rate.set_units_per_second(*value);
  }
  return absl::OkStatus();
}

absl::Status ReadBurst(const YamlNode& node, Message& message) {
  auto& burst = static_cast<v1::Burst&>(message);
  if (LooksLikeNumber(node)) {
    const absl::StatusOr<double> units = ReadNumber(node);
    if (units.ok()) burst.set_units(*units);
    return units.status();
  }
  const absl::StatusOr<absl::Duration> duration = ReadDuration(node);
  if (!duration.ok()) return Expected("cost units such as 500, or a duration such as 5s", node);
  SetDuration(*duration, *burst.mutable_duration());
  return absl::OkStatus();
}

absl::Status ReadOnStale(const YamlNode& node, Message& message) {
  auto& on_stale = static_cast<v1::OnStale&>(message);
  if (IsWord(node, "DENY")) {
    on_stale.set_deny(true);
  } else if (IsWord(node, "ALLOW")) {
    on_stale.set_allow(true);
  } else if (LooksLikeNumber(node)) {
    const absl::StatusOr<double> speed = ReadNumber(node);
    if (!speed.ok()) return speed.status();
    on_stale.set_speed(*speed);
  } else {
    return Expected("DENY, ALLOW or a speed such as 0.1", node);
  }
  return absl::OkStatus();
}

}  // namespace

const Shorthand* FindShorthand(const google::protobuf::Descriptor& descriptor) {
  struct Entry {
    const google::protobuf::Descriptor* descriptor;
    Shorthand shorthand;
  };
  static const Entry kEntries[] = {
      {google::protobuf::Duration::descriptor(), {ReadDurationMessage, /*only=*/true}},
      {google::protobuf::Timestamp::descriptor(), {ReadTimestampMessage, /*only=*/true}},
      {v1::Rate::descriptor(), {ReadRate}},
      {v1::Burst::descriptor(), {ReadBurst}},
      {v1::OnStale::descriptor(), {ReadOnStale}},
  };
  const auto* const found =
      std::find_if(std::begin(kEntries), std::end(kEntries),
                   [&](const Entry& entry) { return entry.descriptor == &descriptor; });
  return found == std::end(kEntries) ? nullptr : &found->shorthand;
}

}  // namespace headgate::config
