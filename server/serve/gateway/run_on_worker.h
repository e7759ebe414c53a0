// RunOnWorker: puts an HTTP call off until a worker has answered it.
//
//   return RunOnWorker(workers, request, response, exchange, [](CallOnWorker& call) { ... });

#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "server/serve/gateway/http_answer.h"
#include "server/serve/gateway/incoming_call.h"
#include "server/serve/http/handler.h"
#include "server/serve/http/workers.h"
#include "server/serve/transport/error_status.h"

namespace headgate::gateway {

// Returns as Handle does. The request's body is the call's from then on.
inline bool RunOnWorker(http::Workers& workers, const http::Request& request,
                        http::Response& response, http::Exchange& exchange,
                        std::function<void(CallOnWorker&)> run) {
  const std::shared_ptr<http::Deferred> deferred = exchange.Defer(nullptr);
  if (deferred == nullptr) {
    FillError(transport::Overloaded("TOO_MANY_CALLS", "too many calls wait for an answer"),
              response);
    return true;
  }
  absl::Cord body = exchange.TakeBody();
  const size_t bytes = body.size();
  auto call = std::make_shared<CallOnWorker>(request, std::move(body), deferred);
  if (workers.Run(bytes, [call = std::move(call), run = std::move(run)] { run(*call); })) {
    return false;
  }
  FillError(transport::Overloaded("TOO_MANY_CALLS", "too many calls wait for a thread"), response);
  (void)deferred->Respond([&] { return response; });
  return false;
}

}  // namespace headgate::gateway
