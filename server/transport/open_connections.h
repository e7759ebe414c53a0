// OpenConnections: how many of the connections that were handed to somebody else are still open.
//
// The new owner closes a connection without a word, and its number may be another file's by then.
// So the connection is known by its inode too, which the kernel gives to one socket only: where the
// number is closed or names another inode, the connection is gone. A second descriptor would tell
// the end at once, but take twice as many open files, which is what is to be kept low here.
//
// Thread-compatible.
//
//   if (connections.Add(fd)) HandOver(fd);
//   connections.Sweep();  // from time to time
//   for (const auto& [fd, bytes] : connections.TakeBrought()) {
//     if (bytes > 1 << 30) connections.Cut(fd);
//   }

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/transport/input_limit.h"

namespace headgate::transport {

class OpenConnections {
 public:
  explicit OpenConnections(size_t most) : most_(most) {}

  // Before it is handed over. False: it would be one too many, as of the last Sweep.
  bool Add(int fd);
  // Forgets those that are closed: about 0.2 us each.
  void Sweep();
  // What each has brought since the last call, where it is anything: as the kernel counts, TLS and
  // all. About 0.5 us each.
  std::vector<InputLimit::Brought> TakeBrought();
  // Nothing more goes through it, and its owner finds it closed. False: it is gone already.
  bool Cut(int fd) const;
  // As of the last Sweep.
  size_t count() const { return connections_.size(); }
  size_t most() const { return most_; }

 private:
  struct Connection {
    ino_t inode;
    uint64_t brought = 0;  // bytes, as of the last TakeBrought
  };

  const size_t most_;
  absl::flat_hash_map<int, Connection> connections_;  // by number
};

}  // namespace headgate::transport
