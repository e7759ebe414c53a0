// What the value of a field has to be, in words for whoever sent another one.
//
// Pure functions.

#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace headgate::json {

// "a whole number of 32 bits"
std::string ExpectedValueOf(const google::protobuf::FieldDescriptor& field);

// Whether it is of a floating-point type.
bool IsReal(const google::protobuf::FieldDescriptor& field);
// Of such a one, for a number that is too large: "a number below 1.8e308".
std::string LargestOf(const google::protobuf::FieldDescriptor& field);

}  // namespace headgate::json
