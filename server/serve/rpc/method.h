// Method: a unary method of the API, for whoever takes calls otherwise than gRPC does.
//
// Immutable. It may take a while, and be called by any thread.
//
//   const std::unique_ptr<Message> request(method.request->New());
//   const std::unique_ptr<Message> response(method.response->New());
//   grpc::Status status = method.run(call, evidence, *request, *response);

#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <functional>

#include "server/govern/access/evidence.h"
#include "server/serve/transport/call_context.h"

namespace headgate::rpc {

struct Method {
  const char* path;                          // "/headgate.v1.CostService/ListCosts"
  const google::protobuf::Message* request;  // to make others of
  const google::protobuf::Message* response;
  // With a request and an empty response of these types.
  std::function<grpc::Status(transport::CallContext&, const access::Evidence&,
                             const google::protobuf::Message&, google::protobuf::Message&)>
      run;
};

// Makes a method of a function that is called as run(call, evidence, request, response).
template <typename Request, typename Response, typename Run>
Method MakeMethod(const char* path, Run run) {
  return {.path = path,
          .request = &Request::default_instance(),
          .response = &Response::default_instance(),
          .run = [run](transport::CallContext& call, const access::Evidence& evidence,
                       const google::protobuf::Message& request,
                       google::protobuf::Message& response) -> grpc::Status {
            return run(call, evidence, static_cast<const Request&>(request),
                       static_cast<Response&>(response));
          }};
}

}  // namespace headgate::rpc
