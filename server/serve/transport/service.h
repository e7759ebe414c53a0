// What the services here share with generated ones: methods, by name, and how calls get to them.
//
// Generated services fix the type that a request is parsed into; these take Decoded<Request>, or
// the bytes for one, so that malformed ones get a proper error (wire.h). Otherwise each call here
// is what generated code does.
//
// Methods are added by the constructor; after that, immutable and thread-safe.
//
//   class Hello final : public Service {
//    public:
//     Hello() {
//       AddSync<v1::HelloRequest, v1::HelloResponse>(
//           "/headgate.v1.Hello/Greet", [](auto& context, auto& request, auto& response) {...});
//     }
//   };

#pragma once

#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "server/serve/transport/answer_watch.h"
#include "server/serve/transport/call_context.h"
#include "server/serve/transport/call_origin.h"
#include "server/serve/transport/calls.h"
#include "server/serve/transport/error_status.h"
#include "server/serve/transport/serving_loop.h"
#include "server/serve/transport/taken_bytes.h"
#include "server/serve/transport/wire.h"

namespace headgate::transport {

// A response, until it is sent.
template <typename Message>
struct Sent : Encoded<Message> {
  AnswerWatch::Unread unread;
};

class Service : public grpc::Service {
 public:
  // From then on calls over plaintext are refused. Before the server starts.
  void RequireTls() { requires_tls_ = true; }
  // From then on answers of AddSync's methods that nobody reads are cancelled. Before the server
  // starts; `watch` outlives it.
  void WatchAnswers(AnswerWatch& watch) { answer_watch_ = &watch; }
  // From then on it is told which large messages AddSync's methods have taken. Before the server
  // starts; `taken` outlives it.
  void TellTaken(TakenBytes& taken) { taken_ = &taken; }
  // Whether a call that came may be handled at all.
  grpc::Status Admit(grpc::ServerContext& context) const {
    if (requires_tls_ && IsPlaintext(context)) [[unlikely]]
      return HealthPortError();
    return grpc::Status();
  }

  // Calls of AddSync's methods that run, and have not been answered yet.
  int running() const { return running_.load(std::memory_order_relaxed); }

  // The next call of a method that AddAsync named, and who is told on which loop that it has come.
  struct NextCall {
    int method = 0;
    grpc::ServerContext& context;
    grpc::internal::ServerAsyncStreamingInterface& stream;  // its answers go there
    ServingLoop& loop;
    Event& event;
  };
  void RequestUnary(const NextCall& next, grpc::ByteBuffer& request) {
    grpc::ServerCompletionQueue& queue = next.loop.queue();
    RequestAsyncUnary(next.method, &next.context, &request, &next.stream, &queue, &queue,
                      &next.event);
  }
  void RequestStream(const NextCall& next) {
    grpc::ServerCompletionQueue& queue = next.loop.queue();
    RequestAsyncBidiStreaming(next.method, &next.context, &next.stream, &queue, &queue,
                              &next.event);
  }

  // Counts the calls of AddSync's methods from now on. Before the server starts; `calls` outlives
  // this.
  void Observe(Calls& calls) {
    calls_ = &calls;
    for (SyncMethod& method : sync_methods_)
      method.calls = &calls.Shared(Calls::MethodOf(method.path));
  }

 protected:
  using Kind = grpc::internal::RpcMethod::RpcType;

  // Returns the method's number. `path` is "/package.Service/Method" and lives for ever.
  int AddAsync(const char* path, Kind kind) {
    AddMethod(new grpc::internal::RpcServiceMethod(path, kind, nullptr));
    MarkMethodAsync(methods_);
    return methods_++;
  }

