// The calls of one asynchronous unary method on one loop.
//
// So many calls are posted from the start, and each is posted again when its answer is on the way:
// gRPC always has one at hand. A call is decided where it arrives, on the loop's thread. gRPC
// parses a request just before it hands the call over, and has serialised the response when Finish
// returns, so all calls share one of each, whose memory is reused and stays in the cache.
//
// A caller that is gone changes nothing: its answer is not delivered, and the call is posted again.
//
//   loop.Own(std::make_unique<UnaryRoute<v1::CheckRequest, v1::CheckResponse>>(
//       service, kCheckMethod, loop, 128, handler));

#ifndef HEADGATE_SERVER_RPC_UNARY_ROUTE_H_
#define HEADGATE_SERVER_RPC_UNARY_ROUTE_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "server/rpc/calls.h"
#include "server/rpc/errors.h"
#include "server/rpc/service.h"
#include "server/rpc/serving_loop.h"
#include "server/rpc/wire.h"

namespace headgate::rpc {

template <typename Request, typename Response>
class UnaryRoute final : public Route {
 public:
  // The response is the one before: what is not overwritten stays.
  using Handler = std::function<grpc::Status(grpc::ServerContext&, const Request&, Response&)>;

  // `counted`, which is for the loop's thread, may be null.
  UnaryRoute(Service& service, int method, ServingLoop& loop, int calls, Handler handler,
             MethodCalls* counted = nullptr)
      : service_(service),
        method_(method),
        loop_(loop),
        handler_(std::move(handler)),
        counted_(counted) {
    for (int i = 0; i < calls; ++i) calls_.emplace_back(*this).Post();
  }

 private:
  class Call final : public Event, public HeldCall {
   public:
    explicit Call(UnaryRoute& route) : route_(route) {}

    void Post() {
      answered_ = false;
      writer_.reset();
      context_.emplace();
      writer_.emplace(&*context_);
      route_.service_.RequestUnary(route_.method_, *context_, route_.request_, *writer_,
                                   route_.loop_, *this);
    }

    void Done(bool ok) override {
      if (answered_) {
        if (!route_.loop_.stopping()) Post();
      } else if (!ok) {
        route_.loop_.OnServerShutDown();
      } else if (route_.loop_.stopping()) [[unlikely]] {
        // The queue that an answer would go through is shut.
      } else if (route_.loop_.draining()) [[unlikely]] {
        answered_ = true;
        route_.calls_.emplace_back(route_).Post();  // others may come, and are to be held as well
        route_.loop_.Hold(*this);
      } else {
        answered_ = true;
        writer_->Finish(route_.response_, route_.Answer(*context_), static_cast<Event*>(this));
      }
    }

    void Refuse() override {
      const grpc::Status status = ShuttingDown();
      if (route_.counted_ != nullptr) route_.counted_->End(*context_, 0, status);
      writer_->FinishWithError(status, static_cast<Event*>(this));
    }

   private:
    UnaryRoute& route_;
    bool answered_ = false;
    std::optional<grpc::ServerContext> context_;  // good for one call only
    std::optional<grpc::ServerAsyncResponseWriter<Encoded<Response>>> writer_;
  };

  grpc::Status Answer(grpc::ServerContext& context) {
    if (counted_ == nullptr) return Decide(context);
    const int64_t started_ns = counted_->Begin();
    grpc::Status status = Decide(context);
    counted_->End(context, started_ns, status);
    return status;
  }

  grpc::Status Decide(grpc::ServerContext& context) {
    if (grpc::Status admitted = service_.Admit(context); !admitted.ok()) [[unlikely]]
      return admitted;
    if (!request_.complete) [[unlikely]]
      return MalformedError(request_.message);
    return handler_(context, request_.message, response_.message);
  }

  Service& service_;
  const int method_;
  ServingLoop& loop_;
  const Handler handler_;
  MethodCalls* const counted_;
  Decoded<Request> request_;
  Encoded<Response> response_;
  std::deque<Call> calls_;  // gRPC has their addresses
};

}  // namespace headgate::rpc

#endif  // HEADGATE_SERVER_RPC_UNARY_ROUTE_H_
