// Where a command writes, in which form, and with which status it ends.
//
// Answers go to `out`, complaints to `err`, one line each that begins with "headgate: ".
//
// Thread-compatible.
//
//   if (!response.ok()) return console.Fail(response.status());
//   return console.Print(
//       *response, [&] { return StatusText(*response); }, [&] { return StatusCsv(*response); });

#pragma once

#include <google/protobuf/message.h>

#include <ostream>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cli/output/table.h"

namespace headgate::cli {

// Exit statuses; part of the interface.
enum class ExitStatus : int {
  kOk = 0,
  kDenied = 1,
  kUsage = 2,        // wrong usage, or input that the server refused
  kUnreachable = 3,  // no connection, or no answer in time
  kFailed = 4,       // the server failed otherwise, or what the command needs is missing
};
constexpr int ToInt(ExitStatus status) { return static_cast<int>(status); }

enum class Format { kTable, kJson, kCsv };

struct Console {
  std::ostream& out;
  std::ostream& err;
  Format format = Format::kTable;
  Colours colours = Colours::kOff;
  absl::TimeZone zone = absl::UTCTimeZone();  // of the times that people read

  // One line on `err`, escaped.
  void Complain(std::string_view what) const;
  // Says what failed, and which exit status that is.
  ExitStatus Fail(const absl::Status& status) const;
  // Prints the answer in the form that was asked for, which is the only one that is made. Returns
  // the exit status of a command that has done what it was asked.
  int Print(const google::protobuf::Message& json, absl::FunctionRef<std::string()> text,
            absl::FunctionRef<Table()> csv) const;
};

// Which exit status an RPC's error is.
ExitStatus ExitStatusOf(const absl::Status& status);

// Field names as in the .proto, fields that are not set included unless they are `optional`.
std::string Json(const google::protobuf::Message& message);
// The same on one line, without its end.
std::string JsonLine(const google::protobuf::Message& message);
// A JSON string, quoted.
std::string JsonString(std::string_view text);

}  // namespace headgate::cli
