// A gRPC server: its ports, its threads, grpc.health.v1 and reflection, and whatever services it is
// given.
//
// For each of `threads` there is a completion queue with two threads, on which asynchronous
// services answer calls as they arrive; everything else runs on gRPC's threads, of which there are
// only so many.
//
// It can have a second port where only grpc.health.v1 is answered, for probes that speak no TLS.
//
// It says NOT_SERVING until SetServing(true). Shutdown drains: running calls are finished, and cut
// off when the grace is over; new ones wait until every connection has been told that this is the
// end (some 50 ms), and are then refused with UNAVAILABLE, as waiting streams are. So a caller that
// asks once more asks whoever comes next, and not this server again. Once nothing is in progress,
// who is connected and says nothing keeps it no longer: it is over in a fifth of a second.
//
// Thread-safe once it is started, except that Shutdown is called once.
//
//   GrpcServer server({.ports = {.address = "127.0.0.1:0"}, .services = {&hello}});
//   if (absl::Status started = server.Start(); !started.ok()) return started;
//   server.SetServing(true);
//   ... server.port() ...
//   server.Shutdown(absl::Seconds(5));

#pragma once

#include <grpcpp/server.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/serve/transport/answer_watch.h"
#include "server/serve/transport/health_service.h"
#include "server/serve/transport/ports.h"
#include "server/serve/transport/reflection_service.h"
#include "server/serve/transport/service.h"
#include "server/serve/transport/serving_loop.h"

namespace headgate::transport {

struct GrpcServerOptions {
  PortOptions ports = {};
  int64_t max_message_bytes = int64_t{4} << 20;  // 1 kB to 1 GB; larger requests are refused
  int threads = 1;                               // queues with two threads each
  Clock* clock = nullptr;                        // for the pace of calls; null: not looked at
  int max_health_watches = 64;                   // each has a thread
  // Answers of synchronous methods that nobody reads for so long are cancelled.
  absl::Duration unread_answers = absl::Seconds(5);
  bool reflection = true;
  ReflectionService::Admission may_reflect = ReflectionService::AdmitEverybody;
  // What grpc.health.v1 knows besides the server as a whole.
  std::set<std::string> health_names = {};
  // They outlive the server. Those that are asynchronous are opened on every loop.
  std::vector<AsyncService*> async_services = {};
  // With a health_address they have to be of class Service, which refuses calls over it.
  std::vector<grpc::Service*> services = {};
};

class GrpcServer {
 public:
  explicit GrpcServer(GrpcServerOptions options);
  // Without grace, if Shutdown was not called.
  ~GrpcServer() { Shutdown(absl::ZeroDuration()); }
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  // Once. Errors: InvalidArgument for options out of range, Unavailable where the address cannot be
  // listened on.
  absl::Status Start();

  int port() const { return ports_->port(); }
  // 0: there is none.
  int health_port() const { return ports_->health_port(); }
  void SetServing(bool serving) { health_.SetServing(serving); }
  // Returns when the last call has ended.
  void Shutdown(absl::Duration grace);

  // Memory that is no callers' doing, after which connections are not to be closed; negative: less.
  void AllowMemory(int64_t bytes) { ports_->AllowMemory(bytes); }
  // Who holds how much.
  std::vector<OwnedMemory> ReadMemory() const { return ports_->ReadMemory(); }

  // Those of health_address, which has room of its own, are not counted.
  ConnectionCounts connections() const { return ports_->counts(); }
  // Health watches that are open.
  int health_watches() const { return health_.watchers(); }

 private:
  void Register(grpc::Service& service, grpc::ServerBuilder& builder);
  // Whether calls have come that nobody has answered yet.
  bool IsAnswering() const;
  void EndServer(absl::Duration grace);

  const GrpcServerOptions options_;
  std::unique_ptr<Ports> ports_;
  HealthService health_;
  AnswerWatch answer_watch_;
  std::vector<std::unique_ptr<ServingLoop>> loops_;
  std::vector<const Service*> services_;  // of options_, those of this class
  std::unique_ptr<grpc::Server> server_;  // null: never started, or shut down
};

}  // namespace headgate::transport
