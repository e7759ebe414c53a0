// Checks that wait on streams, many of them on each, one in a message.
//
//   WaitingStreams streams(port, {.streams = 100, .messages = 1000, .identity = "etl"});
//   streams.Send();
//   ... streams.Receive(1000) ...

#pragma once

#include <grpcpp/completion_queue.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"

namespace headgate::bench {

class WaitingStreams {
 public:
  struct Options {
    int streams = 1;
    int messages = 1;              // on each
    std::string identity = "etl";  // of whom each stream has a job
    double cost = 1;
    int64_t max_wait_seconds = 600;
  };
  // Opens them, on one connection for each hundred.
  WaitingStreams(int port, const Options& options);
  // Cancels what waits.
  ~WaitingStreams();
  WaitingStreams(const WaitingStreams&) = delete;
  WaitingStreams& operator=(const WaitingStreams&) = delete;

  // Returns when all are on their way.
  void Send();
  // When each of the next `count` answers came, all of which allow: monotonic nanoseconds.
  std::vector<int64_t> Receive(int count);

 private:
  struct Stream;

  void Write(Stream& stream);

  const Options options_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<v1::ThrottlerService::Stub>> stubs_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

// As many unary calls that wait, on a connection for each hundred.
class WaitingCalls {
 public:
  WaitingCalls(int port, int calls, const std::string& identity);
  ~WaitingCalls();
  WaitingCalls(const WaitingCalls&) = delete;
  WaitingCalls& operator=(const WaitingCalls&) = delete;

 private:
  struct Call;

  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<v1::ThrottlerService::Stub>> stubs_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::thread polling_;  // else nothing is sent
};

}  // namespace headgate::bench
