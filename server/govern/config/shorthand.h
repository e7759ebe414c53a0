// Messages for which a plain value may stand: durations, times, rates, bursts, on_stale.
// Pure functions.

#pragma once

#include <google/protobuf/message.h>

#include "absl/status/status.h"
#include "server/govern/config/yaml_tree.h"

namespace headgate::config {

struct Shorthand {
  // Fills the message, which is of the type that this shorthand was found for. Errors as in
  // scalar.h.
  absl::Status (*read)(const YamlNode& node, google::protobuf::Message& message);
  bool only = false;  // the message cannot be written as a mapping
};

// Null for messages that have none.
const Shorthand* FindShorthand(const google::protobuf::Descriptor& descriptor);

}  // namespace headgate::config
