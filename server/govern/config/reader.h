// From a YAML tree to a protobuf message, whatever its type: fields by name through reflection, and
// the shorthands that the comments in config.proto promise.
//
// It notes where every field stood, and goes on after each problem. A field that could not be read
// is left out of the message, and its position is marked as spoilt, so that later checks report
// nothing about it again. It knows the schema only: whether names exist and numbers make sense is
// for build.h.
//
// The message lives in an arena: positions know messages by their addresses, and an arena gives
// none of them out twice.
//
//   google::protobuf::Arena arena;
//   auto& proto = *google::protobuf::Arena::CreateMessage<v1::Config>(&arena);
//   SourcePositions positions;
//   ReadMessage(tree, proto, positions, problems);

#pragma once

#include <google/protobuf/message.h>

#include "server/govern/config/problem.h"
#include "server/govern/config/source_positions.h"
#include "server/govern/config/yaml_tree.h"

namespace headgate::config {

void ReadMessage(const YamlNode& tree, google::protobuf::Message& message,
                 SourcePositions& positions, ProblemList& problems);

}  // namespace headgate::config
