// KnownOwners: which server decides for a target, where several servers share them, and the
// connections to those that do.
//
// A server that forwarded a Check names the owner of its target in the answer. The next Check about
// it goes there as soon as there is a connection; until then, and where none comes about,
// everything goes on by way of the configured address. So a server that cannot be reached from here
// delays nothing.
//
// Thread-safe.
//
//   if (const auto owner = owners.ReadyFor("orders"); owner != nullptr) { ... ask there ... }
//   owners.Learn("orders", "10.0.0.2:8080");

#pragma once

#include <grpcpp/support/channel_arguments.h>
#include <headgate/tls.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "client/server_connections.h"
#include "common/mutex.h"

namespace headgate::client::internal {

class KnownOwners {
 public:
  using Server = std::shared_ptr<ServerConnections>;

  // `configured` has the address that answers for all.
  KnownOwners(const ConnectionOptions& configured, const grpc::ChannelArguments& arguments)
      : configured_(configured), arguments_(arguments) {}

  // The target's owner, where there is a connection to it; null: ask the configured address.
  Server ReadyFor(const std::string& target) ABSL_LOCKS_EXCLUDED(mutex_);
  // That which was asked last, for what any server answers. Null, as above.
  Server ReadyLast() ABSL_LOCKS_EXCLUDED(mutex_);

  // An answer says so. Empty: the server that was asked decides itself.
  void Learn(const std::string& target, std::string_view address) ABSL_LOCKS_EXCLUDED(mutex_);
  // It does not answer as it should: it is asked no more until an answer names it anew.
  void Forget(const Server& server) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What servers name is bounded by their configuration; this is for those that err.
  static constexpr size_t kMaxTargets = 1000;

  Server ServerAt(std::string_view address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ConnectionOptions configured_;
  const grpc::ChannelArguments arguments_;
  Mutex mutex_;
  std::map<std::string, Server> owners_ ABSL_GUARDED_BY(mutex_);  // by target; none is null
  Server last_ ABSL_GUARDED_BY(mutex_);                           // null: the configured one
};

}  // namespace headgate::client::internal
