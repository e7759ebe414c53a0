// Which services a gRPC server has here: headgate.v1.ThrottlerService and StatusService, those of
// its caller, grpc.health.v1, and reflection.
//
// Checks are decided on the threads that are asked for (transport/grpc_server.h). One of them
// serves about 70,000 a second; a second one makes each cost half as much again.
//
// Thread-safe, except that Shutdown is called once.
//
//   auto server = RpcServer::Start({.address = "127.0.0.1:0"}, {.engine = engine, ...});
//   if (!server.ok()) return server.status();
//   (*server)->SetServing(true);
//   ... (*server)->port() ...
//   (*server)->Shutdown(absl::Seconds(5));

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/serve/rpc/api.h"
#include "server/serve/rpc/dependencies.h"
#include "server/serve/rpc/guarded_service.h"
#include "server/serve/rpc/line_thread.h"
#include "server/serve/transport/grpc_server.h"
#include "server/serve/transport/stream_count.h"

namespace headgate::rpc {

class StatusService;
class ThrottlerService;

struct RpcServerOptions {
  std::string address = "127.0.0.1:8081";  // "host:port"; port 0 picks a free one
  std::shared_ptr<grpc::ServerCredentials> credentials = nullptr;  // null: plaintext
  std::string health_address = {};  // for probes in plaintext, with credentials; empty: none
  transport::ConnectionLimits connections = {};
  bool reflection = true;
  int64_t max_message_bytes = int64_t{4} << 20;  // 1 kB to 1 GB; larger requests are refused
  int threads = 1;                               // see GrpcServerOptions; 1 to config::kMaxThreads
  transport::StreamLimits streams = {};          // CheckStreams open at once
  int max_health_watches = 64;                   // each has a thread
  // Answers, besides those to Checks and reports, that nobody reads for so long are cancelled.
  absl::Duration unread_answers = absl::Seconds(5);
  // Whose memory is not held against callers, besides the recorder's and the lines'.
  std::vector<transport::MemoryOwner> memory_owners = {};
  std::string version = "unknown";  // of the server, for GetStatus
  // Served along with ours on the same threads, such as a benchmark's. They outlive the server.
  std::vector<transport::AsyncService*> more_async_services = {};
  // Likewise, of those that answer by the API's handlers: what peers call. Null: there is none.
  ApiService* peers = nullptr;
  PeerQuestions* questions = nullptr;  // on gRPC's threads
  // Served besides ours, by the API too. They outlive the server. grpc.health.v1 does not list
  // them.
  std::vector<GuardedService*> guarded_services = {};
  // Further ones, by gRPC alone, which outlive the server. With a
  // health_address they have to be of class Service, which refuses calls over it.
  std::vector<grpc::Service*> more_services = {};
};

class RpcServer {
 public:
  // What `options` points to outlives the server. Errors: InvalidArgument for options out of range,
  // Unavailable where the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const RpcServerOptions& options,
                                                          const Dependencies& on);
  // Without grace, if Shutdown was not called.
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  int port() const { return grpc_.port(); }
  // 0: there is none.
  int health_port() const { return grpc_.health_port(); }
  // For calls that come otherwise than by gRPC, while this serves.
  const Api& api() const { return *api_; }
  void SetServing(bool serving) { grpc_.SetServing(serving); }
  // Returns when the last call has ended. Those who wait in line are told to go elsewhere first.
  void Shutdown(absl::Duration grace);

  // Those of health_address, which has room of its own, are not counted.
  transport::ConnectionCounts connections() const { return grpc_.connections(); }
  // Of tables that were made or given back, say: see transport::GrpcServer.
  void AllowMemory(int64_t bytes) { grpc_.AllowMemory(bytes); }
  // Who holds how much: the server's own parts, and callers.
  std::vector<transport::OwnedMemory> ReadMemory() const { return grpc_.ReadMemory(); }
  // CheckStreams that are open.
  int streams_open() const;
  // Health watches that are open.
  int health_watches() const { return grpc_.health_watches(); }

 private:
  RpcServer(const RpcServerOptions& options, const Dependencies& on);

  std::unique_ptr<ThrottlerService> throttler_;
  std::unique_ptr<StatusService> status_;
  const Dependencies on_;
  const std::unique_ptr<const Api> api_;
  LineThread line_thread_;
  transport::GrpcServer grpc_;
};

}  // namespace headgate::rpc
