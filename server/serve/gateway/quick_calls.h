// QuickCalls: Check, BatchCheck and Report over HTTP, as one thread answers them. A Check that has
// to wait in line is put off.
//
// Belongs to one thread. The API outlives it.
//
//   QuickCalls calls(api);
//   CallOnPort call(request, exchange);
//   if (calls.Answer(QuickMethod::kCheck, call, response)) ... it is answered ...

#pragma once

#include <grpcpp/support/status.h>
#include <headgate/v1/throttler_service.pb.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "server/serve/gateway/incoming_call.h"
#include "server/serve/http/message.h"
#include "server/serve/json/json_reader.h"
#include "server/serve/json/json_writer.h"
#include "server/serve/rpc/api.h"
#include "server/serve/transport/calls.h"

namespace headgate::gateway {

enum class QuickMethod : uint8_t { kCheck, kBatchCheck, kReport };

class QuickCalls {
 public:
  explicit QuickCalls(const rpc::Api& api);

  // False: its answer was put off.
  bool Answer(QuickMethod method, IncomingCall& call, http::Response& response);

  // One whose caller has hung up before it was begun.
  void CountGone(QuickMethod method);

  // What freno's clients ask is the Check that was put here, and which charges nothing.
  v1::CheckRequest& freno_check() { return check_.request; }
  // `admitted`: whether it may be asked at all. False: its answer was put off.
  bool AnswerFreno(const grpc::Status& admitted, const http::Request& request,
                   http::Exchange& exchange, http::Response& response);

 private:
  template <typename Request, typename Response>
  struct Counted {
    Counted(transport::Calls& calls, std::string_view name)
        : counts(calls.AddThread(name)), parked_counts(calls.Shared(name)) {}

    transport::MethodCalls& counts;
    transport::MethodCalls& parked_counts;  // any thread's
    Request request;
    Response response;
  };

  template <typename Method, typename Decide>
  bool Answer(Method& method, IncomingCall& call, http::Response& response, Decide decide);

  const std::unique_ptr<rpc::ServingThread> thread_;
  json::JsonReader reader_;
  json::JsonWriter writer_;
  Counted<v1::CheckRequest, v1::CheckResponse> check_;
  Counted<v1::BatchCheckRequest, v1::BatchCheckResponse> batch_check_;
  Counted<v1::ReportRequest, v1::ReportResponse> report_;
};

// As it is read; else what is wrong.
grpc::Status ReadJson(json::JsonReader& reader, std::string_view body,
                      google::protobuf::Message& message);

}  // namespace headgate::gateway
