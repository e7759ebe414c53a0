// The callers of the HTTP benchmark: another process that does what its standard input says.
//
//   connect N    so many connections in all, each with one HEAD answered
//   check N      so many Checks, on the first 64 connections, one at a time on each
//   heads N      N times a HEAD on each connection, each of them ten times a second
//   settle       reports every permit that it holds
//
// It answers each line with one of its own: the 99th percentile of the latencies, in microseconds.
// The identities are those of rpc_load.h.

#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/strings.h"

namespace headgate::bench {

class HttpLoad {
 public:
  static constexpr size_t kOutstanding = 64;

  explicit HttpLoad(int port) : port_(port), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}
  HttpLoad(const HttpLoad&) = delete;
  HttpLoad& operator=(const HttpLoad&) = delete;
  ~HttpLoad() {
    for (const Connection& connection : connections_) close(connection.socket);
    close(epoll_);
  }

  // Until the input ends.
  void Obey() {
    std::string what;
    size_t count = 0;
    while (std::cin >> what) {
      latencies_us_.clear();
      if (what == "settle") {
        Settle();
      } else if (std::cin >> count) {
        if (what == "connect") Connect(count);
        if (what == "check") Checks(count);
        if (what == "heads") Heads(count);
      }
      std::cout << Percentile99() << std::endl;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    int socket = -1;
    Clock::time_point began = {};
    std::string answer = {};
  };

  [[noreturn]] static void Fail(const std::string& what) {
    std::fprintf(stderr, "benchmark is broken: %s\n", what.c_str());
    std::exit(1);
  }

  static std::string Post(const std::string& path, const std::string& body) {
    return absl::StrCat("POST ", path,
                        " HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: "
                        "*/*\r\nContent-Type: application/json\r\nContent-Length: ",
                        body.size(), "\r\n\r\n", body);
  }

  void Connect(size_t count) {
    while (connections_.size() < count) {
      Connection one{.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
      sockaddr_in to = {};
      to.sin_family = AF_INET;
      to.sin_port = htons(static_cast<uint16_t>(port_));
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (connect(one.socket, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
        Fail("no connection");
      }
      const int on = 1;
      setsockopt(one.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      epoll_event event = {.events = EPOLLIN, .data = {.u64 = connections_.size()}};
      epoll_ctl(epoll_, EPOLL_CTL_ADD, one.socket, &event);
      connections_.push_back(std::move(one));
      Send(connections_.size() - 1, kHead);
      while (Receive(-1, /*has_body=*/false) == 0) {
      }
    }
  }

  void Send(size_t number, std::string_view request) {
    Connection& connection = connections_[number];
    connection.answer.clear();
    connection.began = Clock::now();
    if (send(connection.socket, request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size())) {
      Fail("a request is not taken");
    }
  }

  static size_t BodyBytes(std::string_view head) {
    constexpr std::string_view kLength = "Content-Length: ";
    size_t bytes = 0;
    const size_t at = head.find(kLength);
    if (at == std::string_view::npos) return 0;
    const std::string_view rest = head.substr(at + kLength.size());
    if (!absl::SimpleAtoi(Sv(rest.substr(0, rest.find('\r'))), &bytes)) Fail("no length");
    return bytes;
  }

  // How many answers have come whole, which are in `ready_`.
  size_t Receive(int wait_ms, bool has_body) {
    ready_.clear();
    std::array<epoll_event, 256> events;
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), wait_ms);
    for (int i = 0; i < count; ++i) {
      const size_t number = events[static_cast<size_t>(i)].data.u64;
      Connection& connection = connections_[number];
      std::array<char, 4096> some;
      const ssize_t size = recv(connection.socket, some.data(), some.size(), 0);
      if (size <= 0) Fail("a connection broke");
      connection.answer.append(some.data(), static_cast<size_t>(size));
      const size_t head = connection.answer.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      const size_t body = has_body ? BodyBytes(connection.answer) : 0;
      if (connection.answer.size() < head + 4 + body) continue;
      if (!connection.answer.starts_with("HTTP/1.1 200")) Fail(connection.answer);
      const std::chrono::duration<double, std::micro> took = Clock::now() - connection.began;
      latencies_us_.push_back(took.count());
      ready_.push_back(number);
    }
    return ready_.size();
  }

  void Checks(size_t count) {
    size_t sent = 0;
    const auto next = [&](size_t number) {
      char id[9];
      std::snprintf(id, sizeof(id), "%08x", static_cast<unsigned>(sent * 7919 % kIdentities));
      const std::string body = absl::StrCat(
          R"({"identity":"d666bbfc_)", id,
          R"(_11ef_b0b3_0a43f95f28a3:vcopier:vreplication:online-ddl","estimated_cost":1})");
      ++sent;
      Send(number, Post("/v1/check", body));
    };
    for (size_t i = 0; i < kOutstanding; ++i) next(i);
    for (size_t done = 0; done < count;) {
      done += Receive(-1, /*has_body=*/true);
      for (const size_t number : ready_) {
        KeepPermit(connections_[number].answer);
        if (sent < count) next(number);
      }
    }
  }

  void KeepPermit(std::string_view answer) {
    constexpr std::string_view kPermit = "\"permit_id\":\"";
    const size_t at = answer.find(kPermit);
    if (at == std::string_view::npos) Fail("a Check was not allowed");
    const std::string_view rest = answer.substr(at + kPermit.size());
    permits_.emplace_back(rest.substr(0, rest.find('"')));
  }

  void Settle() {
    while (!permits_.empty()) {
      std::string body = R"({"reports":[)";
      for (int i = 0; i < 1000 && !permits_.empty(); ++i) {
        absl::StrAppend(&body, i == 0 ? "" : ",", R"({"permit_id":")", permits_.back(),
                        R"(","actual_cost":1})");
        permits_.pop_back();
      }
      Send(0, Post("/v1/report", body + "]}"));
      while (Receive(-1, /*has_body=*/true) == 0) {
      }
    }
  }

  // Evenly, as a thousand clients do that know nothing of each other.
  void Heads(size_t rounds) {
    const size_t total = rounds * connections_.size();
    const auto between = std::chrono::nanoseconds(100'000'000 / connections_.size());
    const Clock::time_point start = Clock::now();
    size_t sent = 0, done = 0;
    while (done < total) {
      while (sent < total && Clock::now() >= start + between * sent) {
        Send(sent % connections_.size(), kHead);
        ++sent;
      }
      done += Receive(0, /*has_body=*/false);
    }
  }

  double Percentile99() {
    if (latencies_us_.empty()) return 0;
    const auto at = static_cast<std::ptrdiff_t>(latencies_us_.size() * 99 / 100);
    std::nth_element(latencies_us_.begin(), latencies_us_.begin() + at, latencies_us_.end());
    return latencies_us_[static_cast<size_t>(at)];
  }

  static constexpr size_t kIdentities = 1000;
  // As gh-ost asks.
  static constexpr std::string_view kHead =
      "HEAD /check/orders:online-ddl/mysql/main HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: "
      "Go-http-client/1.1\r\n\r\n";

  const int port_;
  const int epoll_;
  std::vector<Connection> connections_;
  std::vector<size_t> ready_;
  std::vector<double> latencies_us_;
  std::vector<std::string> permits_;
};

}  // namespace headgate::bench
