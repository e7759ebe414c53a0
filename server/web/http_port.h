// A port that answers HTTP requests: two threads, so many connections, one request on each.
//
// Nobody can hold it. A request has to be there within a time and a size, and so does the reading
// of its response; when there are too many connections, the oldest goes whose request is not whole.
// What has come with a connection is read before the next one is accepted: only who dawdles can be
// pushed out by others. What can be answered without waiting is answered on the port's thread,
// whatever else goes on; the rest by another thread, one after the other.
//
// Thread-safe. Errors of the sockets end connections, never the port; for want of open files it
// waits a moment before it accepts the next one.
//
//   auto port = HttpPort::Listen({.address = "127.0.0.1:8080"}, clock, at_once, in_time, refused);
//   if (!port.ok()) return port.status();
//   ... (*port)->port() ...

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/file_descriptor.h"
#include "common/host_port.h"
#include "server/web/http_worker.h"

namespace headgate::web {

struct HttpPortOptions {
  std::string address = "127.0.0.1:8080";  // as host_port.h has it; port 0 picks a free one
  size_t max_connections = 64;
  size_t max_request_bytes = 16 << 10;
  absl::Duration request_timeout = absl::Seconds(5);    // from connecting to the whole request
  absl::Duration response_timeout = absl::Seconds(10);  // until the caller has read the response
};

class HttpPort {
 public:
  // The whole response to a request, which ends with an empty line. Absent: it may take a while.
  using AtOnce = std::function<std::optional<std::string>(std::string_view request)>;
  // The same for what may take a while, on the other thread.
  using InTime = HttpWorker::Answer;
  // Told of each request that got this status without being passed to either: it was too large, or
  // too many waited. On the port's thread.
  using Refused = std::function<void(int status)>;

  // The clock outlives the port. Unavailable: the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<HttpPort>> Listen(const HttpPortOptions& options,
                                                          Clock& clock, AtOnce at_once,
                                                          InTime in_time, Refused refused);
  // Cuts what is open.
  ~HttpPort();
  HttpPort(const HttpPort&) = delete;
  HttpPort& operator=(const HttpPort&) = delete;

  int port() const { return port_; }

 private:
  enum class State : uint8_t {
    kReading,
    kWaiting,  // for the other thread
    kWriting,
    kEnding,  // all is sent; what the caller still says is not read, it would cut the response
  };
  struct Connection {
    uint64_t number = 0;  // no other ever has it
    int socket = -1;
    State state = State::kReading;
    int64_t deadline_ns = 0;
    std::string in;
    std::string out;
    size_t sent = 0;
  };
  using Connections = std::list<Connection>;  // the oldest first

  HttpPort(const HttpPortOptions& options, Clock& clock, AtOnce at_once, Refused refused)
      : options_(options),
        clock_(clock),
        at_once_(std::move(at_once)),
        refused_(std::move(refused)) {}

  absl::Status Open();
  absl::Status Bind(const HostPort& to);

  void WakeUp() const;
  void Run();
  // Until something can be done. False: stop.
  bool Await();
  int WaitMs(int64_t now_ns) const;
  void Accept();
  void MakeRoom();
  void RespondInTime();
  // All return whether the connection goes on.
  bool Read(Connection& connection);
  bool Write(Connection& connection);
  bool Discard(Connection& connection);
  bool Go(Connection& connection);
  bool Answer(Connection& connection);
  bool Respond(Connection& connection, std::string response);
  Connections::iterator Close(Connections::iterator connection);
  int64_t NowNs() const { return clock_.Read().monotonic_ns; }

  const HttpPortOptions options_;
  Clock& clock_;
  const AtOnce at_once_;
  const Refused refused_;
  int port_ = 0;
  FileDescriptor listening_;
  FileDescriptor wake_;  // an eventfd: there is something to respond, or the end
  std::atomic<bool> stopping_{false};
  bool can_accept_ = false;
  int64_t accept_after_ns_ = 0;
  uint64_t last_number_ = 0;
  Connections connections_;
  std::unique_ptr<HttpWorker> worker_;
  std::thread thread_;
};

}  // namespace headgate::web
