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

#ifndef HEADGATE_SERVER_RPC_OPEN_CONNECTIONS_H_
#define HEADGATE_SERVER_RPC_OPEN_CONNECTIONS_H_

#include <sys/types.h>

#include <cstddef>

#include "absl/container/flat_hash_map.h"

namespace headgate::rpc {

class OpenConnections {
 public:
  explicit OpenConnections(size_t most) : most_(most) {}

  // Before it is handed over. False: it would be one too many, as of the last Sweep.
  bool Add(int fd);
  // Forgets those that are closed: about 0.2 us each.
  void Sweep();
  // As of the last Sweep.
  size_t count() const { return inodes_.size(); }
  size_t most() const { return most_; }

 private:
  const size_t most_;
  absl::flat_hash_map<int, ino_t> inodes_;  // by number
};

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_OPEN_CONNECTIONS_H_
