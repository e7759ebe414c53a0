#include "server/serve/http/http_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <list>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/serve/http/connection.h"
#include "server/serve/http/stream.h"
#include "server/serve/transport/listener.h"

namespace headgate::http {
namespace {

using boost::asio::ip::tcp;
using Error = boost::system::error_code;

// Without open files accept() fails at once, time and again.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
// How late a connection may be closed whose time is up.
constexpr auto kSweepInterval = std::chrono::milliseconds(250);
// Before it is tried again to go on at all.
constexpr int kGoOnPauseMs = 10;
constexpr size_t kKeptBytes = size_t{64} << 10;
// Handshakes at a time, for each of which OpenSSL may take 128 KiB.
constexpr size_t kMostOpening = 128;

// As gRPC writes it, so that addresses are read in one way.
std::string AddressOf(const tcp::endpoint& peer) {
  boost::asio::ip::address address = peer.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6());
  }
  const std::string host = address.to_string();
  return address.is_v4() ? absl::StrCat("ipv4:", host, ":", peer.port())
                         : absl::StrCat("ipv6:%5B", host, "%5D:", peer.port());
}

// An eighth of the files is for connections here: gRPC leaves 192 of them to others.
size_t MaxConnections(size_t wanted) {
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return wanted;
  return std::clamp<size_t>(files.rlim_cur / 8, std::min<size_t>(16, wanted), wanted);
}

tcp ProtocolOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4();
}

}  // namespace

class HttpServer::Port final : private ConnectionOwner {
 public:
  Port(const HttpServerOptions& options, Clock& clock, Handler& handler)
      : options_(options),
        clock_(clock),
        handler_(handler),
        limits_{.max_header_bytes = options.max_header_bytes} {
    Take(options.limits);
  }

  void Run(const transport::Listener& listener) {
    for (const FileDescriptor& socket : listener.sockets()) {
      const int own = fcntl(socket.number(), F_DUPFD_CLOEXEC, 0);
      Error ignored;
      acceptors_.emplace_back(io_).socket.assign(ProtocolOf(own), own, ignored);
    }
    thread_ = std::thread([this] { Serve(); });
  }
  void SetLimits(const HttpLimits& limits) {
    boost::asio::post(io_, [this, limits] { Take(limits); });
  }
  // Whatever was posted before is still done.
  void Stop() {
    try {
      boost::asio::post(io_, [this] {
        while (!opening_.empty()) opening_.front()->Close();
        while (!loose_.empty()) loose_.front()->Close();
        while (!deferred_.empty()) deferred_.front()->Close();
        io_.stop();
      });
    } catch (const std::exception&) {  // there is no memory to say so
      io_.stop();
    }
    thread_.join();
  }
  HttpConnectionCounts counts() const {
    // relaxed, all: numbers that order nothing.
    return {.open = open_.load(std::memory_order_relaxed),
            .max_open = max_open_.load(std::memory_order_relaxed),
            .accepted = accepted_.load(std::memory_order_relaxed),
            .evicted = evicted_.load(std::memory_order_relaxed)};
  }

 private:
  using Connections = std::list<std::shared_ptr<Connection>>;

  struct Acceptor {
    explicit Acceptor(boost::asio::io_context& io) : socket(io) {}

    tcp::acceptor socket;
    bool is_waiting = false;  // for the next connection, or for a moment
  };

  // An exception, as for want of memory, ends what it was about, and neither the port nor others.
  void Serve() {
    for (;;) {
      bool goes_on = false;
      try {
        GoOn();
        goes_on = true;
        io_.run();
        return;
      } catch (const std::exception&) {
        if (!goes_on) poll(nullptr, 0, kGoOnPauseMs);
      }
    }
  }
  // With all that has to go on for as long as the port is there, and may have been kept from it.
  void GoOn() {
    Sweep();
    for (Acceptor& acceptor : acceptors_) {
      if (!acceptor.is_waiting) Accept(acceptor);
    }
  }

  void Take(const HttpLimits& limits) {
    max_connections_ = MaxConnections(limits.max_connections);
    max_open_.store(static_cast<int64_t>(max_connections_), std::memory_order_relaxed);
    limits_.max_body_bytes = limits.max_body_bytes;
    max_shared_bytes_ = std::max(options_.max_shared_bytes, 2 * limits.max_body_bytes);
    max_age_ = limits.max_age;
  }

  void Accept(Acceptor& acceptor) {
    acceptor.is_waiting = false;
    acceptor.socket.async_accept([this, &acceptor](Error error, tcp::socket socket) {
      acceptor.is_waiting = false;
      if (!error) {
        Welcome(std::move(socket));
        return Accept(acceptor);
      }
      auto pause = std::make_shared<boost::asio::steady_timer>(io_, kAcceptPause);
      pause->async_wait([this, &acceptor, pause](Error /*error*/) { Accept(acceptor); });
      acceptor.is_waiting = true;
    });
    acceptor.is_waiting = true;
  }

  void Welcome(tcp::socket socket) {
    Error error;
    const tcp::endpoint peer = socket.remote_endpoint(error);
    if (!error) socket.non_blocking(true, error);
    if (!error) socket.set_option(tcp::no_delay(true), error);
    if (error) return;  // it is gone already
    MakeRoom();
    const std::shared_ptr<SSL_CTX> tls = options_.tls == nullptr ? nullptr : options_.tls();
    std::unique_ptr<Stream> stream = tls == nullptr ? MakePlainStream(std::move(socket))
                                                    : MakeEitherStream(std::move(socket), tls);
    opening_.push_back(std::make_shared<Connection>(static_cast<ConnectionOwner&>(*this),
                                                    std::move(stream), AddressOf(peer)));
    accepted_.fetch_add(1, std::memory_order_relaxed);
    CountOpen();
    opening_.back()->Start(std::prev(opening_.end()));
  }

