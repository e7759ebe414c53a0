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
//   for (const auto& [fd, bytes] : connections.TakeBrought(since_last).all) {
//     if (bytes > 1 << 30) connections.Cut(fd);
//   }

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "server/serve/transport/input_limit.h"
#include "server/serve/transport/memory_limit.h"
#include "server/serve/transport/taken_bytes.h"

namespace headgate::transport {

class OpenConnections {
 public:
  // `taken` outlives this; null: nobody tells what services have taken.
  explicit OpenConnections(size_t max_open, TakenBytes* taken = nullptr)
      : max_open_(max_open), taken_(taken) {}

  // Before it is handed over. False: it would be one too many, as of the last Sweep.
  bool Add(int fd);
  // Forgets those that are closed: about 0.2 us each.
  void Sweep();
  // What each has brought, where it is anything: as the kernel counts, TLS and all. From what is
  // unanswered a byte of an answer takes off eight, and what services have taken is taken off, so
  // that it may be less than before: negative.
  struct Brought {
    // What was brought since, and what is unanswered over the last minutes: of all but those of
    // whom services have just taken as much.
    MemoryLimit::Brought for_memory;
    std::vector<InputLimit::Brought> all;         // that was brought since
    std::vector<InputLimit::Brought> unanswered;  // since
  };
  // Since the last call, which was so long ago, and until the next one. About 0.5 us each, and no
  // memory: in a flood of allocations it takes long to get any.
  const Brought& TakeBrought(absl::Duration since_last);
  // As of the last TakeBrought; those that were cut have none.
  int64_t unanswered_bytes() const { return unanswered_bytes_; }
  // Those that were cut within two seconds and that their owner has not closed yet; likewise.
  size_t cut() const { return cut_; }
  // While the server stops, and no call is in progress: ends those through which nothing was sent
  // since it was asked so many times.
  void EndStill(int times);
  // Nothing more goes through it, and its owner finds it closed, without what has come and was not
  // read yet. False: it is gone already.
  bool Cut(int fd);
  // The same for one that holds nothing yet: nobody waits until its owner has closed it.
  bool End(int fd);
  // As of the last Sweep.
  size_t count() const { return connections_.size(); }
  size_t max_open() const { return max_open_; }

 private:
  struct Connection {
    ino_t inode;
    std::shared_ptr<TakenBytes::Connection> taken = nullptr;  // null: nobody tells
    // Bytes, as of the last TakeBrought.
    uint64_t brought = 0;
    uint64_t sent = 0;
    int64_t unanswered = 0;
    // What services have taken of it at once, and how long ago that was.
    int64_t taken_at_once = 0;
    absl::Duration since_taken = absl::ZeroDuration();
    bool is_cut = false;
    absl::Duration since_cut = absl::ZeroDuration();
    int still = 0;  // how often EndStill found nothing sent
  };

  static bool Disconnect(int fd, const Connection& connection);
  // Its messages are those of a caller who asks and is answered: no reason for memory that grows.
  static bool IsServed(const Connection& connection);
  // Room for what all of them bring.
  void Reserve();
  // What it has brought by now, after so long.
  void Count(int fd, absl::Duration since_last, Connection& connection);
  // Does something to the connection, and not to another file that has its number meanwhile.
  // False: it is gone, or could not be done.
  template <typename Act>
  static bool Do(int fd, const Connection& connection, Act act);

  const size_t max_open_;
  TakenBytes* const taken_;
  int64_t unanswered_bytes_ = 0;
  size_t cut_ = 0;
  Brought brought_;
  absl::flat_hash_map<int, Connection> connections_;  // by number
};

}  // namespace headgate::transport
