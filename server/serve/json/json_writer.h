// JsonWriter: a protobuf message as JSON, as proto3's JSON mapping has it, with fields named as in
// the protobuf file: "retry_after", not "retryAfter".
//
// The values are those that protobuf's own json_util writes; a number may have other digits for the
// same value. An Any is written if its type is linked in, else as its bare type. Fields without a
// value are left out.
//
// Reused from one message to the next. Thread-compatible.
//
//   JsonWriter writer;
//   writer.Append(response, body);

#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <string_view>

namespace headgate::json {

// One value, for JSON that no message has.
void AppendText(std::string_view text, std::string& to);
void AppendNumber(double value, std::string& to);

class JsonWriter {
 public:
  JsonWriter();
  ~JsonWriter();

  void Append(const google::protobuf::Message& message, std::string& to);

 private:
  class Printer;

  const std::unique_ptr<Printer> printer_;
};

}  // namespace headgate::json
