// A caller that speaks HTTP/2 by the byte, so that it can do what no gRPC library would.
//
//   const Raw deaf(port);
//   deaf.Send(Preface(0));  // no answer may have a body
//   deaf.Send(Call(1, "/grpc.health.v1.Health/Check", ""));

#ifndef HEADGATE_TESTS_TLS_RAW_CALLER_H_
#define HEADGATE_TESTS_TLS_RAW_CALLER_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "server/rpc/file_descriptor.h"

namespace headgate::tls {

class Raw {
 public:
  explicit Raw(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<in_port_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_.number(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  }
  // False: the server has closed it.
  bool Send(const std::string& bytes) const {
    return send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
           errno == EAGAIN;
  }
  // Waits until all of it is on its way.
  bool SendAll(const std::string& bytes) const {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t now =
          send(socket_.number(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now < 0) return false;
      sent += static_cast<size_t>(now);
    }
    return true;
  }
  // Reads until so many calls have the head of their answer, or were reset; or the connection ends.
  void AwaitHeads(size_t calls) const {
    std::string bytes;
    std::set<std::string> answered;  // streams, as they stand in frames
    char more[4096];
    while (answered.size() < calls) {
      const ssize_t got = recv(socket_.number(), more, sizeof(more), 0);
      if (got <= 0) return;
      bytes.append(more, static_cast<size_t>(got));
      for (size_t end = 0; (end = FrameEnd(bytes)) != 0; bytes.erase(0, end)) {
        if (bytes[3] == 1 || bytes[3] == 3) answered.insert(bytes.substr(5, 4));
      }
    }
  }
  // Reads whatever has come.
  bool IsClosed() const {
    char bytes[4096];
    for (;;) {
      const ssize_t got = recv(socket_.number(), bytes, sizeof(bytes), MSG_DONTWAIT);
      if (got > 0) continue;
      return got == 0 || errno != EAGAIN;
    }
  }

 private:
  // Of the first frame; 0: it is not all there.
  static size_t FrameEnd(const std::string& bytes) {
    if (bytes.size() < 9) return 0;
    size_t end = 0;
    for (int i = 0; i < 3; ++i) end = end << 8 | static_cast<unsigned char>(bytes[i]);
    end += 9;
    return bytes.size() < end ? 0 : end;
  }

  rpc::FileDescriptor socket_;
};

// The `bytes` low bytes of a number, highest first.
inline std::string Number(uint32_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

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

#endif  // HEADGATE_TESTS_TLS_RAW_CALLER_H_
