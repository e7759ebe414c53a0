// headgate.v1.ThrottlerService: which method runs where.
//
// Check, BatchCheck, CheckStream and Report are decided on the serving loops, without a lock or a
// queue between them and the wire. Explain, which is rare and looks at more, runs on gRPC's
// threads.
//
// Thread-safe.

#ifndef HEADGATE_SERVER_RPC_THROTTLER_SERVICE_H_
#define HEADGATE_SERVER_RPC_THROTTLER_SERVICE_H_

#include "common/clock.h"
#include "server/access/access_control.h"
#include "server/engine/engine.h"
#include "server/rpc/check_streams.h"
#include "server/rpc/sources.h"
#include "server/throttle_log/recorder.h"
#include "server/transport/calls.h"
#include "server/transport/service.h"
#include "server/transport/serving_loop.h"

namespace headgate::rpc {

class ThrottlerService final : public transport::AsyncService {
 public:
  // `activity`, `recorder`, `access` and `calls` may be null; all outlive this.
  ThrottlerService(engine::Engine& engine, Clock& clock, CheckListener* activity,
                   throttle_log::Recorder* recorder, access::AccessControl* access,
                   transport::StreamLimits streams, transport::Calls* calls = nullptr);

  void Open(transport::ServingLoop& loop) override;

  int streams_open() const { return streams_.open(); }

 private:
  engine::Engine& engine_;
  Clock& clock_;
  CheckListener* const activity_;
  throttle_log::Recorder* const recorder_;
  access::AccessControl* const access_;
  transport::Calls* const calls_;
  transport::StreamCount streams_;
  const int check_;
  const int batch_check_;
  const int check_stream_;
  const int report_;
};

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_THROTTLER_SERVICE_H_
