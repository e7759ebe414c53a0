// What one of a loop's threads has for itself of one route: messages that it reuses from call to
// call, so that their memory stays in the cache, and counts. For that thread alone.

#pragma once

#include "absl/base/optimization.h"
#include "server/serve/transport/calls.h"
#include "server/serve/transport/wire.h"

namespace headgate::transport {

template <typename Request, typename Response>
struct alignas(ABSL_CACHELINE_SIZE) RouteThread {
  Decoded<Request> request;
  Encoded<Response> response;
  MethodCalls* counts = nullptr;  // null: nobody counts
};

}  // namespace headgate::transport
