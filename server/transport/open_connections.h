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
//   for (const auto& [fd, bytes] : connections.TakeBrought().all) {
//     if (bytes > 1 << 30) connections.Cut(fd);
//   }

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/transport/input_limit.h"
#include "server/transport/memory_limit.h"

namespace headgate::transport {

class OpenConnections {
 public:
  explicit OpenConnections(size_t max_open) : max_open_(max_open) {}

  // Before it is handed over. False: it would be one too many, as of the last Sweep.
  bool Add(int fd);
  // Forgets those that are closed: about 0.2 us each.
  void Sweep();
  // What each has brought, where it is anything: as the kernel counts, TLS and all. From what is
  // unanswered a byte of an answer takes off eight, so that it may be less than before: negative.
  struct Brought {
    std::vector<InputLimit::Brought> all;
    std::vector<InputLimit::Brought> unanswered;
  };
  // Since the last call. About 0.5 us each.
  Brought TakeBrought();
  // Over the last minutes, as of the last TakeBrought.
  MemoryLimit::Bytes Unanswered() const;
  // Nothing more goes through it, and its owner finds it closed. False: it is gone already.
  bool Cut(int fd) const;
  // As of the last Sweep.
  size_t count() const { return connections_.size(); }
  size_t max_open() const { return max_open_; }

 private:
  struct Connection {
    ino_t inode;
    // Bytes, as of the last TakeBrought.
    uint64_t brought = 0;
    uint64_t sent = 0;
    int64_t unanswered = 0;
  };

  const size_t max_open_;
  absl::flat_hash_map<int, Connection> connections_;  // by number
};

}  // namespace headgate::transport
