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
// - so are those that make callers hold more memory than they may, the less the less of it is
//   explained by what connections brought and calls that wait (see MemoryLimit);
// - there are so many handshakes of TLS at a time at most (see Greetings);
// - no connection has more than 128 KiB waiting in the kernel.
//
// Two threads: one accepts, and in it gRPC may read a connection for as long as that brings
// something; the other looks at the memory a hundred times a second, and ten times at the
// connections. Thread-safe, except that Start and Stop are called once, by one thread.
//
//   Acceptor acceptor(*std::move(listener), {.max_connections = 4096});
//   acceptor.Start([&](int listener, int connection) { ... });
//   ... acceptor.counts().open ...
//   acceptor.Stop();

#pragma once

#include <poll.h>

#include <atomic>
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
#include "server/serve/transport/greetings.h"
#include "server/serve/transport/input_limit.h"
#include "server/serve/transport/listener.h"
#include "server/serve/transport/memory_limit.h"
#include "server/serve/transport/open_connections.h"
#include "server/serve/transport/process_memory.h"
#include "server/serve/transport/taken_bytes.h"

namespace headgate::transport {

struct ConnectionCounts {
  int64_t open = 0;  // now
  int64_t max_open = 0;
  int64_t accepted = 0;  // ever
  int64_t refused = 0;   // ever, for want of room
  int64_t failed = 0;    // ever, for want of open files or of the kernel's memory
  int64_t cut = 0;       // ever, since they brought too much
  int64_t headers = 0;   // ever, for their headers
  int64_t greeting = 0;  // ever, since their handshake had gone on longest of too many
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
  // Of what callers took lately beside what is explained, as calls that are reset at once are: a
  // hundred bytes on the wire, and many KiB in memory until gRPC gets round to it. Honest callers
  // have next to none that nobody has taken.
  MemoryLimit::Options unexplained = {.growth = int64_t{64} << 20,
                                      .least_brought = int64_t{1} << 10,
                                      .least_in_all = 64 << 10,
                                      .lately = MemoryLimit::Options::Lately::kStay};
  // How many bytes of memory callers hold, and by how many that has grown lately; null: nobody
  // looks.
  std::function<ProcessMemory::Callers()> callers = nullptr;
  // Connections were closed for it: some of it will be freed.
  std::function<void()> on_cut_for_memory = nullptr;
  // Where services tell what they have taken; it outlives the acceptor. Null: nobody does.
  TakenBytes* taken = nullptr;
  // Called with each connection before it is handed over. False: it is closed instead. Null: nobody
  // is asked.
  std::function<bool(int connection)> admit = nullptr;
  // Likewise, where connections begin with TLS: whether its handshake is over. Null, or where it
  // returns that: it has none.
  std::function<Greetings::IsOver(int connection)> greet = nullptr;
  // For each of them OpenSSL may take 128 KiB.
  size_t max_greetings = 384;
  // What open calls take; null: that of calls that wait is known (TakenBytes).
  std::function<int64_t()> bytes_of_calls = nullptr;
  // Called ten times a second; null: nobody wants to know.
  std::function<void()> on_turn = nullptr;
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

  // After Stop: ends connections through which nothing was sent since it was asked so many times.
  void EndStill(int times);

  ConnectionCounts counts();

 private:
  enum class Accepted { kOne, kNone, kStarved };

  void Accept();
  // Until connections that were cut are closed, or for two seconds: in a flood gRPC takes its time
  // to free what they hold, and whoever was cut comes again at once.
  void AwaitClosing(std::vector<pollfd>& stop);
  void Watch();
  void Tick();
  void Look(const ProcessMemory::Callers& callers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of what callers hold, what has nothing to do with the bytes of headers.
  int64_t Explained() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Cut(const std::vector<int>& connections) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CutForMemory(const std::vector<int>& connections) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AcceptWaiting(int socket);
  Accepted AcceptOne(int socket);
  Accepted CloseNext(int socket);
  void Welcome(int socket, FileDescriptor connection);
  void Greet(int connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tune(int connection) const;

  const AcceptorOptions options_;
  Listener listener_;
  HandOver hand_over_;
  FileDescriptor stop_;   // an eventfd
  FileDescriptor clock_;  // a timerfd
  FileDescriptor spare_;  // given up for a moment when there is no other
  bool starved_ = false;  // for a moment; the accepting thread's
  // Of the two threads. relaxed: the first is woken by stop_ besides, the other by its clock.
  std::atomic<bool> accepts_ = true;
  std::atomic<bool> watches_ = true;
  std::atomic<bool> closing_ = false;  // connections that were cut; relaxed: it orders nothing

  Mutex mutex_;
  OpenConnections connections_ ABSL_GUARDED_BY(mutex_);
  InputLimit input_ ABSL_GUARDED_BY(mutex_);
  InputLimit unanswered_ ABSL_GUARDED_BY(mutex_);
  MemoryLimit memory_ ABSL_GUARDED_BY(mutex_);
  MemoryLimit unexplained_ ABSL_GUARDED_BY(mutex_);
  absl::Duration since_look_ ABSL_GUARDED_BY(mutex_);
  absl::Duration since_turn_ ABSL_GUARDED_BY(mutex_);
  Greetings greetings_ ABSL_GUARDED_BY(mutex_);
  ConnectionCounts counts_ ABSL_GUARDED_BY(mutex_);

  std::thread accepting_;
  std::thread watching_;
};

}  // namespace headgate::transport
