// HttpServer: a port that speaks HTTP/1.1, in plaintext and, where it has certificates, over TLS.
//
// One thread serves all connections, with Boost.Asio, and handlers run on it. Nobody can hold it:
// - a request has to be there within a time and sizes, and so does the reading of its response; a
//   connection that says nothing is closed after a while;
// - of connections whose TLS is not agreed on yet there are 128 at most: for another one that goes
//   which has been at it longest;
// - when there are too many connections, the one goes that has been waited for longest; an eighth
//   of all is never put off, so that there is always one that may go;
// - what requests and responses take beyond a few kilobytes each has one bound for all of them.
// Errors of sockets and exceptions end connections, never the port; for want of open files it waits
// a moment before it accepts the next one.
//
// Thread-safe. Its end comes when the thread has ended, and whoever waited was told.
//
//   auto server = HttpServer::Start({.address = "127.0.0.1:8080"}, clock, handler);
//   if (!server.ok()) return server.status();
//   ... (*server)->port() ...

#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/serve/http/handler.h"

namespace headgate::http {

// What may be changed while it runs.
struct HttpLimits {
  // Fewer where the process may open few files.
  size_t max_connections = 4096;
  size_t max_body_bytes = size_t{4} << 20;
  absl::Duration max_age = absl::Minutes(30);  // then a connection ends with its answer
};

struct HttpServerOptions {
  std::string address = "127.0.0.1:8080";  // as host_port.h has it; port 0 picks a free one
  HttpLimits limits = {};
  size_t max_header_bytes = size_t{16} << 10;
  // What all may have together beyond a few kilobytes each. Two of the largest bodies have room at
  // least.
  size_t max_shared_bytes = size_t{32} << 20;
  absl::Duration request_timeout = absl::Seconds(5);    // from its first byte to its last
  absl::Duration idle_timeout = absl::Minutes(2);       // between requests
  absl::Duration response_timeout = absl::Seconds(10);  // until the caller has read it
  // What connections that begin with TLS get; asked for each one. Null: there is only plaintext.
  std::function<std::shared_ptr<SSL_CTX>()> tls = nullptr;
};

struct HttpConnectionCounts {
  int64_t open = 0;  // now
  int64_t max_open = 0;
  int64_t accepted = 0;  // ever
  int64_t evicted = 0;   // ever, for others to have room
};

class HttpServer {
 public:
  // Clock and handler outlive it. Unavailable: the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                           Clock& clock, Handler& handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // For requests and connections to come, soon after this returns.
  void SetLimits(const HttpLimits& limits);

  int port() const { return port_; }
  HttpConnectionCounts connections() const;

 private:
  class Port;

  HttpServer(std::unique_ptr<Port> port, int number);

  const std::unique_ptr<Port> server_;
  const int port_;
};

}  // namespace headgate::http
