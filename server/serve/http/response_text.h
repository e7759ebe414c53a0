// The text of a response. Pure function.

#pragma once

#include <string>
#include <string_view>

#include "server/serve/http/message.h"

namespace headgate::http {

struct ResponseFraming {
  std::string_view date_line;  // "Date: ...\r\n"
  bool without_body = false;   // to a HEAD
  bool close = false;
};

// Appends it.
void AppendResponse(const Response& response, const ResponseFraming& framing, std::string& to);

}  // namespace headgate::http
