// headgate.peer.v1.PeerService: what other servers call. Nobody else is answered, whatever they say
// of themselves.
//
// Calls that are forwarded here are decided on the serving loops, like those that come from callers
// themselves. A stream's messages are judged by its beginning: a certificate that is no peer's any
// more may go on until its connection ends.
//
// Thread-safe.
//
//   PeerService peers(forwarder);
//   auto server = RpcServer::Start({..., .peers = &peers}, {..., .remote_decider = &forwarder});

#pragma once

#include <grpcpp/server_context.h>
#include <headgate/peer/v1/peer_service.pb.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/mutex.h"
#include "server/serve/peers/decider.h"
#include "server/serve/peers/forwarder.h"
#include "server/serve/peers/peer_stream.h"
#include "server/serve/rpc/api.h"
#include "server/serve/transport/stream_count.h"

namespace headgate::peers {

class PeerService final : public rpc::ApiService {
 public:
  // Is told of targets that a peer has given to this server; returns at once.
  using OnGiven = std::function<void(const peer::v1::GivenTarget& given)>;

  // The forwarder outlives this.
  explicit PeerService(Forwarder& forwarder, OnGiven on_given = {});

  void Use(const rpc::Api& api) override;
  void Open(transport::ServingLoop& loop) override;

  int streams_open() const { return streams_count_.open(); }
  // Calls of others that wait here, or were answered and whose end is not told yet.
  size_t kept() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Parking = transport::Parking<peer::v1::ForwardResponse>;

  grpc::Status MustBePeer(grpc::ServerContext& context) const;
  // One message of a stream, and where its answer goes.
  struct Message {
    const grpc::ServerContext& context;
    const peer::v1::ForwardRequest& request;
    peer::v1::ForwardResponse& response;
    Parking& parking;
  };
  grpc::Status Forward(Decider& decider, const Message& message);
  void OpenStream(const grpc::ServerContext& context, Parking& parking);
  std::shared_ptr<PeerStream> StreamOf(const grpc::ServerContext& context)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // One call of a message, likewise.
  struct Question {
    const ForwardedCall& call;
    ForwardedAnswer& answer;
    ForwardParking& parking;
  };
  // False: it is parked.
  bool Decide(Decider& decider, const Question& question);
  bool DecideReport(Decider& decider, const Question& question);
  bool DecidesAllHere(const ForwardedCall& call);

  Forwarder& forwarder_;
  const OnGiven on_given_;
  const rpc::Api* api_ = nullptr;
  const int forward_;
  std::atomic<int64_t> streams_gauge_{0};  // relaxed: a number that orders nothing
  transport::StreamCount streams_count_;
  mutable Mutex mutex_;
  // By gRPC's context, which is the stream's own while that is open.
  absl::flat_hash_map<const grpc::ServerContext*, std::shared_ptr<PeerStream>> streams_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::peers
