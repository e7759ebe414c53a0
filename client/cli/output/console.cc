#include "client/cli/output/console.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "client/cli/output/field_words.h"
#include "client/cli/output/terminal_text.h"

namespace headgate::cli {
namespace {

google::protobuf::util::JsonPrintOptions AsInTheProto() {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  return options;
}

std::string Print(const google::protobuf::Message& message,
                  const google::protobuf::util::JsonPrintOptions& options) {
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  // Only a Duration or Timestamp outside of what JSON can hold gets here.
  if (!status.ok()) return absl::StrCat("{\"error\": ", JsonString(status.ToString()), "}\n");
  return text;
}

}  // namespace

void Console::Complain(std::string_view what) const {
  out.flush();
  // In one piece: whoever reads along sees all of a line or nothing.
  err << absl::StrCat("headgate: ", Escaped(what), "\n") << std::flush;
}

ExitStatus ExitStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitStatus::kOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      return ExitStatus::kUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return ExitStatus::kUnreachable;
    default:
      return ExitStatus::kFailed;
  }
}

ExitStatus Console::Fail(const absl::Status& status) const {
  const ExitStatus exit = ExitStatusOf(status);
  const absl::string_view words = status.message();
  const std::string message = exit == ExitStatus::kUsage
                                  ? InTheWordsOfOptions({words.data(), words.size()})
                                  : std::string(words);
  // An Aborted error is made by Connection, as a whole sentence, and what a server cannot do as it
  // is set up is one as well. Other codes are the server's.
  const bool is_sentence = absl::IsAborted(status) || absl::IsFailedPrecondition(status);
  Complain(exit == ExitStatus::kFailed && !is_sentence
               ? absl::StrCat(absl::StatusCodeToString(status.code()), ": ", message)
               : message);
  return exit;
}

int Console::Print(const google::protobuf::Message& json, absl::FunctionRef<std::string()> text,
                   absl::FunctionRef<Table()> csv) const {
  switch (format) {
    case Format::kTable:
      out << text();
      break;
    case Format::kJson:
      out << Json(json);
      break;
    case Format::kCsv:
      out << csv().Csv();
      break;
  }
  return ToInt(ExitStatus::kOk);
}

std::string Json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options = AsInTheProto();
  options.add_whitespace = true;
  return Print(message, options);
}

std::string JsonLine(const google::protobuf::Message& message) {
  return Print(message, AsInTheProto());
}

std::string JsonString(std::string_view text) {
  google::protobuf::Value value;
  // JSON holds nothing but UTF-8, so other bytes are escaped.
  value.set_string_value(Escaped(text));
  return Print(value, {});
}

}  // namespace headgate::cli
