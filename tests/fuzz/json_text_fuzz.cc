// Any bytes as JSON: what is taken is taken by protobuf's own reader too, as the same message, and
// is written and read back as it is; what is refused is so in one clean line.
//
// The first byte chooses the message.

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <headgate/v1/override_service.pb.h>
#include <headgate/v1/throttle_log_service.pb.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/serve/json/json_reader.h"
#include "server/serve/json/json_writer.h"
#include "tests/fuzz/require.h"

namespace {

using google::protobuf::Message;
using headgate::fuzz::HasControl;
using headgate::fuzz::Require;
using headgate::json::JsonReader;
using headgate::json::JsonWriter;
namespace v1 = headgate::v1;

constexpr size_t kMostValues = 1'000;

const Message& Prototype(uint8_t choice) {
  switch (choice % 4) {
    case 0:
      return v1::CheckRequest::default_instance();
    case 1:
      return v1::BatchCheckRequest::default_instance();
    case 2:
      return v1::CreateOverrideRequest::default_instance();
    default:
      return v1::QueryThrottleLogResponse::default_instance();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const silent = new google::protobuf::LogSilencer;
  (void)silent;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  JsonReader reader(kMostValues);
  const std::unique_ptr<Message> ours(Prototype(data[0]).New());
  const auto fault = reader.Read(text, *ours);
  if (fault.has_value()) {
    Require(!fault->what.empty(), "an error without words");
    Require(!HasControl(fault->field) && !HasControl(fault->what),
            "not one clean line: ", fault->field, ": ", fault->what);
    Require(fault->what.size() < 1'000, "an error that is too long");
    return 0;
  }
  const std::unique_ptr<Message> theirs(ours->New());
  const auto read = google::protobuf::util::JsonStringToMessage(text, theirs.get());
  Require(read.ok(), "taken here alone: ", text);
  Require(ours->DebugString() == theirs->DebugString(), "taken otherwise: ", text);
  std::string written;
  JsonWriter().Append(*ours, written);
  const std::unique_ptr<Message> again(ours->New());
  Require(!JsonReader(1 << 20).Read(written, *again).has_value(), "not read back: ", written);
  Require(ours->DebugString() == again->DebugString(), "read back otherwise: ", written);
  return 0;
}
