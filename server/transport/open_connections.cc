#include "server/transport/open_connections.h"

#include <fcntl.h>
// Not netinet/tcp.h: the C library's tcp_info ends before the count of bytes.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <optional>

#include "common/file_descriptor.h"

namespace headgate::transport {
namespace {

std::optional<ino_t> InodeOf(int fd) {
  struct stat file = {};
  if (fstat(fd, &file) != 0 || !S_ISSOCK(file.st_mode)) return std::nullopt;
  return file.st_ino;
}

// 0: the kernel does not say.
uint64_t BytesReceived(int fd) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
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
  if (connections_.size() >= most_) return false;
  connections_.emplace(fd, Connection{.inode = *inode});
  return true;
}

void OpenConnections::Sweep() {
  absl::erase_if(connections_,
                 [](const auto& entry) { return InodeOf(entry.first) != entry.second.inode; });
}

std::vector<InputLimit::Brought> OpenConnections::TakeBrought() {
  std::vector<InputLimit::Brought> brought;
  for (auto& [fd, connection] : connections_) {
    const uint64_t before = connection.brought;
    connection.brought = BytesReceived(fd);
    // Fewer: the number is another file's.
    if (connection.brought <= before) continue;
    brought.emplace_back(fd, static_cast<int64_t>(connection.brought - before));
  }
  return brought;
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
