// Calls of our API, by whoever has a connection. None waits for ever.
//
//   v1::GetStatusResponse response;
//   EXPECT_TRUE(CallRpc(server.channel, &v1::StatusService::Stub::GetStatus, {}, response).ok());

#pragma once

#include <google/protobuf/message.h>
#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <headgate/v1/throttler_service.grpc.pb.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "gtest/gtest.h"
#include "tests/testing/error_details.h"

namespace headgate {

// One call's context.
struct Context : grpc::ClientContext {
  Context() { set_deadline(gpr_time_from_seconds(60, GPR_TIMESPAN)); }
};

// Calls our API otherwise than over gRPC: that method whose request it is.
class OtherWay {
 public:
  virtual ~OtherWay() = default;
  virtual grpc::Status Call(const std::string& authorization,
                            const google::protobuf::Message& request,
                            google::protobuf::Message& response) = 0;
};

// How somebody calls.
struct Peer {
  // Without authorization there is no such header.
  Peer(std::shared_ptr<grpc::Channel> channel, std::string authorization = "")
      : channel(std::move(channel)), authorization(std::move(authorization)) {}

  void Fill(Context& context) const {
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
  }

  std::shared_ptr<grpc::Channel> channel;
  std::string authorization;
  std::shared_ptr<OtherWay> other_way = nullptr;  // null: over gRPC
};

template <typename Stub, typename Request, typename Response>
using RpcMethod = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

template <typename Stub, typename Request, typename Response>
grpc::Status CallRpc(const Peer& peer, RpcMethod<Stub, Request, Response> method,
                     const std::type_identity_t<Request>& request, Response& response) {
  if (peer.other_way != nullptr) return peer.other_way->Call(peer.authorization, request, response);
  Context context;
  peer.Fill(context);
  response.Clear();
  return (Stub(peer.channel).*method)(&context, request, &response);
}
// Where only the outcome is of interest.
template <typename Stub, typename Request, typename Response>
grpc::Status CallRpc(const Peer& peer, RpcMethod<Stub, Request, Response> method,
                     const std::type_identity_t<Request>& request = {}) {
  Response response;
  return CallRpc(peer, method, request, response);
}

// Where the call has to succeed.
template <typename Stub, typename Request, typename Response>
Response AnswerOf(const Peer& peer, RpcMethod<Stub, Request, Response> method,
                  const std::type_identity_t<Request>& request = {}) {
  Response response;
  const grpc::Status status = CallRpc(peer, method, request, response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

// Of a call that has failed.
inline ErrorDetails DetailsOf(const grpc::Status& status) {
  const std::optional<ErrorDetails> details = ReadDetails(status);
  EXPECT_TRUE(details.has_value()) << status.error_message() << ": " << status.error_details();
  return details.value_or(ErrorDetails());
}

// Of a request that was refused: the field at fault.
inline std::string FieldAtFault(const grpc::Status& status) {
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  const ErrorDetails details = DetailsOf(status);
  return details.fields.empty() ? "none" : details.fields[0];
}

inline v1::CheckRequest CheckOf(const std::string& identity, double cost) {
  v1::CheckRequest request;
  request.set_identity(identity);
  request.set_estimated_cost(cost);
  return request;
}

inline v1::CheckStreamRequest MessageOf(int count, double cost) {
  v1::CheckStreamRequest request;
  for (int i = 0; i < count; ++i) *request.add_checks() = CheckOf("job:etl", cost);
  return request;
}

// A CheckStream, which the server has certainly taken up once an exchange has succeeded.
struct OpenStream {
  explicit OpenStream(const Peer& peer) {
    peer.Fill(context);
    stream = v1::ThrottlerService::Stub(peer.channel).CheckStream(&context);
  }

  bool Exchange(int count = 1) {
    v1::CheckStreamResponse response;
    return stream->Write(MessageOf(count, 0)) && stream->Read(&response) &&
           response.results_size() == count;
  }
  grpc::Status Close() {
    stream->WritesDone();
    return stream->Finish();
  }

  Context context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CheckStreamRequest, v1::CheckStreamResponse>> stream;
};

}  // namespace headgate
