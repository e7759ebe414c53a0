// Ports: where the server is reached, and what one connection may cost it.
//
// The main port, and if wanted one for probes that speaks plaintext where the main one speaks TLS.
// Both lead to the same gRPC server, because a second one in the process would slow every call.
//
// A connection is closed
// - unless it has got through TLS and the first words of HTTP/2 in the time for handshakes;
// - when it is idle for so long, or does not answer a ping;
// - when it is so old, and its calls have had their grace: callers open another, with the
//   certificates of that day;
// - when callers hold too much memory, and it is of those that brought most without an answer.
//
// Thread-safe, except that Start and Stop are called once, by one thread.
//
//   auto ports = Ports::Open({.address = "127.0.0.1:0"});
//   (*ports)->AddTo(builder);
//   ... builder.BuildAndStart() ...
//   (*ports)->Start();
//   ... (*ports)->Stop() before the server is shut down ...

#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/serve/transport/acceptor.h"
#include "server/serve/transport/process_memory.h"
#include "server/serve/transport/taken_bytes.h"

namespace headgate::transport {

struct ConnectionLimits {
  int max_open = 4096;  // fewer where there are not so many open files
  absl::Duration handshake = absl::Seconds(10);
  absl::Duration idle = absl::Minutes(15);
  absl::Duration age = absl::Minutes(30);       // up to a tenth more or less
  absl::Duration age_grace = absl::Minutes(1);  // for calls, streams among them
  absl::Duration keepalive = absl::Minutes(1);  // a caller that says nothing is asked so often
  absl::Duration keepalive_timeout = absl::Seconds(20);  // and is gone if it takes so long
};

struct PortOptions {
  std::string address = "127.0.0.1:8081";  // "host:port"; port 0: a free one
  std::shared_ptr<grpc::ServerCredentials> credentials = nullptr;  // null: plaintext
  std::string health_address = {};                                 // empty: none
  ConnectionLimits limits = {};
  // Whose memory is not the callers'. What they refer to outlives the ports.
  std::vector<MemoryOwner> memory_owners = {};
};

class Ports {
 public:
  // Listens, but takes no connection yet. Unavailable: cannot listen.
  static absl::StatusOr<std::unique_ptr<Ports>> Open(const PortOptions& options);
  Ports(const Ports&) = delete;
  Ports& operator=(const Ports&) = delete;

  void AddTo(grpc::ServerBuilder& builder);
  // Once the gRPC server runs.
  absl::Status Start();
  void Stop();
  // After Stop: ends connections through which nothing was sent since it was asked so many times.
  void EndStill(int times);

  int port() const { return main_.acceptor->port(); }
  // 0: there is none.
  int health_port() const { return has_health() ? health_.acceptor->port() : 0; }
  bool has_health() const { return health_.acceptor != nullptr; }
  // So many bytes more, or fewer, of the process are no callers' doing.
  void AllowMemory(int64_t bytes) { memory_.Allow(bytes); }
  std::vector<OwnedMemory> ReadMemory() const { return memory_.Read(); }
  // For services to tell what they have taken of connections to the main port.
  TakenBytes& taken() { return taken_; }
  // Of the main port; those that were ended for their headers are of all ports of this process.
  ConnectionCounts counts() const;

 private:
  struct Port {
    std::unique_ptr<Acceptor> acceptor;
    std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> grpc;
  };

  explicit Ports(const PortOptions& options) : options_(options), memory_(options.memory_owners) {}
  absl::Status OpenPort(const std::string& address, int max_connections, Port& port);
  static void AddPort(const std::shared_ptr<grpc::ServerCredentials>& credentials,
                      grpc::ServerBuilder& builder, Port& port);
  static absl::Status StartPort(Port& port);

  const PortOptions options_;
  ProcessMemory memory_;
  TakenBytes taken_;
  Port main_;
  Port health_;
};

}  // namespace headgate::transport
