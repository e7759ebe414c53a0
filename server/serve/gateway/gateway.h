// Gateway: the API over HTTP. `POST /v1/METHOD`, with a request in JSON, is that method of the API,
// named in snake_case: /v1/check, /v1/list_budgets. So what a job may ask, and what it is answered,
// is the same over HTTP and gRPC. CheckStream is left to gRPC, since few clients of HTTP/1.1 can
// hear an answer while they still speak: /v1/batch_check and connections that are kept open do as
// well. docs/http.md has the rest: statuses, headers, and what freno's clients ask.
//
// Check, BatchCheck and Report are answered on the port's thread, and those that are large, such as
// batches of a thousand, on one of their own, so that nobody waits for them who asks for little.
// What may take longer has threads of its own, too (worker_calls.h). All that waits for a thread
// has a bound.
//
// Belongs to the port's thread. The API outlives it; its end waits for the calls that have threads,
// and refuses those that wait for one.
//
//   Gateway gateway(rpc_server.api(), {.requires_tls = true});
//   ... gateway.Handle(request, response, exchange) ...

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "server/serve/gateway/incoming_call.h"
#include "server/serve/gateway/page_rules.h"
#include "server/serve/gateway/quick_calls.h"
#include "server/serve/gateway/worker_calls.h"
#include "server/serve/http/handler.h"
#include "server/serve/http/workers.h"
#include "server/serve/rpc/api.h"

namespace headgate::gateway {

struct GatewayOptions {
  bool requires_tls = false;  // whether calls in plaintext are refused
  PageRules pages = {};
  http::WorkersOptions workers = {.threads = 2};
};

class Gateway final : public http::Handler {
 public:
  explicit Gateway(const rpc::Api& api, const GatewayOptions& options = {});
  ~Gateway() override;

  bool Handle(const http::Request& request, http::Response& response,
              http::Exchange& exchange) override;

 private:
  // Whether the API may be called in this way at all.
  grpc::Status Admit(const http::Request& request) const;
  // Whether a page may call this method, if it is one that calls.
  grpc::Status AdmitPage(const http::Request& request) const;
  // What there is to call, for those who may call anything.
  void TellOpenApi(const http::Request& request, http::Response& response) const;
  // For freno's clients.
  bool AnswerFreno(const http::Request& request, http::Exchange& exchange,
                   http::Response& response);
  // Returns as Handle does.
  bool RunLarge(QuickMethod method, const http::Request& request, http::Response& response,
                http::Exchange& exchange);

  const GatewayOptions options_;
  const rpc::Api& api_;
  absl::flat_hash_map<std::string, QuickMethod> quick_;  // by path
  std::atomic<bool> ending_{false};                      // relaxed: a word that nothing hangs on
  QuickCalls calls_;                                     // the port's thread's
  // The large worker's; null until there is something for it, since it has counts of its own.
  std::unique_ptr<QuickCalls> large_calls_;
  // The last: they use all above.
  http::Workers large_worker_;
  WorkerCalls worker_calls_;
};

}  // namespace headgate::gateway
