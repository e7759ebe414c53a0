// Acceptor: takes connections from a listener's sockets and hands them to the gRPC server.
//
// gRPC 1.51 would do this itself, but without a limit, and it stops listening for good once a
// connection cannot be accepted for want of open files. Here
// - so many connections are open at most; further ones are closed at once, and counted. Room that a
//   closed connection left is found within 100 ms;
// - when there are no open files left the newest connections are closed, and whoever comes later is
//   served once there are some again;
// - whatever the sockets say, the listener stays;
// - connections that bring more than the server could answer are closed (see InputLimit);
// - so are those that make the process grow beyond what callers may take (see MemoryLimit);
// - no connection has more than 128 KiB waiting in the kernel.
//
// One thread, asleep but for new connections, forty looks a second at the memory and ten for closed
// connections. Thread-safe, except that Start and Stop are called once, by one thread.
//
//   Acceptor acceptor(*std::move(listener), {.max_connections = 4096});
//   acceptor.Start([&](int listener, int connection) { ... });
//   ... acceptor.counts().open ...
//   acceptor.Stop();

#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/file_descriptor.h"
#include "common/mutex.h"
#include "server/transport/input_limit.h"
#include "server/transport/listener.h"
#include "server/transport/memory_limit.h"
#include "server/transport/open_connections.h"

namespace headgate::transport {

struct ConnectionCounts {
  int64_t open = 0;  // now
  int64_t max_open = 0;
  int64_t accepted = 0;  // ever
  int64_t refused = 0;   // ever, for want of room
  int64_t failed = 0;    // ever, for want of open files or of the kernel's memory
  int64_t cut = 0;       // ever, since they brought too much
};

struct AcceptorOptions {
  size_t max_connections = 4096;
  // How long what was sent may stay unacknowledged before the kernel gives a connection up.
  absl::Duration unacknowledged = absl::Seconds(20);
  InputLimit::Options input = {};
  // Of what is not answered. Honest callers have next to none.
  InputLimit::Options unanswered = {.bytes_per_second = int64_t{8} << 20,
                                    .burst = int64_t{48} << 20};
  MemoryLimit::Options memory = {};
  // By how many bytes the process has grown; null: nobody looks.
  std::function<int64_t()> grown = nullptr;
};

class Acceptor {
 public:
  // Owns the connection from then on. Called by the acceptor's thread.
  using HandOver = std::function<void(int listener, int connection)>;

  Acceptor(Listener listener, const AcceptorOptions& options);
  ~Acceptor() { Stop(); }
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  int port() const { return listener_.port(); }
  // An error: no open files for the acceptor itself.
  absl::Status Start(HandOver hand_over);
  // Closes the listener; who waits in its queue is refused. Connections stay open.
  void Stop();

  ConnectionCounts counts();

 private:
  enum class Took { kOne, kNone, kStarved };

  void Run();
  void Tick();
  void Look(int64_t grown) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Cut(const std::vector<int>& connections) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeAll(int socket);
  Took TakeOne(int socket);
  Took MakeRoom(int socket);
  void Welcome(int socket, FileDescriptor connection);
  void Tune(int connection) const;

  const AcceptorOptions options_;
  Listener listener_;
  HandOver hand_over_;
  FileDescriptor stop_;   // an eventfd
  FileDescriptor clock_;  // a timerfd
  FileDescriptor spare_;  // given up for a moment when there is no other
  bool starved_ = false;  // until the next tick; the thread's

  Mutex mutex_;
  OpenConnections connections_ ABSL_GUARDED_BY(mutex_);
  InputLimit input_ ABSL_GUARDED_BY(mutex_);
  InputLimit unanswered_ ABSL_GUARDED_BY(mutex_);
  MemoryLimit memory_ ABSL_GUARDED_BY(mutex_);
  absl::Duration since_look_ ABSL_GUARDED_BY(mutex_);
  ConnectionCounts counts_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace headgate::transport
