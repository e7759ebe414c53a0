// The CheckStream calls on one loop: each message is a batch, answered before the next is read.
//
// A few calls wait for callers; each that gets one posts another in its place, and is deleted when
// it ends. Over a limit a stream is refused with RESOURCE_EXHAUSTED; when the server drains,
// those that wait for their caller's next message end with UNAVAILABLE, the others behind the
// answer they are writing. A stream holds no message of its own: gRPC parses a request just before
// it hands it over, and has serialised the response when Write returns.

#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "server/transport/calls.h"
#include "server/transport/service.h"
#include "server/transport/serving_loop.h"
#include "server/transport/stream_count.h"
#include "server/transport/wire.h"

namespace headgate::rpc {

class CheckStreams final : public transport::Route {
 public:
  // Overwrites the response, which is the one before.
  using Handler = std::function<grpc::Status(grpc::ServerContext&, const v1::CheckStreamRequest&,
                                             v1::CheckStreamResponse&)>;

  // Whether a caller may have a stream at all, and its name, which may be none; each of its
  // messages is the handler's to judge.
  using Admission = std::function<grpc::Status(grpc::ServerContext&, std::string& caller)>;

  // `count` outlives this, and so does `counted`, which is for the loop's thread and may be null.
  CheckStreams(transport::Service& service, int method, transport::ServingLoop& loop,
               transport::StreamCount& count, Admission admission, Handler handler,
               transport::MethodCalls* counted = nullptr);
  ~CheckStreams() override;

  void Drain() override;

 private:
  class Call;

  void Post();
  void Remove(Call* call);

  transport::Service& service_;
  const int method_;
  transport::ServingLoop& loop_;
  transport::StreamCount& count_;
  const Admission admission_;
  const Handler handler_;
  transport::MethodCalls* const counted_;  // messages are timed, ends counted
  transport::Decoded<v1::CheckStreamRequest> request_;
  transport::Encoded<v1::CheckStreamResponse> response_;
  absl::flat_hash_map<Call*, std::unique_ptr<Call>> calls_;
};

}  // namespace headgate::rpc
