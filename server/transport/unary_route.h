// The calls of one asynchronous unary method on one loop.
//
// So many calls are posted from the start, and each is posted again when its answer is on the way.
// A caller that does not read keeps its answers from being on the way: if too few are posted others
// join them, so that gRPC always has one at hand; and if too many answers are undelivered, the
// older ones are cancelled. No honest caller is among them: its answer is delivered at once.
//
// A call is decided where it arrives, on the loop's thread. gRPC
// parses a request just before it hands the call over, and has serialised the response when Finish
// returns, so all calls share one of each, whose memory is reused and stays in the cache.
//
// A caller that is gone changes nothing: its answer is not delivered, and the call is posted again.
//
//   loop.Own(std::make_unique<UnaryRoute<v1::CheckRequest, v1::CheckResponse>>(
//       service, kCheckMethod, loop, 128, handler));

#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "server/transport/calls.h"
#include "server/transport/error_status.h"
#include "server/transport/service.h"
#include "server/transport/serving_loop.h"
#include "server/transport/wire.h"

namespace headgate::transport {

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
        counted_(counted),
        wanted_(calls) {
    for (int i = 0; i < calls; ++i) calls_.emplace_back(*this).Post();
  }

 private:
  // Of one method on one loop. Memory for as many calls is kept.
  static constexpr int kMaxUndelivered = 2048;
  // Answers between two looks for those to cancel, and how many of the latest are let be.
  static constexpr uint64_t kYoung = kMaxUndelivered / 2;

  class Call final : public Event, public HeldCall {
   public:
    explicit Call(UnaryRoute& route) : route_(route) {}

    void Post() {
      ++route_.waiting_;
      answered_ = false;
      writer_.reset();
      context_.emplace();
      writer_.emplace(&*context_);
      route_.service_.RequestUnary(route_.method_, *context_, route_.request_, *writer_,
                                   route_.loop_, *this);
    }

    void Done(bool ok) override {
      if (answered_) return route_.Delivered(*this);
      if (!ok) return route_.loop_.OnServerShutDown();
      // The queue that an answer would go through is shut.
      if (route_.loop_.stopping()) [[unlikely]]
        return;
      answered_ = true;
      number_ = route_.Taken();
      if (route_.loop_.draining()) [[unlikely]]
        return route_.loop_.Hold(*this);
      writer_->Finish(route_.response_, route_.Answer(*context_), static_cast<Event*>(this));
    }

    // Gives back what the last call held.
    void Rest() {
      answered_ = false;
      writer_.reset();
      context_.reset();
    }
    void CancelIfOlder(uint64_t number) {
      if (answered_ && number_ < number) context_->TryCancel();
    }

    void Refuse() override {
      const grpc::Status status = ShuttingDown();
      if (route_.counted_ != nullptr) route_.counted_->End(*context_, 0, status);
      writer_->FinishWithError(status, static_cast<Event*>(this));
    }

   private:
    UnaryRoute& route_;
    bool answered_ = false;                       // or to be, once draining is over
    uint64_t number_ = 0;                         // of the answer
    std::optional<grpc::ServerContext> context_;  // good for one call only
    std::optional<grpc::ServerAsyncResponseWriter<Encoded<Response>>> writer_;
  };

  // A call has come; its number.
  uint64_t Taken() {
    --waiting_;
    ++undelivered_;
    // While the loop drains as many as ever may come, and are to be held as well.
    const int least = loop_.draining() ? wanted_ : wanted_ / 4;
    if (waiting_ < least && !loop_.stopping()) [[unlikely]]
      PostAnother();
    if (undelivered_ > kMaxUndelivered && !loop_.draining()) [[unlikely]]
      CancelOld();
    return ++answers_;
  }
  void Delivered(Call& call) {
    --undelivered_;
    if (waiting_ < wanted_) [[likely]] {
      if (!loop_.stopping()) call.Post();
      return;
    }
    call.Rest();
    resting_.push_back(&call);
  }
  void PostAnother() {
    if (resting_.empty()) return calls_.emplace_back(*this).Post();
    Call* const call = resting_.back();
    resting_.pop_back();
    call->Post();
  }
  void CancelOld() {
    if (answers_ - last_look_ < kYoung) return;
    last_look_ = answers_;
    for (Call& call : calls_) call.CancelIfOlder(answers_ - kYoung);
  }

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
    if (!request_.complete()) [[unlikely]]
      return request_.Error();
    return handler_(context, request_.message, response_.message);
  }

  Service& service_;
  const int method_;
  ServingLoop& loop_;
  const Handler handler_;
  MethodCalls* const counted_;
  Decoded<Request> request_;
  Encoded<Response> response_;
  const int wanted_;
  int waiting_ = 0;  // for a caller
  int undelivered_ = 0;
  uint64_t answers_ = 0;
  uint64_t last_look_ = 0;
  std::vector<Call*> resting_;
  std::deque<Call> calls_;  // gRPC has their addresses
};

}  // namespace headgate::transport
