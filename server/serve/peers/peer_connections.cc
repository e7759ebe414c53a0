#include "server/serve/peers/peer_connections.h"

#include <algorithm>
#include <utility>

namespace headgate::peers {
namespace {

bool Contains(const std::vector<std::string>& addresses, const std::string& address) {
  return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

}  // namespace

PeerConnections::Connection* PeerConnections::Find(const std::string& address) {
  const auto found = connections_.find(address);
  if (found != connections_.end()) return &found->second;
  return Contains(options_.addresses(), address) ? &FindOrMake(address) : nullptr;
}

PeerConnections::Connection& PeerConnections::FindOrMake(const std::string& address) {
  Connection& connection = connections_[address];
  if (connection.channel == nullptr) connection.channel = options_.connect(address);
  return connection;
}

const std::shared_ptr<ForwardStream>& PeerConnections::StreamOf(Connection& connection) const {
  if (connection.stream == nullptr) {
    connection.stream = std::make_shared<ForwardStream>(connection.channel, *stream_options_);
  }
  return connection.stream;
}

std::shared_ptr<grpc::Channel> PeerConnections::ChannelTo(const std::string& address) {
  const MutexLock lock(&mutex_);
  const Connection* const connection = Find(address);
  return connection == nullptr ? nullptr : connection->channel;
}

std::shared_ptr<ForwardStream> PeerConnections::StreamTo(const std::string& address) {
  const MutexLock lock(&mutex_);
  if (!stream_options_.has_value()) return nullptr;
  Connection* const connection = Find(address);
  return connection == nullptr ? nullptr : StreamOf(*connection);
}

void PeerConnections::OpenStreams(const ForwardStream::Options& options) {
  const MutexLock lock(&mutex_);
  stream_options_.emplace(options);
}

void PeerConnections::FollowMembership() {
  std::vector<std::shared_ptr<ForwardStream>> to_open;
  std::vector<std::shared_ptr<ForwardStream>> to_retire;
  std::vector<Connection> unused;  // destroyed without the lock
  {
    const MutexLock lock(&mutex_);
    unused = TakeUnused();
    const std::vector<std::string> addresses = options_.addresses();
    to_retire = RetireOthers(addresses);
    for (const std::string& address : addresses) {
      if (stream_options_.has_value()) to_open.push_back(StreamOf(FindOrMake(address)));
    }
  }
  for (const auto& stream : to_retire) stream->Retire();
  for (const auto& stream : to_open) stream->OnTick();
}

std::vector<std::shared_ptr<ForwardStream>> PeerConnections::RetireOthers(
    const std::vector<std::string>& addresses) {
  std::vector<std::shared_ptr<ForwardStream>> streams;
  for (auto it = connections_.begin(); it != connections_.end();) {
    if (Contains(addresses, it->first)) {
      ++it;
      continue;
    }
    if (it->second.stream != nullptr) streams.push_back(it->second.stream);
    retired_.push_back(std::move(it->second));
    it = connections_.erase(it);
  }
  return streams;
}

bool PeerConnections::IsUnused(const Connection& connection) {
  const bool is_over = connection.stream == nullptr || connection.stream->IsOver();
  // Of the channel: this one, and its stream's. Nobody can begin to use it, for whoever may has a
  // reference already.
  return is_over && connection.channel.use_count() <= (connection.stream == nullptr ? 1 : 2) &&
         connection.stream.use_count() <= 1;
}

std::vector<PeerConnections::Connection> PeerConnections::TakeUnused() {
  std::vector<Connection> used;
  std::vector<Connection> unused;
  for (Connection& connection : retired_) {
    (IsUnused(connection) ? unused : used).push_back(std::move(connection));
  }
  retired_ = std::move(used);
  return unused;
}

std::vector<std::shared_ptr<ForwardStream>> PeerConnections::Streams() const {
  const MutexLock lock(&mutex_);
  return LockedStreams();
}

std::vector<std::shared_ptr<ForwardStream>> PeerConnections::LockedStreams() const {
  std::vector<std::shared_ptr<ForwardStream>> streams;
  for (const auto& [address, connection] : connections_) {
    if (connection.stream != nullptr) streams.push_back(connection.stream);
  }
  for (const Connection& connection : retired_) {
    if (connection.stream != nullptr) streams.push_back(connection.stream);
  }
  return streams;
}

void PeerConnections::CloseStreams() {
  std::vector<std::shared_ptr<ForwardStream>> streams;
  {
    const MutexLock lock(&mutex_);
    streams = LockedStreams();
    stream_options_.reset();
    for (auto& [address, connection] : connections_) connection.stream = nullptr;
    for (Connection& connection : retired_) connection.stream = nullptr;
  }
  for (const auto& stream : streams) stream->Close();
}

size_t PeerConnections::size() const {
  const MutexLock lock(&mutex_);
  return connections_.size();
}

}  // namespace headgate::peers
