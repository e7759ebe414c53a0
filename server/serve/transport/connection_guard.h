// ConnectionGuard: what looks at a connection's bytes before their reader has them
// (guarded_files.h).

#pragma once

#include <string_view>

namespace headgate::transport {

class ConnectionGuard {
 public:
  virtual ~ConnectionGuard() = default;

  // Whether it looks at frames of HTTP/2, and not at what comes before them.
  virtual bool SeesFrames() const = 0;
  // What the caller sent. False: nobody must have it, nor anything after it.
  virtual bool Receive(std::string_view bytes) = 0;
  // What the server sent.
  virtual void Send(std::string_view /*bytes*/) {}

 protected:
  ConnectionGuard() = default;
  ConnectionGuard(const ConnectionGuard&) = default;
  ConnectionGuard& operator=(const ConnectionGuard&) = default;
};

}  // namespace headgate::transport
