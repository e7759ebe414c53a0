// headgate.v1.ThrottlerService: which method runs where.
//
// Check, BatchCheck, CheckStream and Report are decided on the serving loops, without a queue
// between them and the wire, or a lock that is held for long. Explain, which is rare and looks at
// more, runs on gRPC's threads.
//
// Thread-safe.

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <atomic>
#include <cstdint>

#include "server/govern/access/evidence.h"
#include "server/serve/rpc/dependencies.h"
#include "server/serve/rpc/method.h"
#include "server/serve/rpc/waiting_call.h"
#include "server/serve/transport/service.h"
#include "server/serve/transport/serving_loop.h"
#include "server/serve/transport/stream_count.h"

namespace headgate::rpc {

class ThrottlerService final : public transport::AsyncService {
 public:
  ThrottlerService(const Dependencies& on, transport::StreamLimits streams);

  void Open(transport::ServingLoop& loop) override;

  int streams_open() const { return streams_.open(); }

  // For calls that come otherwise than by gRPC.
  const WaitingNeeds& waiting() const { return waiting_; }
  Method explain();

 private:
  grpc::Status Explain(const access::Evidence& call, const v1::ExplainRequest& request,
                       v1::ExplainResponse& response);

  const Dependencies on_;
  std::atomic<int64_t> parked_bytes_ = 0;
  const WaitingNeeds waiting_;
  transport::StreamCount streams_;
  const int check_;
  const int batch_check_;
  const int check_stream_;
  const int report_;
};

}  // namespace headgate::rpc
