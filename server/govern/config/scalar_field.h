// One plain value of a YAML file as a field of a protobuf message. Pure functions.

#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "server/govern/config/yaml_tree.h"

namespace headgate::config {

// Sets a field that is neither repeated nor a message. Errors as in scalar.h.
absl::Status ReadScalarField(const YamlNode& node, const google::protobuf::FieldDescriptor& field,
                             google::protobuf::Message& message);

// The alternatives' names: "a, b or c".
std::string Choices(const google::protobuf::OneofDescriptor& choice);

}  // namespace headgate::config
