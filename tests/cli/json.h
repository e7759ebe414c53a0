// Reads the program's JSON back, as anybody would who does not know the API's messages.
#pragma once

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <string>

#include "gtest/gtest.h"

namespace headgate::cli {

// The fields of a JSON object. Fails the test if the text is none.
inline google::protobuf::Map<std::string, google::protobuf::Value> ParseJson(
    const std::string& text) {
  google::protobuf::Struct object;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &object);
  EXPECT_TRUE(status.ok()) << status.ToString() << " in: " << text;
  return object.fields();
}

// The member of an object; null where there is none.
inline const google::protobuf::Value& At(const google::protobuf::Value& object,
                                         const std::string& name) {
  static const google::protobuf::Value kNothing;
  const auto& fields = object.struct_value().fields();
  const auto found = fields.find(name);
  return found == fields.end() ? kNothing : found->second;
}

}  // namespace headgate::cli
