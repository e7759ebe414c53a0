// JsonReader: a JSON text into a protobuf message, as proto3's JSON mapping has it.
//
// RapidJSON reads the text, and reflection fills the message: no type of message is known here.
// What is taken is what protobuf's own json_util takes, with the same result; refused is besides
// - what is not JSON as RFC 8259 has it: unquoted names, trailing commas, bytes that are not UTF-8;
// - a name twice in one object, since whoever looked at the text before may have seen the other
// one;
// - a bool, or an enum's number, that is written as a string;
// - messages in more than kMaxDepth of each other, and texts of more than `most_values` values.
// Fields may have their names in the protobuf file or those in lowerCamelCase. Maps are those from
// strings to strings, and neither bytes nor other well-known types than Duration and Timestamp are
// read: there are no others in the API.
//
// Reused from one text to the next. Thread-compatible.
//
//   JsonReader reader(1 << 17);
//   if (const std::optional<JsonFault> fault = reader.Read(text, request)) ...

#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::json {

// What is wrong with a text.
struct JsonFault {
  std::string field = {};  // such as "checks[3].estimated_cost"; empty: it is about none
  std::string what = {};   // "must be a number; it is true"
  bool too_many = false;   // values
};

class JsonReader {
 public:
  static constexpr size_t kMaxDepth = 32;

  explicit JsonReader(size_t most_values);
  ~JsonReader();

  // Into an empty message. With a fault it is what could be read until then.
  std::optional<JsonFault> Read(std::string_view text, google::protobuf::Message& message);

 private:
  class Parser;

  const std::unique_ptr<Parser> parser_;
};

}  // namespace headgate::json
