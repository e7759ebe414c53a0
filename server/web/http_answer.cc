#include "server/web/http_answer.h"

#include <httplib.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace headgate::web {
namespace {

constexpr char kFailed[] =
    "HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

// A request that has come, and a response that is still to go. It has no socket: httplib would
// use select() on it, which breaks down beyond 1024 open files.
class Memory final : public httplib::Stream {
 public:
  explicit Memory(std::string_view in) : in_(in) {}

  std::string TakeOut() { return std::move(out_); }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t size) override {
    size = std::min(size, in_.size());
    std::memcpy(to, in_.data(), size);
    in_.remove_prefix(size);
    return static_cast<ssize_t>(size);
  }
  ssize_t write(const char* from, size_t size) override {
    out_.append(from, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  std::string_view in_;
  std::string out_;
};

}  // namespace

class HttpAnswer::Parser final : public httplib::Server {
 public:
  explicit Parser(HttpAnswer::Handler handler) : handler_(std::move(handler)) {
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      Answer(request, response);
      return HandlerResponse::Handled;  // before it would read a body
    });
  }

  std::string Process(std::string_view head) {
    Memory stream(head);
    bool closed = false;
    process_request(stream, /*close_connection=*/true, closed, [](httplib::Request& request) {
      request.ranges.clear();
      request.headers.erase("Accept-Encoding");
      request.headers.erase("Expect");
    });
    return stream.TakeOut();
  }

 private:
  void Answer(const httplib::Request& request, httplib::Response& response) const {
    if (request.method != "GET" && request.method != "HEAD") {
      response.status = 405;
      response.set_header("Allow", "GET, HEAD");
      response.set_content("only GET and HEAD\n", "text/plain");
      return;
    }
    HttpPage page = handler_(request.path);
    response.status = page.status;
    response.body = std::move(page.body);
    response.set_header("Content-Type", page.content_type);
    response.set_header("Cache-Control", "no-store");
  }

  const HttpAnswer::Handler handler_;
};

HttpAnswer::HttpAnswer(Handler handler) : parser_(std::make_unique<Parser>(std::move(handler))) {}
HttpAnswer::~HttpAnswer() = default;

std::string HttpAnswer::To(std::string_view head) {
  try {
    std::string response = parser_->Process(head);
    if (!response.empty()) return response;
  } catch (const std::exception&) {  // httplib says little about which it may let through
  }
  return kFailed;
}

}  // namespace headgate::web
