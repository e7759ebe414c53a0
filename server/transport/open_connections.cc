#include "server/transport/open_connections.h"

#include <fcntl.h>
// Not netinet/tcp.h: the C library's tcp_info ends before the count of bytes.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "common/file_descriptor.h"

namespace headgate::transport {
namespace {

std::optional<ino_t> InodeOf(int fd) {
  struct stat file = {};
  if (fstat(fd, &file) != 0 || !S_ISSOCK(file.st_mode)) return std::nullopt;
  return file.st_ino;
}

// A byte of an answer is worth so many that were brought. A Report has five for one.
constexpr int64_t kBroughtForSent = 8;
// At each look, ten times a second, one in so many bytes is forgotten: half of them in 70 s.
constexpr int64_t kForgotten = 1024;

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

bool OpenConnections::Add(int fd) {
  const std::optional<ino_t> inode = InodeOf(fd);
  if (!inode.has_value()) return false;
  // The kernel gives a number again only once it is closed.
  const auto before = connections_.find(fd);
  if (before != connections_.end()) {
    before->second = {.inode = *inode};
    return true;
  }
  if (connections_.size() >= max_open_) return false;
  connections_.emplace(fd, Connection{.inode = *inode});
  return true;
}

void OpenConnections::Sweep() {
  absl::erase_if(connections_,
                 [](const auto& entry) { return InodeOf(entry.first) != entry.second.inode; });
}

OpenConnections::Brought OpenConnections::TakeBrought() {
  Brought brought;
  for (auto& [fd, connection] : connections_) {
    const Traffic before = {connection.brought, connection.sent};
    const Traffic now = TrafficOf(fd);
    connection.brought = now.brought;
    connection.sent = now.sent;
    // Fewer: the number is another file's.
    if (now.brought < before.brought || now.sent < before.sent) continue;
    const auto more = static_cast<int64_t>(now.brought - before.brought);
    if (more > 0) brought.all.emplace_back(fd, more);
    const int64_t answered = kBroughtForSent * static_cast<int64_t>(now.sent - before.sent);
    const int64_t unanswered = std::max<int64_t>(0, connection.unanswered + more - answered);
    if (unanswered != connection.unanswered) {
      brought.unanswered.emplace_back(fd, unanswered - connection.unanswered);
    }
    connection.unanswered = unanswered - unanswered / kForgotten;
  }
  return brought;
}

MemoryLimit::Bytes OpenConnections::Unanswered() const {
  MemoryLimit::Bytes unanswered;
  for (const auto& [fd, connection] : connections_) {
    if (connection.unanswered > 0) unanswered.emplace_back(fd, connection.unanswered);
  }
  return unanswered;
}

bool OpenConnections::Cut(int fd) const {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return false;
  // What a second descriptor names stays the same file, whatever becomes of the number. Where there
  // is none left, the number has to do.
  const FileDescriptor second(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  const int same = second.ok() ? second.number() : fd;
  return InodeOf(same) == found->second.inode && shutdown(same, SHUT_RDWR) == 0;
}

}  // namespace headgate::transport
