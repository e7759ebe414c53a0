#include "server/serve/http/response_text.h"

#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::http {
namespace {

std::string_view ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

}  // namespace

void AppendResponse(const Response& response, const ResponseFraming& framing, std::string& to) {
  absl::StrAppend(&to, "HTTP/1.1 ", response.status, " ", Sv(ReasonOf(response.status)), "\r\n",
                  Sv(framing.date_line));
  absl::StrAppend(&to, "Content-Type: ", Sv(response.content_type),
                  "\r\nContent-Length: ", response.body.size(), "\r\nCache-Control: no-store\r\n");
  if (response.retry_after_s > 0) {
    absl::StrAppend(&to, "Retry-After: ", response.retry_after_s, "\r\n");
  }
  to += response.headers;
  if (!response.allow.empty()) absl::StrAppend(&to, "Allow: ", Sv(response.allow), "\r\n");
  if (response.status == 401) to += "WWW-Authenticate: Bearer\r\n";
  if (!response.request_id.empty()) {
    absl::StrAppend(&to, "X-Request-Id: ", response.request_id, "\r\n");
  }
  if (framing.close) to += "Connection: close\r\n";
  to += "\r\n";
  if (!framing.without_body) to += response.body;
}

}  // namespace headgate::http
