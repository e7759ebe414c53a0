#include "server/web/http_port.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/transport/listener.h"

namespace headgate::web {
namespace {

constexpr int kBacklog = 128;
constexpr absl::Duration kEndTimeout = absl::Seconds(1);
// Without open files accept() fails at once, time and again.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);
constexpr char kTooLarge[] =
    "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: "
    "0\r\n\r\n";

constexpr char kTooMany[] =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

// A socket that listens, or nothing and errno.
FileDescriptor ListenOn(const addrinfo& at) {
  FileDescriptor opened(
      socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol));
  if (!opened.ok()) return opened;
  // For connections of an earlier process that still wind down. Not SO_REUSEPORT: two servers would
  // share the port without a word.
  const int on = 1;
  setsockopt(opened.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(opened.number(), at.ai_addr, at.ai_addrlen) == 0 &&
      listen(opened.number(), kBacklog) == 0) {
    return opened;
  }
  return FileDescriptor();
}

int64_t ToNs(absl::Duration duration) { return absl::ToInt64Nanoseconds(duration); }

}  // namespace

absl::StatusOr<std::unique_ptr<HttpPort>> HttpPort::Listen(const HttpPortOptions& options,
                                                           Clock& clock, AtOnce at_once,
                                                           InTime in_time, Refused refused) {
  std::unique_ptr<HttpPort> port(
      new HttpPort(options, clock, std::move(at_once), std::move(refused)));
  if (absl::Status open = port->Open(); !open.ok()) return open;
  port->worker_ = std::make_unique<HttpWorker>(std::move(in_time), options.max_connections,
                                               [port = port.get()] { port->WakeUp(); });
  port->thread_ = std::thread(&HttpPort::Run, port.get());
  return port;
}

absl::Status HttpPort::Open() {
  const std::optional<HostPort> to = ParseHostPort(options_.address);
  if (!to.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("no port in '", options_.address, "'"));
  }
  if (absl::Status bound = Bind(*to); !bound.ok()) return bound;
  port_ = transport::PortOfSocket(listening_);
  wake_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.ok()) return absl::UnavailableError(absl::StrCat("eventfd: ", std::strerror(errno)));
  return absl::OkStatus();
}

absl::Status HttpPort::Bind(const HostPort& to) {
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &found);
  std::string why = error == 0 ? "" : gai_strerror(error);
  for (const addrinfo* at = found; at != nullptr && !listening_.ok(); at = at->ai_next) {
    listening_ = ListenOn(*at);
    if (!listening_.ok()) why = std::strerror(errno);
  }
  if (found != nullptr) freeaddrinfo(found);
  if (listening_.ok()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot listen on '", options_.address, "' for HTTP: ", why));
}

HttpPort::~HttpPort() {
  if (thread_.joinable()) {
    // relaxed: waking up orders it.
    stopping_.store(true, std::memory_order_relaxed);
    WakeUp();
    thread_.join();
  }
  worker_ = nullptr;  // only now: the port's thread asks it
  for (const Connection& connection : connections_) close(connection.socket);
}

void HttpPort::WakeUp() const {
  const uint64_t one = 1;
  (void)!write(wake_.number(), &one, sizeof(one));  // it fails where 2^64 others wait to be seen
}

void HttpPort::Run() {
  while (Await()) {
    RespondInTime();
    if (can_accept_) Accept();
  }
}

