#include "server/serve/transport/taken_bytes.h"

#include <algorithm>

namespace headgate::transport {

std::shared_ptr<TakenBytes::Connection> TakenBytes::Open(const std::string& peer) {
  auto connection = std::make_shared<Connection>();
  const MutexLock lock(&mutex_);
  if (connections_.size() >= most_known_) {
    absl::erase_if(connections_, [](const auto& entry) { return entry.second.expired(); });
    most_known_ = std::max(kLeastKnown, 2 * connections_.size());
  }
  connections_[peer] = connection;
  return connection;
}

std::shared_ptr<TakenBytes::Connection> TakenBytes::Find(const std::string& peer) const {
  const MutexLock lock(&mutex_);
  const auto found = connections_.find(peer);
  return found == connections_.end() ? nullptr : found->second.lock();
}

}  // namespace headgate::transport
