// Callers that wait, each with a call of its own, on connections that are read by the byte: so it
// is known of each answer whether it went over the wire, even where its caller had left by then. A
// gRPC client that cancels does not tell.
//
// Thread-compatible.
//
//   RawCallers callers(server.port(), {CheckOf("job:etl", 10), ...});
//   callers.Cancel(0);
//   for (const RawCallers::Answer& answer : callers.Hear()) ... answer.caller, answer.decision ...

#pragma once

#include <headgate/v1/throttler_service.pb.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/govern/tls/raw_caller.h"

namespace headgate::rpc {

class RawCallers {
 public:
  struct Answer {
    size_t caller;
    v1::Decision decision;
  };

  // One for each request.
  RawCallers(int port, const std::vector<v1::CheckRequest>& requests) {
    for (size_t i = 0; i < requests.size(); ++i) {
      if (i % kCallsEach == 0) connections_.emplace_back(port).socket.SendAll(tls::kPreface);
      connections_.back().socket.SendAll(tls::Call(
          StreamOf(i), "/headgate.v1.ThrottlerService/Check", requests[i].SerializeAsString()));
    }
  }

  size_t size() const { return connections_.size() * kCallsEach; }
  void Cancel(size_t caller) {
    constexpr char kReset = 3;
    constexpr uint32_t kCancel = 8;
    connections_[caller / kCallsEach].socket.SendAll(
        tls::Frame(kReset, 0, StreamOf(caller), tls::Number(kCancel, 4)));
  }
  // All connections are lost, as the server sees it. What it had sent can be heard still.
  void HangUp() {
    for (const Connection& each : connections_) shutdown(each.socket.fd(), SHUT_WR);
  }
  // The answers that have come since it was called last.
  std::vector<Answer> Hear() {
    constexpr char kData = 0;
    constexpr size_t kPrefix = 5;  // of each message
    std::vector<Answer> heard;
    for (size_t i = 0; i < connections_.size(); ++i) {
      Connection& its = connections_[i];
      size_t before = 0;
      do {
        before = its.bytes.size();
        its.socket.Receive(absl::ZeroDuration(), its.bytes);
      } while (its.bytes.size() > before);
      while (const auto frame = tls::TakeFrame(its.bytes)) {
        if (frame->type != kData || frame->payload.size() < kPrefix) continue;
        v1::CheckResponse response;
        EXPECT_TRUE(response.ParseFromString(frame->payload.substr(kPrefix)));
        heard.push_back({i * kCallsEach + frame->stream / 2, response.decision()});
      }
    }
    return heard;
  }

 private:
  static constexpr size_t kCallsEach = 100;
  struct Connection {
    explicit Connection(int port) : socket(port) {}
    tls::Raw socket;
    std::string bytes = {};
  };

  static uint32_t StreamOf(size_t caller) {
    return static_cast<uint32_t>(2 * (caller % kCallsEach) + 1);
  }

  std::deque<Connection> connections_;
};

}  // namespace headgate::rpc
