#include "server/serve/transport/open_connections.h"

#include <arpa/inet.h>
#include <fcntl.h>
// Not netinet/tcp.h: the C library's tcp_info ends before the count of bytes.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"

namespace headgate::transport {
namespace {

// A byte of an answer is worth so many that were brought. A Report has five for one.
constexpr int64_t kBroughtForSent = 8;
// Half of what is unanswered is forgotten in 70 s.
constexpr absl::Duration kForgottenIn = absl::Seconds(102);
// After a message was taken another one may be on its way for so long, and Reports, with no more
// than the largest batches of Checks have.
constexpr absl::Duration kServed = absl::Seconds(2);
constexpr int64_t kMostUsual = 128 << 10;
// One that was cut may have calls that take longer, and holds little then.
constexpr absl::Duration kMostClosing = absl::Seconds(2);

std::optional<ino_t> InodeOf(int fd) {
  struct stat file = {};
  if (fstat(fd, &file) != 0 || !S_ISSOCK(file.st_mode)) return std::nullopt;
  return file.st_ino;
}

// Its other end as gRPC names it: "ipv4:10.0.0.1:4711". Empty: it is gone.
std::string PeerOf(int fd) {
  sockaddr_storage peer = {};
  socklen_t size = sizeof(peer);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return "";
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return absl::StrCat("ipv4:", text.data(), ":", ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text.data(), text.size());
    return absl::StrCat("ipv4:", text.data(), ":", ntohs(v6.sin6_port));
  }
  inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  return absl::StrCat("ipv6:%5B", text.data(), "%5D:", ntohs(v6.sin6_port));
}

struct Traffic {
  uint64_t brought = 0;  // bytes; 0: the kernel does not say
  uint64_t sent = 0;
};

Traffic TrafficOf(int fd) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return {info.tcpi_bytes_received, info.tcpi_bytes_acked};
}

}  // namespace

template <typename Act>
bool OpenConnections::Do(int fd, const Connection& connection, Act act) {
  // What a second descriptor names stays the same file, whatever becomes of the number. Where there
  // is none left, the number has to do.
  const FileDescriptor second(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  const int same = second.ok() ? second.number() : fd;
  return InodeOf(same) == connection.inode && act(same);
}

bool OpenConnections::Add(int fd) {
  const std::optional<ino_t> inode = InodeOf(fd);
  if (!inode.has_value()) return false;
  // The kernel gives a number again only once it is closed.
  const auto before = connections_.find(fd);
  if (before == connections_.end() && connections_.size() >= max_open_) return false;
  Connection& connection = connections_[fd];
  connection = {.inode = *inode};
  if (taken_ != nullptr) connection.taken = taken_->Open(PeerOf(fd));
  Reserve();
  return true;
}

void OpenConnections::Reserve() {
  const size_t most = connections_.capacity();
  brought_.all.reserve(most);
  brought_.for_memory.lately.reserve(most);
  brought_.for_memory.unanswered.reserve(most);
  brought_.unanswered.reserve(most);
}

void OpenConnections::Sweep() {
  absl::erase_if(connections_,
                 [](const auto& entry) { return InodeOf(entry.first) != entry.second.inode; });
}

const OpenConnections::Brought& OpenConnections::TakeBrought(absl::Duration since_last) {
  brought_.all.clear();
  brought_.for_memory.lately.clear();
  brought_.for_memory.unanswered.clear();
  brought_.unanswered.clear();
  unanswered_bytes_ = 0;
  cut_ = 0;
  for (auto& [fd, connection] : connections_) {
    if (connection.is_cut) {
      connection.since_cut += since_last;
      if (connection.since_cut < kMostClosing) ++cut_;
      continue;
    }
    Count(fd, since_last, connection);
    unanswered_bytes_ += connection.unanswered;
    if (connection.unanswered > 0 && !IsServed(connection)) {
      brought_.for_memory.unanswered.emplace_back(fd, connection.unanswered);
    }
  }
  return brought_;
}

void OpenConnections::Count(int fd, absl::Duration since_last, Connection& connection) {
  // First: what was taken is among what was brought.
  const int64_t taken = connection.taken == nullptr ? 0 : connection.taken->Take();
  const Traffic before = {connection.brought, connection.sent};
  const Traffic now = TrafficOf(fd);
  connection.brought = now.brought;
  connection.sent = now.sent;
  // Fewer: the number is another file's.
  if (now.brought < before.brought || now.sent < before.sent) return;
  const auto more = static_cast<int64_t>(now.brought - before.brought);
  if (more > 0) brought_.all.emplace_back(fd, more);
  const int64_t answered = kBroughtForSent * static_cast<int64_t>(now.sent - before.sent);
  const int64_t unanswered = std::max<int64_t>(0, connection.unanswered + more - answered - taken);
  if (unanswered != connection.unanswered) {
    brought_.unanswered.emplace_back(fd, unanswered - connection.unanswered);
  }
  const double forgotten =
      static_cast<double>(unanswered) * absl::FDivDuration(since_last, kForgottenIn);
  connection.unanswered = unanswered - std::min(unanswered, static_cast<int64_t>(forgotten));
  connection.since_taken += since_last;
  if (taken > 0) {
    connection.taken_at_once = taken;
    connection.since_taken = absl::ZeroDuration();
  }
  if (more > 0 && !IsServed(connection)) brought_.for_memory.lately.emplace_back(fd, more);
}

bool OpenConnections::IsServed(const Connection& connection) {
  const int64_t usual = std::min(2 * connection.taken_at_once, kMostUsual);
  return connection.taken_at_once > 0 && connection.since_taken < kServed &&
         connection.unanswered <= usual;
}

void OpenConnections::EndStill(int times) {
  for (auto& [fd, connection] : connections_) {
    const uint64_t before = std::exchange(connection.sent, TrafficOf(fd).sent);
    connection.still = connection.sent == before ? connection.still + 1 : 0;
    // What was sent before still arrives.
    if (connection.still >= times) {
      Do(fd, connection, [](int same) { return shutdown(same, SHUT_RDWR) == 0; });
    }
  }
}

bool OpenConnections::Cut(int fd) {
  const auto found = connections_.find(fd);
  if (found == connections_.end() || found->second.is_cut) return false;
  found->second.is_cut = Disconnect(fd, found->second);
  if (found->second.is_cut) ++cut_;
  return found->second.is_cut;
}

bool OpenConnections::End(int fd) {
  const auto found = connections_.find(fd);
  return found != connections_.end() && !found->second.is_cut && Disconnect(fd, found->second);
}

// Whoever is connected to nothing has no bytes either that could still be read.
bool OpenConnections::Disconnect(int fd, const Connection& connection) {
  return Do(fd, connection, [](int same) {
    const sockaddr nobody = {.sa_family = AF_UNSPEC, .sa_data = {}};
    return connect(same, &nobody, sizeof(nobody)) == 0 || shutdown(same, SHUT_RDWR) == 0;
  });
}

}  // namespace headgate::transport