  // A unary method that runs on threads of gRPC's.
  template <typename Request, typename Response>
  void AddSync(const char* path,
               std::function<grpc::Status(grpc::ServerContext&, const Request&, Response&)> run) {
    using Handler = grpc::internal::RpcMethodHandler<Service, Decoded<Request>, Sent<Response>>;
    SyncMethod& method = sync_methods_.emplace_back(SyncMethod{path});
    AddMethod(new grpc::internal::RpcServiceMethod(
        path, Kind::NORMAL_RPC,
        new Handler(
            [this, &method, run = std::move(run)](Service*, grpc::ServerContext* context,
                                                  const Decoded<Request>* request,
                                                  Sent<Response>* response) {
              // relaxed, both: a number that orders nothing.
              running_.fetch_add(1, std::memory_order_relaxed);
              const absl::Cleanup ends = [this] {
                running_.fetch_sub(1, std::memory_order_relaxed);
              };
              if (taken_ != nullptr && request->wire_bytes >= TakenBytes::kLarge) {
                taken_->Add(context->peer(), request->wire_bytes);
              }
              const int64_t started_ns = method.calls == nullptr ? 0 : method.calls->Begin();
              grpc::Status status = Admit(*context);
              if (status.ok()) {
                status = request->complete() ? run(*context, request->message, response->message)
                                             : request->Error();
              }
              if (method.calls != nullptr) method.calls->End(*context, started_ns, status);
              if (answer_watch_ != nullptr) response->unread.Begin(*answer_watch_, *context);
              return status;
            },
            this)));
    ++methods_;
  }

  // A method that answers with a stream, on a thread of gRPC's for as long as that lasts.
  template <typename Request, typename Response>
  void AddSyncStream(const char* path,
                     std::function<grpc::Status(grpc::ServerContext&, const Request&,
                                                grpc::ServerWriter<Response>&)>
                         run) {
    using Handler = grpc::internal::ServerStreamingHandler<Service, Decoded<Request>, Response>;
    AddMethod(new grpc::internal::RpcServiceMethod(
        path, Kind::SERVER_STREAMING,
        new Handler(
            [run = std::move(run)](Service*, grpc::ServerContext* context,
                                   const Decoded<Request>* request,
                                   grpc::ServerWriter<Response>* writer) {
              return request->complete() ? run(*context, request->message, *writer)
                                         : request->Error();
            },
            this)));
    ++methods_;
  }

  // One that answers each message of a stream, likewise.
  template <typename Request, typename Response>
  void AddSyncBidi(const char* path,
                   std::function<grpc::Status(
                       grpc::ServerContext&, grpc::ServerReaderWriter<Response, Decoded<Request>>&)>
                       run) {
    using Stream = grpc::ServerReaderWriter<Response, Decoded<Request>>;
    using Handler = grpc::internal::BidiStreamingHandler<Service, Decoded<Request>, Response>;
    AddMethod(new grpc::internal::RpcServiceMethod(
        path, Kind::BIDI_STREAMING,
        new Handler([run = std::move(run)](Service*, grpc::ServerContext* context,
                                           Stream* stream) { return run(*context, *stream); },
                    this)));
    ++methods_;
  }

  // Tells that an operator has changed something by this call.
  void TellChange(const CallContext& call, std::string_view method, std::string_view event,
                  CallListener::Fields fields) const {
    if (calls_ != nullptr) calls_->TellChange(call, method, event, fields);
  }

 private:
  struct SyncMethod {
    const char* path;
    MethodCalls* calls = nullptr;  // null: nobody counts
  };

  Calls* calls_ = nullptr;
  AnswerWatch* answer_watch_ = nullptr;
  TakenBytes* taken_ = nullptr;          // null: nobody is told
  std::deque<SyncMethod> sync_methods_;  // handlers have their addresses
  int methods_ = 0;
  std::atomic<int> running_ = 0;
  bool requires_tls_ = false;
};

// A service whose calls are posted on serving loops.
class AsyncService : public Service {
 public:
  // Gives the loop a route for each asynchronous method. Called once for each loop, when the server
  // runs and the loop does not yet.
  virtual void Open(ServingLoop& loop) = 0;
};

}  // namespace headgate::transport

namespace grpc {

template <typename Message>
class SerializationTraits<headgate::transport::Sent<Message>, void>
    : public SerializationTraits<headgate::transport::Encoded<Message>, void> {};

}  // namespace grpc
