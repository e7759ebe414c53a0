// Neighbours: callers who harm, each in one way of its own, by malice or by mistake.
//
// Each is a function that sets its caller up and returns what it does again and again. One act
// takes some milliseconds; the runner paces them, so that what is measured is what the server lets
// a neighbour do to others and not how two processes share a processor. What becomes of an act is
// not looked at: it may be refused, and its connection closed.
//
//   const Act act = neighbour.begin({.port = server.port(), .http_port = server.http_port(),
//                                    .address = server.address()});
//   while (!stop) act();

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace headgate::bench {

struct AttackedServer {
  int port;  // of gRPC
  int http_port;
  std::string address;  // host:port, of gRPC
  std::string ca_file;  // of its certificate; empty: it speaks no TLS
};

using Act = std::function<void()>;

struct Neighbour {
  enum class Over : uint8_t { kPlaintext, kTls };  // what the server speaks, to the honest job too

  const char* name;
  Act (*begin)(const AttackedServer& server);
  Over over = Over::kPlaintext;
};

// The rules of the benchmark's policy that neighbours fall under. Their identities end so.
inline constexpr char kGuest[] = ":guest";
// The honest job names the same.
inline constexpr char kSharedPattern[] = "INSERT INTO orders";

// By means of HTTP/2 and below.
std::span<const Neighbour> WireNeighbours();
// By means of HTTP/1.1 and below.
std::span<const Neighbour> HttpNeighbours();
// By what is asked over HTTP.
std::span<const Neighbour> JsonNeighbours();
// By handshakes.
std::span<const Neighbour> TlsNeighbours();
// By Checks and Reports.
std::span<const Neighbour> CheckNeighbours();
// By all other calls.
std::span<const Neighbour> ReadNeighbours();

}  // namespace headgate::bench
