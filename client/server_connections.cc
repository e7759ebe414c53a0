#include "client/server_connections.h"

#include <headgate/time_source.h>

#include <atomic>
#include <utility>

namespace headgate::client::internal {
namespace {

constexpr int kWaitingOnOneConnection = 100;

}  // namespace

std::shared_ptr<Connection::Stub> Connection::CurrentStub() {
  std::shared_ptr<grpc::Channel> channel = channels_->Get();
  const MutexLock lock(&mutex_);
  if (channel != channel_) {
    stub_ = v1::ThrottlerService::NewStub(channel);
    channel_ = std::move(channel);
  }
  return stub_;
}

absl::StatusOr<std::shared_ptr<ServerConnections>> ServerConnections::Create(
    const ConnectionOptions& options, const grpc::ChannelArguments& arguments) {
  // Not make_shared: the constructor is private.
  std::shared_ptr<ServerConnections> made(new ServerConnections(options, arguments));
  absl::StatusOr<std::shared_ptr<Connection>> main = made->Connect();
  if (!main.ok()) return main.status();
  made->main_ = *std::move(main);
  return made;
}

absl::StatusOr<std::shared_ptr<Connection>> ServerConnections::Connect() const {
  static std::atomic<int> next{0};
  grpc::ChannelArguments arguments = arguments_;
  // gRPC shares connections between channels that are alike: a number tells them apart.
  // relaxed: each has to get another one, nothing more.
  arguments.SetInt("headgate.connection", next.fetch_add(1, std::memory_order_relaxed));
  absl::StatusOr<std::shared_ptr<ChannelSource>> channels =
      ChannelSource::Create(options_, arguments, NewRealTime());
  if (!channels.ok()) return channels.status();
  return std::make_shared<Connection>(*std::move(channels));
}

std::shared_ptr<Connection> ServerConnections::Take(Call call) {
  if (call == Call::kAnsweredAtOnce) return main_;
  const MutexLock lock(&mutex_);
  for (const auto& each : waiting_) {
    // Each that waits has one reference, and this list has one.
    if (each.use_count() <= kWaitingOnOneConnection) return each;
  }
  absl::StatusOr<std::shared_ptr<Connection>> another = Connect();
  // The files cannot be read at the moment.
  if (!another.ok()) return main_;
  return waiting_.emplace_back(*std::move(another));
}

}  // namespace headgate::client::internal