  // What has come with a connection is read before the next one is accepted: only who dawdles can
  // be pushed out by others.
  void MakeRoom() {
    while (opening_.size() >= kMostOpening) Evict(opening_);
    while (open() >= max_connections_ && !loose_.empty()) Evict(loose_);
    while (open() >= max_connections_ && !opening_.empty()) Evict(opening_);
  }
  void Evict(Connections& connections) {
    evicted_.fetch_add(1, std::memory_order_relaxed);
    connections.front()->Close();
  }

  void Sweep() {
    sweep_.expires_after(kSweepInterval);
    sweep_.async_wait([this](Error error) {
      if (error) return;
      CloseOverdue(opening_);
      CloseOverdue(loose_);
      Sweep();
    });
  }
  void CloseOverdue(Connections& connections) {
    const int64_t now_ns = NowNs();
    for (auto next = connections.begin(); next != connections.end();) {
      const std::shared_ptr<Connection> connection = *next++;
      if (connection->deadline_ns() < now_ns) connection->Close();
    }
  }

  size_t open() const { return opening_.size() + loose_.size() + deferred_.size(); }
  void CountOpen() { open_.store(static_cast<int64_t>(open()), std::memory_order_relaxed); }

  Connections& Of(Kind kind) {
    switch (kind) {
      case Kind::kOpening:
        return opening_;
      case Kind::kLoose:
        return loose_;
      case Kind::kDeferred:
        break;
    }
    return deferred_;
  }

  Handler& handler() override { return handler_; }
  const RequestLimits& request_limits() const override { return limits_; }
  int64_t NowNs() override { return clock_.Read().monotonic_ns; }
  const std::string& DateLine() override {
    const int64_t now_s = absl::ToUnixSeconds(clock_.Read().wall());
    if (now_s != date_s_) {
      date_s_ = now_s;
      date_line_ = absl::FormatTime("Date: %a, %d %b %Y %H:%M:%S GMT\r\n",
                                    absl::FromUnixSeconds(now_s), absl::UTCTimeZone());
    }
    return date_line_;
  }
  Response& ScratchResponse() override {
    std::string body = std::move(response_.body);
    body.clear();
    if (body.capacity() > kKeptBytes) body = {};
    response_ = Response();
    response_.body = std::move(body);
    return response_;
  }
  std::string& ScratchText() override {
    text_.clear();
    if (text_.capacity() > kKeptBytes) text_ = {};
    return text_;
  }
  bool Reserve(size_t before, size_t after) override {
    if (after > before && shared_bytes_ - before + after > max_shared_bytes_) return false;
    shared_bytes_ = shared_bytes_ - before + after;
    return true;
  }
  bool MayDefer() const override {
    return deferred_.size() + std::max<size_t>(max_connections_ / 8, 1) < max_connections_;
  }
  void Move(Place place, Kind from, Kind to) override {
    Of(to).splice(Of(to).end(), Of(from), place);
  }
  void Remove(Place place, Kind kind) override {
    Of(kind).erase(place);
    CountOpen();
  }
  void Post(std::function<void()> run) override { boost::asio::post(io_, std::move(run)); }
  int64_t RequestTimeoutNs() const override {
    return absl::ToInt64Nanoseconds(options_.request_timeout);
  }
  int64_t IdleTimeoutNs() const override { return absl::ToInt64Nanoseconds(options_.idle_timeout); }
  int64_t ResponseTimeoutNs() const override {
    return absl::ToInt64Nanoseconds(options_.response_timeout);
  }
  int64_t MaxAgeNs() const override { return absl::ToInt64Nanoseconds(max_age_); }

  const HttpServerOptions options_;
  Clock& clock_;
  Handler& handler_;
  std::atomic<int64_t> max_open_{0};
  std::atomic<int64_t> open_{0};
  std::atomic<int64_t> accepted_{0};
  std::atomic<int64_t> evicted_{0};
  // The thread's, all below.
  RequestLimits limits_;
  size_t max_connections_ = 0;
  size_t max_shared_bytes_ = 0;
  absl::Duration max_age_;
  // Destroyed before io_ are whatever has sockets of it.
  boost::asio::io_context io_{1};
  boost::asio::steady_timer sweep_{io_};
  std::list<Acceptor> acceptors_;
  // Those that have been so for longest in front.
  Connections opening_;
  Connections loose_;
  Connections deferred_;  // whose answers are put off
  size_t shared_bytes_ = 0;
  int64_t date_s_ = -1;
  std::string date_line_;
  Response response_;
  std::string text_;
  std::thread thread_;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                              Clock& clock, Handler& handler) {
  absl::StatusOr<transport::Listener> listener = transport::Listener::Open(options.address);
  if (!listener.ok()) {
    return absl::UnavailableError(absl::StrCat("HTTP: ", listener.status().message()));
  }
  auto port = std::make_unique<Port>(options, clock, handler);
  port->Run(*listener);
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(port), listener->port()));
}

HttpServer::HttpServer(std::unique_ptr<Port> port, int number)
    : server_(std::move(port)), port_(number) {}

HttpServer::~HttpServer() { server_->Stop(); }

void HttpServer::SetLimits(const HttpLimits& limits) { server_->SetLimits(limits); }

HttpConnectionCounts HttpServer::connections() const { return server_->counts(); }

}  // namespace headgate::http
