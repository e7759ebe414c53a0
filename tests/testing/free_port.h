// Ports of this machine that nobody listens at, for servers whose port has to be known before they
// start, or has to stay the same over their restarts.
//
// Thread-safe.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace headgate {

inline bool IsFree(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool free = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return free;
}

// Zero: there is none. Below the ports that the kernel gives to outgoing connections, or one of
// those could take the port while the server is down. Programs that run at the same time start at
// different places.
inline int FreePort() {
  constexpr int kFirst = 20'000;
  constexpr int kCount = 12'000;
  static std::atomic<unsigned> next = static_cast<unsigned>(getpid()) * 37;
  for (int tries = 0; tries < kCount; ++tries) {
    // Relaxed: all that matters is that no two callers get the same number.
    const int port =
        kFirst + static_cast<int>(next.fetch_add(1, std::memory_order_relaxed) % kCount);
    if (IsFree(port)) return port;
  }
  return 0;
}

}  // namespace headgate
