// A caller that speaks HTTP/2 by the byte, so that it can do what no gRPC library would.
//
//   const Raw deaf(port);
//   deaf.Send(Preface(0));  // no answer may have a body
//   deaf.Send(Call(1, "/grpc.health.v1.Health/Check", ""));

#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "tests/testing/raw_socket.h"

namespace headgate::tls {

// As many as the server takes at once.
inline constexpr int kCallsOnConnection = 128;

// The `bytes` low bytes of a number, highest first.
inline std::string Number(uint64_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

inline uint32_t NumberOf(std::string_view bytes) {
  uint32_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

struct ReceivedFrame {
  char type;
  char flags;
  uint32_t stream;
  std::string payload;
};

// The first frame, which is taken off; nothing: it is not all there.
inline std::optional<ReceivedFrame> TakeFrame(std::string& bytes) {
  constexpr size_t kHead = 9;
  if (bytes.size() < kHead) return std::nullopt;
  const std::string_view head = bytes;
  const size_t size = NumberOf(head.substr(0, 3));
  if (bytes.size() < kHead + size) return std::nullopt;
  ReceivedFrame frame = {bytes[3], bytes[4], NumberOf(head.substr(5, 4)),
                         bytes.substr(kHead, size)};
  bytes.erase(0, kHead + size);
  return frame;
}

class Raw : public RawSocket {
 public:
  using RawSocket::RawSocket;

  // False: the server has closed it.
  bool Send(const std::string& bytes) const {
    return send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
           errno == EAGAIN;
  }
  // Reads until so many calls have the head of their answer, or were reset; or the connection ends.
  void AwaitHeads(size_t calls) const {
    std::string bytes;
    std::set<uint32_t> answered;  // streams
    char more[4096];
    while (answered.size() < calls) {
      const ssize_t got = recv(fd(), more, sizeof(more), 0);
      if (got <= 0) return;
      bytes.append(more, static_cast<size_t>(got));
      while (const auto frame = TakeFrame(bytes)) {
        if (frame->type == 1 || frame->type == 3) answered.insert(frame->stream);
      }
    }
  }
  // Adds what has come, or comes within so long; false: the connection has ended.
  bool Receive(absl::Duration wait, std::string& bytes) const {
    pollfd ready = {.fd = fd(), .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(wait))) != 1) return true;
    char more[4096];
    const ssize_t got = recv(fd(), more, sizeof(more), 0);
    if (got > 0) bytes.append(more, static_cast<size_t>(got));
    return got > 0;
  }
  // From any thread: what waits for it fails.
  void End() const { shutdown(fd(), SHUT_RDWR); }
  // Reads whatever has come.
  bool IsClosed() const {
    char bytes[4096];
    for (;;) {
      const ssize_t got = recv(fd(), bytes, sizeof(bytes), MSG_DONTWAIT);
      if (got > 0) continue;
      return got == 0 || errno != EAGAIN;
    }
  }
};

inline std::string Frame(char type, char flags, uint32_t stream, const std::string& payload) {
  return Number(static_cast<uint32_t>(payload.size()), 3) + type + flags + Number(stream, 4) +
         payload;
}

// What an HTTP/2 client says first, with empty SETTINGS.
inline const std::string kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
                                  std::string("\0\0\0\4\0\0\0\0\0", 9));

// So many bytes of an answer may come before the caller asks for more.
inline std::string Preface(uint32_t window) {
  return kPreface.substr(0, kPreface.size() - 9) + Frame(4, 0, 0, Number(4, 2) + Number(window, 4));
}

inline std::string Headers(uint32_t stream, const std::string& path) {
  // :method POST, :scheme http, :path, :authority h, content-type application/grpc, te trailers; no
  // index is added.
  std::string headers("\x83\x86\x04", 3);
  headers += static_cast<char>(path.size()) + path;
  headers += std::string("\x01\x01h", 3);
  headers += std::string("\x0f\x10\x10", 3) + "application/grpc";
  headers += std::string("\x00\x02te\x08trailers", 13);
  return Frame(1, 4, stream, headers);
}

inline std::string Call(uint32_t stream, const std::string& path, const std::string& message) {
  const std::string body =
      Number(0, 1) + Number(static_cast<uint32_t>(message.size()), 4) + message;
  return Headers(stream, path) + Frame(0, 1, stream, body);
}

}  // namespace headgate::tls
