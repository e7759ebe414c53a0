// ServerConnections: the connections to one server.
//
// A server takes 128 calls of a connection at a time, and lets others wait. So Checks that wait in
// the server have connections of their own, 100 on each: a few hundred would otherwise hold up all
// Reports. There are as many as it takes, and they stay.
//
// Thread-safe.
//
//   auto server = ServerConnections::Create(options, arguments);
//   const auto connection = (*server)->Take(ServerConnections::Call::kAnsweredAtOnce);
//   connection->CurrentStub()->async()->Check(...);  // until its end the connection is kept

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>
#include <headgate/tls.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "client/channel_source.h"
#include "common/mutex.h"

namespace headgate::client::internal {

class Connection {
 public:
  using Stub = v1::ThrottlerService::Stub;

  explicit Connection(std::shared_ptr<ChannelSource> channels) : channels_(std::move(channels)) {}

  // Of the channel at present: certificates may have changed.
  std::shared_ptr<Stub> CurrentStub() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a call would be sent at once. If not, it is being connected from now on.
  bool IsReady() { return channels_->Get()->GetState(true) == GRPC_CHANNEL_READY; }

 private:
  const std::shared_ptr<ChannelSource> channels_;
  Mutex mutex_;
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Stub> stub_ ABSL_GUARDED_BY(mutex_);
};

class ServerConnections {
 public:
  enum class Call : uint8_t { kAnsweredAtOnce = 1, kWaitsInLine };

  // InvalidArgument: as of ChannelSource. Connects when somebody asks.
  static absl::StatusOr<std::shared_ptr<ServerConnections>> Create(
      const ConnectionOptions& options, const grpc::ChannelArguments& arguments);

  const std::string& address() const { return options_.address; }
  bool IsReady() { return main_->IsReady(); }
  std::shared_ptr<Connection> Take(Call call) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  ServerConnections(const ConnectionOptions& options, const grpc::ChannelArguments& arguments)
      : options_(options), arguments_(arguments) {}
  absl::StatusOr<std::shared_ptr<Connection>> Connect() const;

  const ConnectionOptions options_;
  const grpc::ChannelArguments arguments_;
  std::shared_ptr<Connection> main_;  // set once, by Create
  Mutex mutex_;
  std::vector<std::shared_ptr<Connection>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::client::internal
