// From the bytes of an HTTP request to those of the response: GET and HEAD of a few paths, without
// a body, on a connection that ends with it.
//
// cpp-httplib parses and writes; connections are http_port.h's. What it offers beyond that is left
// out, since each is a way to make one small request cost much: ranges, compression, bodies.
//
// Thread-compatible. No exception leaves it.
//
//   HttpAnswer answer([](const std::string& path) -> HttpPage { return {200, "text/plain", "ok"};
//   }); std::string response = answer.To("GET /healthz HTTP/1.1\r\n\r\n");

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace headgate::web {

struct HttpPage {
  int status = 200;
  std::string content_type;
  std::string body;
};

class HttpAnswer {
 public:
  // Of the path, without a query.
  using Handler = std::function<HttpPage(const std::string& path)>;

  explicit HttpAnswer(Handler handler);
  ~HttpAnswer();

  // `head` ends with an empty line. Requests that are none are answered with an error as well.
  std::string To(std::string_view head);

 private:
  class Parser;

  const std::unique_ptr<Parser> parser_;
};

}  // namespace headgate::web
