// Any bytes as a batch of calls: what is taken has calls whose requests are objects in JSON, in
// their order, and is taken once more when it is written anew; what is refused is so in one clean
// line.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/strings.h"
#include "server/serve/json/json_calls.h"
#include "server/serve/json/json_writer.h"
#include "tests/fuzz/require.h"

using headgate::Sv;
using headgate::fuzz::HasControl;
using headgate::fuzz::Require;
using headgate::json::JsonCall;
using headgate::json::SplitCalls;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMost = 4;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<JsonCall> calls;
  const auto fault = SplitCalls(text, kMost, calls);
  if (fault.has_value()) {
    Require(!fault->what.empty(), "an error without words");
    Require(!HasControl(fault->field) && !HasControl(fault->what),
            "not one clean line: ", fault->field, ": ", fault->what);
    Require(fault->field.size() + fault->what.size() < 1'000, "an error that is too long");
    return 0;
  }
  Require(!calls.empty() && calls.size() <= kMost, "too many or none: ", text);
  std::string written = "{\"calls\":[";
  const char* end = text.data();
  for (const JsonCall& call : calls) {
    Require(call.request.data() >= end, "out of order: ", text);
    end = call.request.data() + call.request.size();
    Require(end <= text.data() + text.size(), "behind the end: ", text);
    Require(call.request.starts_with('{') && call.request.ends_with('}'), "no object: ", text);
    absl::StrAppend(&written, &call == calls.data() ? "{" : ",{");
    headgate::json::AppendText(call.name, written);
    absl::StrAppend(&written, ":", Sv(call.request), "}");
  }
  written += "]}";
  std::vector<JsonCall> again;
  Require(!SplitCalls(written, kMost, again).has_value(), "not taken again: ", written);
  Require(again.size() == calls.size(), "other calls: ", written);
  for (size_t i = 0; i < calls.size(); ++i) {
    Require(again[i].name == calls[i].name && again[i].request == calls[i].request,
            "another call: ", written);
  }
  return 0;
}
