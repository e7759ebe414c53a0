// PeerConnections: one connection to each other server that is a member, for all that servers say
// to each other.
//
// A connection is a channel, and the stream on it over which calls are forwarded. It is made when
// somebody asks for it, or when its server joins, and never to an address that no member has. When
// a server leaves the membership, or comes back with another address, its connection is retired: it
// takes nothing new, ends as ForwardStream::Retire says, and is let go of when nobody uses it any
// more.
//
// A channel is destroyed by FollowMembership or the destructor, and never by whoever used it last:
// gRPC cannot lose its last channel within one of its own callbacks, where questions end.
//
// Thread-safe.
//
//   PeerConnections connections({.connect = connect, .addresses = addresses});
//   connections.OpenStreams({.loop = loop, .clock = clock, .listener = listener});
//   if (auto stream = connections.StreamTo("10.0.0.2:8081"); stream != nullptr) stream->Send(call);

#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "server/serve/peers/forward_stream.h"

namespace headgate::peers {

class PeerConnections {
 public:
  struct Options {
    // A channel to this address, which proves who calls.
    std::function<std::shared_ptr<grpc::Channel>(const std::string& address)> connect;
    // The addresses of all other members. It is asked under the lock, and must not come back here.
    std::function<std::vector<std::string>()> addresses;
  };

  explicit PeerConnections(Options options) : options_(std::move(options)) {}
  PeerConnections(const PeerConnections&) = delete;
  PeerConnections& operator=(const PeerConnections&) = delete;

  std::vector<std::string> Addresses() const { return options_.addresses(); }
  // Null: no other member has this address.
  std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) ABSL_LOCKS_EXCLUDED(mutex_);
  // Null: no other member has this address, or streams are not open.
  std::shared_ptr<ForwardStream> StreamTo(const std::string& address) ABSL_LOCKS_EXCLUDED(mutex_);

  // There are streams from now on. What `options` refers to outlives CloseStreams.
  void OpenStreams(const ForwardStream::Options& options) ABSL_LOCKS_EXCLUDED(mutex_);
  // Opens a stream to each member, retires the connections to all others, and lets go of retired
  // ones that nobody uses any more.
  void FollowMembership() ABSL_LOCKS_EXCLUDED(mutex_);
  // All that there are, retired ones too.
  std::vector<std::shared_ptr<ForwardStream>> Streams() const ABSL_LOCKS_EXCLUDED(mutex_);
  // On a thread of the streams' loop, or after it: closes all streams, and there are none any more.
  void CloseStreams() ABSL_LOCKS_EXCLUDED(mutex_);

  // How many connections there are that are not retired.
  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Connection {
    std::shared_ptr<grpc::Channel> channel;
    std::shared_ptr<ForwardStream> stream;  // null: nothing was forwarded yet
  };

  // Null: no other member has this address.
  Connection* Find(const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of a member.
  Connection& FindOrMake(const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const std::shared_ptr<ForwardStream>& StreamOf(Connection& connection) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Those to addresses that are not among these.
  std::vector<std::shared_ptr<ForwardStream>> RetireOthers(
      const std::vector<std::string>& addresses) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static bool IsUnused(const Connection& connection);
  // Retired connections that nobody uses any more.
  std::vector<Connection> TakeUnused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::shared_ptr<ForwardStream>> LockedStreams() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  mutable Mutex mutex_;
  std::optional<ForwardStream::Options> stream_options_ ABSL_GUARDED_BY(mutex_);  // while open
  std::map<std::string, Connection> connections_ ABSL_GUARDED_BY(mutex_);         // by address
  std::vector<Connection> retired_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::peers
