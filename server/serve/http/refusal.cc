#include "server/serve/http/refusal.h"

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::http {
namespace {

// google.rpc.Code
constexpr int kInvalidArgument = 3;
constexpr int kUnavailable = 14;

// Without anything that JSON would escape.
std::string_view ReasonFor(int status) {
  switch (status) {
    case 413:
      return "the body is larger than server.max_message_bytes";
    case 415:
      return "compressed bodies are not taken: send it without a Content-Encoding";
    case 417:
      return "nothing can be expected but 100-continue";
    case 431:
      return "the header is too large";
    case 501:
      return "no Transfer-Encoding is taken but chunked";
    case 503:
      return "too much is sent at once; try again in a second";
    case 505:
      return "what is spoken here is HTTP/1.1, and HTTP/1.0";
    default:
      return "the request is not as HTTP/1.1 has it, or could be read in two ways";
  }
}

}  // namespace

std::string RefusalText(int status) {
  return absl::StrCat("{\"code\":", status == 503 ? kUnavailable : kInvalidArgument,
                      ",\"message\":\"", Sv(ReasonFor(status)), "\"}");
}

}  // namespace headgate::http
