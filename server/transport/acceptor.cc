#include "server/transport/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace headgate::transport {
namespace {

constexpr int64_t kTickNs = 25'000'000;
constexpr absl::Duration kBetweenLooks = absl::Milliseconds(100);
// Of what has come and is not read yet. It is what gRPC may find there at one time, and is not
// counted by it; Checks are much smaller.
constexpr int kReceiveBytes = 128 << 10;
// Connections from one socket before the others, and the end, are looked at.
constexpr int kMaxAtOnce = 64;

FileDescriptor OpenSpare() { return FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

FileDescriptor OpenClock() {
  FileDescriptor clock(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  const timespec tick = {.tv_sec = 0, .tv_nsec = kTickNs};
  const itimerspec times = {.it_interval = tick, .it_value = tick};
  if (clock.ok() && timerfd_settime(clock.number(), 0, &times, nullptr) != 0) clock.Close();
  return clock;
}

// How often it ticked since it was asked.
int64_t TakeTicks(const FileDescriptor& clock) {
  uint64_t ticks = 0;
  const ssize_t bytes = read(clock.number(), &ticks, sizeof(ticks));
  return bytes == sizeof(ticks) ? static_cast<int64_t>(ticks) : 0;
}

bool IsReadable(const pollfd& polled) { return polled.revents != 0; }

}  // namespace

Acceptor::Acceptor(Listener listener, const AcceptorOptions& options)
    : options_(options),
      listener_(std::move(listener)),
      connections_(options.max_connections),
      input_(options.input),
      unanswered_(options.unanswered),
      memory_(options.memory) {}

absl::Status Acceptor::Start(HandOver hand_over) {
  hand_over_ = std::move(hand_over);
  stop_ = FileDescriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  clock_ = OpenClock();
  spare_ = OpenSpare();
  if (!stop_.ok() || !clock_.ok() || !spare_.ok()) {
    return absl::ErrnoToStatus(errno, "cannot wait for connections");
  }
  thread_ = std::thread(&Acceptor::Run, this);
  return absl::OkStatus();
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    // It cannot fail: the counter is nowhere near its end.
    [[maybe_unused]] const ssize_t bytes = write(stop_.number(), &one, sizeof(one));
    thread_.join();
  }
  listener_.Close();
}

ConnectionCounts Acceptor::counts() {
  MutexLock lock(&mutex_);
  connections_.Sweep();
  ConnectionCounts counts = counts_;
  counts.open = static_cast<int64_t>(connections_.count());
  counts.max_open = static_cast<int64_t>(connections_.max_open());
  return counts;
}

void Acceptor::Run() {
  std::vector<pollfd> polled = {{.fd = stop_.number(), .events = POLLIN, .revents = 0},
                                {.fd = clock_.number(), .events = POLLIN, .revents = 0}};
  const size_t first = polled.size();
  for (const FileDescriptor& socket : listener_.sockets()) {
    polled.push_back({.fd = socket.number(), .events = POLLIN, .revents = 0});
  }
  for (;;) {
    // A starved one would find its sockets ready all the time.
    const nfds_t count = starved_ ? first : polled.size();
    if (poll(polled.data(), count, -1) < 0) continue;  // EINTR
    if (IsReadable(polled[0])) return;
    if (IsReadable(polled[1])) Tick();
    for (size_t i = first; i < count; ++i) {
      if (IsReadable(polled[i])) TakeAll(polled[i].fd);
    }
  }
}

void Acceptor::Tick() {
  starved_ = false;
  const absl::Duration since_last = absl::Nanoseconds(kTickNs) * TakeTicks(clock_);
  const int64_t grown = options_.grown == nullptr ? 0 : options_.grown();
  MutexLock lock(&mutex_);
  since_look_ += since_last;
  if (since_look_ >= kBetweenLooks || memory_.IsBeyond(grown)) Look(grown);
}

void Acceptor::Look(int64_t grown) {
  const absl::Duration since_last = std::exchange(since_look_, absl::ZeroDuration());
  connections_.Sweep();
  OpenConnections::Brought brought = connections_.TakeBrought();
  Cut(memory_.Judge(grown, {connections_.Unanswered(), brought.all}, since_last));
  Cut(input_.Judge(std::move(brought.all), since_last));
  Cut(unanswered_.Judge(std::move(brought.unanswered), since_last));
}

void Acceptor::Cut(const std::vector<int>& connections) {
  for (const int connection : connections) {
    if (connections_.Cut(connection)) ++counts_.cut;
  }
}

void Acceptor::TakeAll(int socket) {
  for (int i = 0; i < kMaxAtOnce && !starved_; ++i) {
    const Took took = TakeOne(socket);
    if (took == Took::kNone) return;
    starved_ = took == Took::kStarved;
  }
}

Acceptor::Took Acceptor::TakeOne(int socket) {
  FileDescriptor connection(accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (connection.ok()) {
    Welcome(socket, std::move(connection));
    return Took::kOne;
  }
  switch (errno) {
    case EAGAIN:
      return Took::kNone;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return MakeRoom(socket);
    default:  // this connection's own fault: it is gone already, or a firewall is against it
      return Took::kOne;
  }
}

// Closes the next connection: in the queue its caller would wait without an answer.
Acceptor::Took Acceptor::MakeRoom(int socket) {
  spare_.Close();
  FileDescriptor connection(accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const bool closed = connection.ok();
  connection.Close();
  spare_ = OpenSpare();
  MutexLock lock(&mutex_);
  if (closed) ++counts_.failed;
  // Another thread may have been faster.
  return closed && spare_.ok() ? Took::kOne : Took::kStarved;
}

void Acceptor::Welcome(int socket, FileDescriptor connection) {
  {
    MutexLock lock(&mutex_);
    if (!connections_.Add(connection.number())) {
      ++counts_.refused;
      return;
    }
    ++counts_.accepted;
  }
  Tune(connection.number());
  hand_over_(socket, connection.Release());
}

// What gRPC sets on the sockets that it listens on itself.
void Acceptor::Tune(int connection) const {
  const int on = 1;
  const auto unacknowledged_ms =
      static_cast<unsigned>(absl::ToInt64Milliseconds(options_.unacknowledged));
  // A failure costs speed, or patience, and no more.
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(connection, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof(kReceiveBytes));
  setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms,
             sizeof(unacknowledged_ms));
}

}  // namespace headgate::transport
