// SplitCalls: the calls in a text like {"calls": [{"get_status": {}}, {"list_lines": {"page_size":
// 5}}]}, each with its name and its request as it was sent.
//
// What is in a request is for JsonReader to judge: here it is JSON, as far as braces, strings and
// commas go. Each call is an object with one name, whose value is an object. The texts of the
// requests are parts of the text that was given.
//
//   std::vector<JsonCall> calls;
//   if (const std::optional<JsonFault> fault = SplitCalls(text, 8, calls)) ...

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/serve/json/json_reader.h"

namespace headgate::json {

struct JsonCall {
  std::string name;
  std::string_view request;
};

// One call at least, and `most` at most. With a fault `calls` is what could be read until then.
std::optional<JsonFault> SplitCalls(std::string_view text, size_t most,
                                    std::vector<JsonCall>& calls);

}  // namespace headgate::json
