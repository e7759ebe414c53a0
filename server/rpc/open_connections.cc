#include "server/rpc/open_connections.h"

#include <sys/stat.h>

#include <optional>

namespace headgate::rpc {
namespace {

std::optional<ino_t> InodeOf(int fd) {
  struct stat file = {};
  if (fstat(fd, &file) != 0 || !S_ISSOCK(file.st_mode)) return std::nullopt;
  return file.st_ino;
}

}  // namespace

bool OpenConnections::Add(int fd) {
  const std::optional<ino_t> inode = InodeOf(fd);
  if (!inode.has_value()) return false;
  // The kernel gives a number again only once it is closed.
  const auto before = inodes_.find(fd);
  if (before != inodes_.end()) {
    before->second = *inode;
    return true;
  }
  if (inodes_.size() >= most_) return false;
  inodes_.emplace(fd, *inode);
  return true;
}

void OpenConnections::Sweep() {
  absl::erase_if(inodes_, [](const auto& entry) { return InodeOf(entry.first) != entry.second; });
}

}  // namespace headgate::rpc
