#include "server/serve/json/expected_value.h"

#include "absl/strings/str_cat.h"

namespace headgate::json {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::string ExpectedValueOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_STRING:
      return "a string";
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrCat("one of the names of ", field.enum_type()->name());
    case FieldDescriptor::CPPTYPE_MESSAGE:
      switch (field.message_type()->well_known_type()) {
        case Descriptor::WELLKNOWNTYPE_DURATION:
          return "a duration such as \"1.5s\"";
        case Descriptor::WELLKNOWNTYPE_TIMESTAMP:
          return "a time such as \"2026-03-01T06:00:00Z\"";
        default:
          return "an object";
      }
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "a number";
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_UINT32:
      return "a whole number of 32 bits";
    default:
      return "a whole number of 64 bits";
  }
}

bool IsReal(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
}

std::string LargestOf(const FieldDescriptor& field) {
  const bool is_double = field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
  return is_double ? "a number below 1.8e308" : "a number below 3.5e38";
}

}  // namespace headgate::json
