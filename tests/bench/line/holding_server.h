// A gRPC server that keeps the calls of Check and never answers: what it takes of memory is what
// gRPC takes for calls that wait, whoever keeps them.
//
// It is this program once more, told what to do line by line: HoldCalls is what that one runs.
//
//   HoldingServer server;                         // in the benchmark
//   const WaitingCalls calls(server.port(), 10'000, "etl");
//   ... server.RssBytesWith(10'000) ...
//
//   if (argument == kHoldCalls) return HoldCalls();  // in its main()

#pragma once

#include <string_view>

#include "tests/bench/other_process.h"

namespace headgate::bench {

inline constexpr std::string_view kHoldCalls = "--hold-calls";

class HoldingServer {
 public:
  HoldingServer();

  int port() const { return port_; }
  // Of the server's process, once it has so many calls.
  double RssBytesWith(int calls);

 private:
  OtherProcess process_;
  int port_;
};

// Until its input ends; the exit status.
int HoldCalls();

}  // namespace headgate::bench
