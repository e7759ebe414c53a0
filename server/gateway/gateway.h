// Gateway: the API over HTTP. `POST /v1/METHOD`, with a request in JSON, is that method of the API,
// named in snake_case: /v1/check, /v1/list_budgets. So what a job may ask, and what it is answered,
// is the same over HTTP and gRPC. CheckStream is left to gRPC, since few clients of HTTP/1.1 can
// hear an answer while they still speak: /v1/batch_check and connections that are kept open do as
// well. docs/http.md has the rest: statuses, headers, and what freno's clients ask.
//
// Check, BatchCheck and Report are answered on the port's thread; one that has to wait in line is
// put off. What may take longer has threads of its own, and a bound.
//
// Belongs to the port's thread. The API outlives it; its end waits for the calls that have threads,
// and refuses those that wait for one.
//
//   Gateway gateway(rpc_server.api(), {.requires_tls = true});
//   ... gateway.Handle(request, response, exchange) ...

#pragma once

#include <headgate/v1/throttler_service.pb.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "server/gateway/http_call.h"
#include "server/gateway/page_rules.h"
#include "server/http/handler.h"
#include "server/http/workers.h"
#include "server/json/json_reader.h"
#include "server/json/json_writer.h"
#include "server/rpc/api.h"
#include "server/transport/calls.h"

namespace headgate::gateway {

struct GatewayOptions {
  bool requires_tls = false;  // whether calls in plaintext are refused
  PageRules pages = {};
  http::WorkersOptions workers = {.threads = 2, .most = 64};
};

class Gateway final : public http::Handler {
 public:
  explicit Gateway(const rpc::Api& api, const GatewayOptions& options = {});
  ~Gateway() override;

  bool Handle(const http::Request& request, http::Response& response,
              http::Exchange& exchange) override;

 private:
  // What the port's thread answers itself, and counts.
  template <typename Request, typename Response>
  struct Quick {
    Quick(transport::Calls& calls, std::string_view name)
        : counts(calls.AddThread(name)), parked_counts(calls.Shared(name)) {}

    transport::MethodCalls& counts;
    transport::MethodCalls& parked_counts;  // any thread's
    Request request;
    Response response;
  };
  // What may take longer.
  struct Slow {
    const rpc::Method* method;
    transport::MethodCalls* counts;
  };
  using Run = bool (Gateway::*)(const http::Request&, http::Response&, http::Exchange&);

  // Whether the API may be called in this way at all.
  grpc::Status Admit(const http::Request& request) const;
  // Whether a page may call this method, if it is one that calls.
  grpc::Status AdmitPage(const http::Request& request) const;
  bool Check(const http::Request& request, http::Response& response, http::Exchange& exchange);
  bool BatchCheck(const http::Request& request, http::Response& response, http::Exchange& exchange);
  bool Report(const http::Request& request, http::Response& response, http::Exchange& exchange);
  template <typename Method, typename Decide>
  bool Answer(Method& method, const http::Request& request, http::Response& response,
              http::Exchange& exchange, Decide decide);
  // What there is to call, for those who may call anything.
  void TellOpenApi(const http::Request& request, http::Response& response) const;
  // For freno's clients.
  bool AnswerFreno(const http::Request& request, http::Response& response);
  bool RunSlow(const Slow& slow, const http::Request& request, http::Response& response,
               http::Exchange& exchange);

  const GatewayOptions options_;
  const rpc::Api& api_;
  const std::unique_ptr<rpc::ServingThread> thread_;
  json::JsonReader reader_;
  json::JsonWriter writer_;
  Quick<v1::CheckRequest, v1::CheckResponse> check_;
  Quick<v1::BatchCheckRequest, v1::BatchCheckResponse> batch_check_;
  Quick<v1::ReportRequest, v1::ReportResponse> report_;
  absl::flat_hash_map<std::string, Run> quick_;  // by path
  absl::flat_hash_map<std::string, Slow> slow_;
  std::atomic<bool> ending_{false};  // relaxed: a word that nothing hangs on
  http::Workers workers_;            // the last: they use all above
};

// "/v1/list_budgets" of "/headgate.v1.StatusService/ListBudgets".
std::string PathOf(std::string_view method_path);

}  // namespace headgate::gateway
