// The calls of one method on one loop that is a stream both ways: each message is answered before
// the next one is read.
//
// A few calls wait for callers; each that gets one posts another in its place, and is deleted when
// it ends. Over a limit a stream is refused with RESOURCE_EXHAUSTED; when the server drains,
// those that wait for their caller's next message end with UNAVAILABLE, the others behind the
// answer they are writing. A stream holds no message of its own: gRPC parses a request just before
// it hands it over, and has serialised the response when Write returns.
//
// One call's life; in brackets the event that ends each state:
//
//   kWaiting (a caller, or none) -> kReading (a message, or its end) -> kWriting (sent) -> kReading
//
// Any of the last three leads to Finish: from then on `finishing_` is set, and the call is deleted
// once neither Finish nor a read is outstanding. Only draining finishes a call while it reads.
//
//   loop.Own(std::make_unique<StreamRoute<v1::CheckStreamRequest, v1::CheckStreamResponse>>(
//       service, kCheckStreamMethod, loop, count, admission, handler,
//       calls.AddThread("CheckStream")));

#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/status.h>

#include <cassert>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "server/transport/calls.h"
#include "server/transport/error_status.h"
#include "server/transport/service.h"
#include "server/transport/serving_loop.h"
#include "server/transport/stream_count.h"
#include "server/transport/wire.h"

namespace headgate::transport {

template <typename Request, typename Response>
class StreamRoute final : public Route {
 public:
  // Answers one message. The response is the one before: what is not overwritten stays. An error
  // ends the stream.
  using Handler = std::function<grpc::Status(grpc::ServerContext&, const Request&, Response&)>;

  // Whether a caller may have a stream at all, and its name, which may be none; each of its
  // messages is the handler's to judge.
  using Admission = std::function<grpc::Status(grpc::ServerContext&, std::string& caller)>;

  // `count` and `calls` outlive this; `calls` is for the loop's thread: messages are timed, ends
  // are counted.
  StreamRoute(Service& service, int method, ServingLoop& loop, StreamCount& count,
              Admission admission, Handler handler, MethodCalls& calls)
      : service_(service),
        method_(method),
        loop_(loop),
        count_(count),
        admission_(std::move(admission)),
        handler_(std::move(handler)),
        method_calls_(calls) {
    for (int i = 0; i < kWaitingCalls; ++i) Post();
  }
  ~StreamRoute() override { assert(calls_.empty()); }

  void Drain() override {
    for (const auto& [call, owned] : calls_) call->Drain();
  }

 private:
  static constexpr int kWaitingCalls = 16;

  class Call final : public Event {
   public:
    explicit Call(StreamRoute& route) : route_(route) {}
    ~Call() {
      if (counted_) route_.count_.Close(caller_);
    }

    void Post() {
      route_.service_.RequestStream(route_.method_, context_, stream_, route_.loop_, *this);
    }

    // What the call waits for, except for the end of Finish.
    void Done(bool ok) override {
      outstanding_ = false;
      if (finishing_) return DeleteIfDone();
      if (route_.loop_.stopping()) return route_.Remove(this);  // the queue is shut
      switch (state_) {
        case State::kWaiting:  // not ok: the server is shut down
          return ok ? Accept() : route_.Remove(this);
        case State::kReading:  // not ok: half-closed, or the caller is gone
          return ok ? Answer() : Finish(grpc::Status());
        case State::kWriting:
          return ok ? Read() : Finish({grpc::StatusCode::CANCELLED, "the caller is gone"});
      }
    }

    void Drain() {
      if (state_ == State::kReading && !finishing_) Finish(ShuttingDown());
    }

   private:
    enum class State { kWaiting, kReading, kWriting };

    class FinishEvent final : public Event {
     public:
      explicit FinishEvent(Call& call) : call_(call) {}
      void Done(bool /*ok*/) override {
        call_.finished_ = true;
        call_.DeleteIfDone();
      }

     private:
      Call& call_;
    };

    void Accept() {
      route_.Post();
      if (const grpc::Status admitted = route_.service_.Admit(context_); !admitted.ok()) {
        return Finish(admitted);
      }
      // Before it is counted: whoever may not have one cannot hold those of others.
      if (grpc::Status admitted = route_.admission_(context_, caller_); !admitted.ok()) {
        return Finish(admitted);
      }
      const StreamCount::Outcome outcome = route_.count_.TryOpen(caller_);
      if (outcome != StreamCount::Outcome::kOpened) return Finish(NoRoom(outcome));
      counted_ = true;
      Read();
    }

    grpc::Status NoRoom(StreamCount::Outcome outcome) const {
      std::string what = absl::StrCat("no room for another ", route_.method_calls_.method());
      if (outcome == StreamCount::Outcome::kTooManyOfCaller) {
        absl::StrAppend(&what, " of caller ", caller_, ", which has as many as one may");
      }
      return Overloaded("TOO_MANY_STREAMS", what);
    }

    void Read() {
      if (route_.loop_.refusing()) return Finish(ShuttingDown());
      state_ = State::kReading;
      outstanding_ = true;
      stream_.Read(&route_.request_, static_cast<Event*>(this));
    }

    void Answer() {
      const Decoded<Request>& request = route_.request_;
      const int64_t started_ns = route_.method_calls_.Begin();
      const grpc::Status status =
          request.complete() ? route_.handler_(context_, request.message, route_.response_.message)
                             : request.Error();
      if (!status.ok()) return Finish(status);
      route_.method_calls_.EndPart(context_, started_ns);
      state_ = State::kWriting;
      outstanding_ = true;
      stream_.Write(route_.response_, static_cast<Event*>(this));
    }

    void Finish(const grpc::Status& status) {
      finishing_ = true;
      route_.method_calls_.End(context_, 0, status);
      stream_.Finish(status, static_cast<Event*>(&finish_event_));
    }

    void DeleteIfDone() {
      if (finished_ && !outstanding_) route_.Remove(this);
    }

    StreamRoute& route_;
    grpc::ServerContext context_;
    grpc::ServerAsyncReaderWriter<Encoded<Response>, Decoded<Request>> stream_{&context_};
    FinishEvent finish_event_{*this};
    State state_ = State::kWaiting;
    bool outstanding_ = false;  // a read or a write
    std::string caller_;
    bool counted_ = false;
    bool finishing_ = false;
    bool finished_ = false;
  };

  void Post() {
    if (loop_.stopping()) return;
    auto call = std::make_unique<Call>(*this);
    Call* const posted = call.get();
    calls_.emplace(posted, std::move(call));
    posted->Post();
  }

  void Remove(Call* call) { calls_.erase(call); }

  Service& service_;
  const int method_;
  ServingLoop& loop_;
  StreamCount& count_;
  const Admission admission_;
  const Handler handler_;
  MethodCalls& method_calls_;
  Decoded<Request> request_;
  Encoded<Response> response_;
  absl::flat_hash_map<Call*, std::unique_ptr<Call>> calls_;
};

}  // namespace headgate::transport