int HttpPort::WaitMs(int64_t now_ns) const {
  int64_t until_ns = accept_after_ns_ > now_ns ? accept_after_ns_ : -1;
  for (const Connection& connection : connections_) {
    if (until_ns < 0 || connection.deadline_ns < until_ns) until_ns = connection.deadline_ns;
  }
  if (until_ns < 0) return -1;
  return static_cast<int>(std::clamp<int64_t>((until_ns - now_ns) / 1'000'000 + 1, 0, 60'000));
}

bool HttpPort::Await() {
  int64_t now_ns = NowNs();
  std::vector<pollfd> ready = {{.fd = wake_.number(), .events = POLLIN, .revents = 0}};
  // A negative descriptor is passed over.
  ready.push_back(
      {.fd = accept_after_ns_ > now_ns ? -1 : listening_.number(), .events = POLLIN, .revents = 0});
  for (const Connection& connection : connections_) {
    pollfd one = {.fd = connection.socket, .events = POLLIN, .revents = 0};
    if (connection.state == State::kWaiting) one.events = 0;  // it may still hang up
    if (connection.state == State::kWriting) one.events = POLLOUT;
    ready.push_back(one);
  }
  poll(ready.data(), ready.size(), WaitMs(now_ns));  // an error: nothing is ready
  uint64_t woken = 0;
  if (ready[0].revents != 0) (void)!read(wake_.number(), &woken, sizeof(woken));
  if (stopping_.load(std::memory_order_relaxed)) return false;
  can_accept_ = ready[1].revents != 0;
  now_ns = NowNs();
  auto connection = connections_.begin();
  for (size_t i = 2; i < ready.size(); ++i) {
    const bool goes_on = ready[i].revents == 0 || Go(*connection);
    connection =
        goes_on && connection->deadline_ns > now_ns ? std::next(connection) : Close(connection);
  }
  return true;
}

void HttpPort::Accept() {
  for (int i = 0; i < kBacklog; ++i) {
    const int socket = accept4(listening_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) {
      if (errno == ECONNABORTED || errno == EINTR) continue;
      if (errno != EAGAIN) accept_after_ns_ = NowNs() + ToNs(kAcceptPause);
      return;
    }
    MakeRoom();
    connections_.push_back({.number = ++last_number_,
                            .socket = socket,
                            .state = State::kReading,
                            .deadline_ns = NowNs() + ToNs(options_.request_timeout),
                            .in = {},
                            .out = {},
                            .sent = 0});
    // Its request may be there already: more that say nothing must not push it out.
    if (!Go(connections_.back())) Close(std::prev(connections_.end()));
  }
}

void HttpPort::RespondInTime() {
  for (auto& [number, response] : worker_->Take()) {
    const auto of =
        std::find_if(connections_.begin(), connections_.end(),
                     [&, wanted = number](const auto& c) { return c.number == wanted; });
    if (of == connections_.end()) continue;  // it did not want to wait
    if (!Respond(*of, std::move(response))) Close(of);
  }
}

// One that is being answered has shown that it is there for a purpose.
void HttpPort::MakeRoom() {
  if (connections_.size() < options_.max_connections) return;
  auto oldest = std::find_if(connections_.begin(), connections_.end(),
                             [](const Connection& c) { return c.state == State::kReading; });
  if (oldest == connections_.end()) oldest = connections_.begin();
  Close(oldest);
}

bool HttpPort::Go(Connection& connection) {
  switch (connection.state) {
    case State::kReading:
      return Read(connection);
    case State::kWaiting:  // it hung up
      return false;
    case State::kWriting:
      return Write(connection);
    case State::kEnding:
      return Discard(connection);
  }
  return false;
}

bool HttpPort::Read(Connection& connection) {
  std::array<char, 4096> some;
  const ssize_t size = recv(connection.socket, some.data(), some.size(), 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  connection.in.append(some.data(), static_cast<size_t>(size));
  if (connection.in.find("\r\n\r\n") != std::string::npos) return Answer(connection);
  if (connection.in.size() <= options_.max_request_bytes) return true;
  refused_(431);
  return Respond(connection, kTooLarge);
}

bool HttpPort::Answer(Connection& connection) {
  connection.in.resize(connection.in.find("\r\n\r\n") + 4);
  std::optional<std::string> response = at_once_(connection.in);
  if (response.has_value()) return Respond(connection, *std::move(response));
  if (!worker_->Ask(connection.number, std::move(connection.in))) {
    refused_(503);
    return Respond(connection, kTooMany);
  }
  connection.state = State::kWaiting;
  connection.deadline_ns = NowNs() + ToNs(options_.response_timeout);
  return true;
}

bool HttpPort::Respond(Connection& connection, std::string response) {
  connection.state = State::kWriting;
  connection.out = std::move(response);
  connection.deadline_ns = NowNs() + ToNs(options_.response_timeout);
  return Write(connection);
}

bool HttpPort::Write(Connection& connection) {
  while (connection.sent < connection.out.size()) {
    const ssize_t size = send(connection.socket, connection.out.data() + connection.sent,
                              connection.out.size() - connection.sent, MSG_NOSIGNAL);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    connection.sent += static_cast<size_t>(size);
  }
  shutdown(connection.socket, SHUT_WR);
  connection.out = {};
  connection.state = State::kEnding;
  connection.deadline_ns = NowNs() + ToNs(kEndTimeout);
  return Discard(connection);
}

bool HttpPort::Discard(Connection& connection) {
  std::array<char, 4096> some;
  const ssize_t size = recv(connection.socket, some.data(), some.size(), 0);
  return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

HttpPort::Connections::iterator HttpPort::Close(Connections::iterator connection) {
  close(connection->socket);
  return connections_.erase(connection);
}

}  // namespace headgate::web
