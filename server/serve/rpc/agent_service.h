// headgate.v1.AgentService: what agents beside PostgreSQL tell, into the registry of agents.
//
// Its streams are on the serving loops: an agent takes no thread. A target that another server
// decides for is refused, and the agent is told whom to ask, in the metadata that callers of Check
// are told by too (remote_decider.h); one that is given away ends its agent's stream with the next
// message.
//
// Thread-safe.
//
//   AgentService service({.registry = registry, .engine = engine, ...});
//   options.more_async_services = {&service};

#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>
#include <headgate/v1/agent_service.pb.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/decide/engine/engine.h"
#include "server/govern/access/access_control.h"
#include "server/govern/config/config.h"
#include "server/observe/agents/agent_registry.h"
#include "server/serve/rpc/remote_decider.h"
#include "server/serve/transport/calls.h"
#include "server/serve/transport/service.h"
#include "server/serve/transport/stream_count.h"

namespace headgate::rpc {

class AgentService final : public transport::AsyncService {
 public:
  // All outlive the service.
  struct Sources {
    agents::AgentRegistry& registry;
    const engine::Engine& engine;  // knows what the targets are
    Clock& clock;
    access::AccessControl& access;
    transport::Calls& calls;
    // The configuration; null, or of nothing: there is none.
    std::function<std::shared_ptr<const config::Config>()> in_force = nullptr;
  };

  explicit AgentService(Sources sources);

  // Others decide for some of the targets. Before the server starts; it outlives the service.
  void Use(RemoteDecider& remote_decider) { remote_decider_ = &remote_decider; }
  void Open(transport::ServingLoop& loop) override;

 private:
  using Stream = agents::AgentRegistry::Stream;

  // Whether it may have a stream, and whose that is: its address's.
  grpc::Status Admit(grpc::ServerContext& context, std::string& name) const;
  grpc::Status MayWatch(grpc::ServerContext& context) const;
  grpc::Status Watch(grpc::ServerContext& context, const v1::WatchRequest& request,
                     v1::WatchResponse& response);
  // This server does not decide for the target.
  grpc::Status DecidedElsewhere(grpc::ServerContext& context, const std::string& target) const;
  void FillBatchWork(const std::string& target, v1::WatchResponse& response) const;
  Stream StreamOf(const grpc::ServerContext& context) ABSL_LOCKS_EXCLUDED(mutex_);
  void End(const grpc::ServerContext& context) ABSL_LOCKS_EXCLUDED(mutex_);

  const Sources on_;
  RemoteDecider* remote_decider_ = nullptr;  // null: this server decides for every target
  const int watch_;
  std::atomic<int64_t> streams_gauge_ = 0;
  transport::StreamCount streams_;
  Mutex mutex_;
  absl::flat_hash_map<const grpc::ServerContext*, Stream> open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::rpc
