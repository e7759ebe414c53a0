#include "server/serve/transport/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "server/serve/transport/header_guard.h"

namespace headgate::transport {
namespace {

constexpr int kTickMs = 10;
// Until it is tried again to accept, where there was no open file left.
constexpr int kStarvedMs = 25;
constexpr int kMostClosingTicks = 200;
constexpr absl::Duration kBetweenLooks = absl::Milliseconds(100);
// Of what has come and is not read yet. It is what gRPC may find there at one time, and is not
// counted by it; Checks are much smaller.
constexpr int kReceiveBytes = 128 << 10;
// What gRPC takes for a connection with TLS.
constexpr int64_t kBytesOfConnection = 48 << 10;
// What messages on their way may take, which gRPC bounds by its own quota.
constexpr int64_t kMostMessages = int64_t{128} << 20;
// Connections from one socket before the others, and the end, are looked at.
constexpr int kMaxAtOnce = 64;

FileDescriptor OpenSpare() { return FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

FileDescriptor OpenClock() {
  FileDescriptor clock(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  const timespec tick = {.tv_sec = 0, .tv_nsec = kTickMs * 1'000'000};
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

// Waits until one of them can be read, or for so long; below zero, for ever. Where the kernel will
// not say which, as for want of memory, or with a limit of open files below their number, it is a
// tick later, and all of them are to be tried: none blocks.
void AwaitAny(std::vector<pollfd>& polled, int timeout_ms) {
  for (pollfd& each : polled) each.revents = 0;
  if (poll(polled.data(), polled.size(), timeout_ms) >= 0 || errno == EINTR) return;
  poll(nullptr, 0, kTickMs);
  for (pollfd& each : polled) each.revents = POLLIN;
}

// Those that brought more than a quarter of what one brought: in a flood all that take part, since
// each look that they are let be for takes tens of MiB.
std::vector<int> LikeTheLargest(const MemoryLimit::Bytes& unanswered) {
  int64_t largest = 0;
  for (const auto& [connection, bytes] : unanswered) largest = std::max(largest, bytes);
  std::vector<int> alike;
  for (const auto& [connection, bytes] : unanswered) {
    if (bytes > largest / 4) alike.push_back(connection);
  }
  return alike;
}

pollfd Polled(const FileDescriptor& file) {
  return {.fd = file.number(), .events = POLLIN, .revents = 0};
}

}  // namespace

Acceptor::Acceptor(Listener listener, const AcceptorOptions& options)
    : options_(options),
      listener_(std::move(listener)),
      connections_(options.max_connections, options.taken),
      input_(options.input),
      unanswered_(options.unanswered),
      memory_(options.memory),
      unexplained_(options.unexplained),
      greetings_(options.max_greetings) {}

absl::Status Acceptor::Start(HandOver hand_over) {
  hand_over_ = std::move(hand_over);
  stop_ = FileDescriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  clock_ = OpenClock();
  spare_ = OpenSpare();
  if (!stop_.ok() || !clock_.ok() || !spare_.ok()) {
    return absl::ErrnoToStatus(errno, "cannot wait for connections");
  }
  accepting_ = std::thread(&Acceptor::Accept, this);
  watching_ = std::thread(&Acceptor::Watch, this);
  return absl::OkStatus();
}

void Acceptor::Stop() {
  if (accepting_.joinable()) {
    accepts_.store(false, std::memory_order_relaxed);
    const uint64_t one = 1;
    // It cannot fail: the counter is nowhere near its end.
    [[maybe_unused]] const ssize_t bytes = write(stop_.number(), &one, sizeof(one));
    // What it may be held up by is still looked at.
    accepting_.join();
    watches_.store(false, std::memory_order_relaxed);
    watching_.join();
  }
  listener_.Close();
}

void Acceptor::EndStill(int times) {
  MutexLock lock(&mutex_);
  connections_.Sweep();
  connections_.EndStill(times);
}

ConnectionCounts Acceptor::counts() {
  MutexLock lock(&mutex_);
  connections_.Sweep();
  ConnectionCounts counts = counts_;
  counts.open = static_cast<int64_t>(connections_.count());
  counts.max_open = static_cast<int64_t>(connections_.max_open());
  return counts;
}

void Acceptor::Accept() {
  std::vector<pollfd> polled = {Polled(stop_)};
  for (const FileDescriptor& socket : listener_.sockets()) polled.push_back(Polled(socket));
  std::vector<pollfd> stop_alone = {Polled(stop_)};
  while (accepts_.load(std::memory_order_relaxed)) {
    // A starved one would find its sockets ready all the time.
    if (std::exchange(starved_, false)) AwaitAny(stop_alone, kStarvedMs);
    AwaitClosing(stop_alone);
    AwaitAny(polled, -1);
    for (size_t i = 1; i < polled.size(); ++i) {
      if (IsReadable(polled[i])) AcceptWaiting(polled[i].fd);
    }
  }
}

void Acceptor::AwaitClosing(std::vector<pollfd>& stop) {
  for (int i = 0; i < kMostClosingTicks && closing_.load(std::memory_order_relaxed); ++i) {
    AwaitAny(stop, kTickMs);
  }
}

void Acceptor::Watch() {
  std::vector<pollfd> polled = {Polled(clock_)};
  while (watches_.load(std::memory_order_relaxed)) {
    AwaitAny(polled, -1);
    if (IsReadable(polled[0])) Tick();
  }
}

void Acceptor::Tick() {
  const absl::Duration since_last = absl::Milliseconds(kTickMs) * TakeTicks(clock_);
  ProcessMemory::Callers callers;
  if (options_.callers != nullptr) callers = options_.callers();
  MutexLock lock(&mutex_);
  since_turn_ += since_last;
  if (since_turn_ >= kBetweenLooks) {
    since_turn_ = absl::ZeroDuration();
    if (options_.on_turn != nullptr) options_.on_turn();
  }
  since_look_ += since_last;
  const bool grows =
      memory_.IsBeyond(callers.held) || unexplained_.IsBeyond(callers.grown_lately - Explained());
  if (since_look_ >= kBetweenLooks || grows || connections_.cut() > 0) Look(callers);
}

void Acceptor::Look(const ProcessMemory::Callers& callers) {
  const absl::Duration since_last = std::exchange(since_look_, absl::ZeroDuration());
  connections_.Sweep();
  const OpenConnections::Brought& brought = connections_.TakeBrought(since_last);
  CutForMemory(memory_.Judge(callers.held, brought.for_memory));
  if (!unexplained_.Judge(callers.grown_lately - Explained(), brought.for_memory).empty()) {
    CutForMemory(LikeTheLargest(brought.for_memory.unanswered));
  }
  Cut(input_.Judge(brought.all, since_last));
  Cut(unanswered_.Judge(brought.unanswered, since_last));
  closing_.store(connections_.cut() > 0, std::memory_order_relaxed);
}

int64_t Acceptor::Explained() const {
  const int64_t parked = options_.taken == nullptr ? 0 : options_.taken->parked();
  const int64_t guarded = options_.bytes_of_calls == nullptr ? 0 : options_.bytes_of_calls();
  const auto open = static_cast<int64_t>(connections_.count());
  const int64_t messages = std::min(
      connections_.unanswered_bytes() + connections_.unanswered_bytes() / 4, kMostMessages);
  // Those that wait are among those that are open, but for the ones of other ports.
  const int64_t calls = std::max(parked * HeaderGuard::kBytesOfCall, guarded);
  return messages + calls + open * kBytesOfConnection;
}

void Acceptor::CutForMemory(const std::vector<int>& connections) {
  if (connections.empty()) return;
  Cut(connections);
  if (options_.on_cut_for_memory != nullptr) options_.on_cut_for_memory();
}

void Acceptor::Cut(const std::vector<int>& connections) {
  for (const int connection : connections) {
    if (connections_.Cut(connection)) ++counts_.cut;
  }
}

void Acceptor::AcceptWaiting(int socket) {
  for (int i = 0; i < kMaxAtOnce && !starved_; ++i) {
    const Accepted accepted = AcceptOne(socket);
    if (accepted == Accepted::kNone) return;
    starved_ = accepted == Accepted::kStarved;
  }
}

Acceptor::Accepted Acceptor::AcceptOne(int socket) {
  FileDescriptor connection(accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (connection.ok()) {
    Welcome(socket, std::move(connection));
    return Accepted::kOne;
  }
  switch (errno) {
    case EAGAIN:
      return Accepted::kNone;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return CloseNext(socket);
    default:  // this connection's own fault: it is gone already, or a firewall is against it
      return Accepted::kOne;
  }
}

// Closes the next connection: in the queue its caller would wait without an answer.
Acceptor::Accepted Acceptor::CloseNext(int socket) {
  spare_.Close();
  FileDescriptor connection(accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const bool closed = connection.ok();
  connection.Close();
  spare_ = OpenSpare();
  MutexLock lock(&mutex_);
  if (closed) ++counts_.failed;
  // Another thread may have been faster.
  return closed && spare_.ok() ? Accepted::kOne : Accepted::kStarved;
}

void Acceptor::Welcome(int socket, FileDescriptor connection) {
  {
    MutexLock lock(&mutex_);
    const bool is_admitted = options_.admit == nullptr || options_.admit(connection.number());
    if (!is_admitted || !connections_.Add(connection.number())) {
      ++counts_.refused;
      return;
    }
    ++counts_.accepted;
    Greet(connection.number());
  }
  Tune(connection.number());
  hand_over_(socket, connection.Release());
}

void Acceptor::Greet(int connection) {
  Greetings::IsOver is_over = options_.greet == nullptr ? nullptr : options_.greet(connection);
  if (is_over == nullptr) return;
  const std::optional<int> longest = greetings_.Add(connection, std::move(is_over));
  if (longest.has_value() && connections_.End(*longest)) ++counts_.greeting;
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
