#include "client/known_owners.h"

#include <utility>

namespace headgate::client::internal {

KnownOwners::Server KnownOwners::ReadyFor(const std::string& target) {
  const MutexLock lock(&mutex_);
  const auto found = owners_.find(target);
  last_ = found != owners_.end() && found->second->IsReady() ? found->second : nullptr;
  return last_;
}

KnownOwners::Server KnownOwners::ReadyLast() {
  const MutexLock lock(&mutex_);
  return last_ != nullptr && last_->IsReady() ? last_ : nullptr;
}

void KnownOwners::Learn(const std::string& target, std::string_view address) {
  const MutexLock lock(&mutex_);
  const auto found = owners_.find(target);
  if (found != owners_.end()) {
    if (found->second->address() == address) return;
    owners_.erase(found);
  }
  if (address.empty() || address == configured_.address) return;
  if (owners_.size() >= kMaxTargets) owners_.clear();
  Server server = ServerAt(address);
  if (server == nullptr) return;
  (void)server->IsReady();  // it connects from now on
  owners_.emplace(target, std::move(server));
}

void KnownOwners::Forget(const Server& server) {
  const MutexLock lock(&mutex_);
  std::erase_if(owners_, [&](const auto& owner) { return owner.second == server; });
  if (last_ == server) last_ = nullptr;
}

KnownOwners::Server KnownOwners::ServerAt(std::string_view address) {
  for (const auto& [target, server] : owners_) {
    if (server->address() == address) return server;
  }
  ConnectionOptions options = configured_;
  options.address = std::string(address);
  auto made = ServerConnections::Create(options, arguments_);
  // The files cannot be read at the moment: the next answer names it again.
  return made.ok() ? *std::move(made) : nullptr;
}

}  // namespace headgate::client::internal
