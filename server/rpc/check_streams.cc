// One call's life; in brackets the event that ends each state:
//
//   kWaiting (a caller, or none) -> kReading (a message, or its end) -> kWriting (sent) -> kReading
//
// Any of the last three leads to Finish: from then on `finishing_` is set, and the call is deleted
// once neither Finish nor a read is outstanding. Only draining finishes a call while it reads.

#include "server/rpc/check_streams.h"

#include <grpcpp/support/async_stream.h>

#include <cassert>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/transport/error_status.h"

namespace headgate::rpc {
namespace {

constexpr int kWaitingCalls = 16;

}  // namespace

class CheckStreams::Call final : public transport::Event {
 public:
  explicit Call(CheckStreams& streams) : streams_(streams) {}
  ~Call() {
    if (counted_) streams_.count_.Close(caller_);
  }

  void Post() {
    streams_.service_.RequestStream(streams_.method_, context_, stream_, streams_.loop_, *this);
  }

  // What the call waits for, except for the end of Finish.
  void Done(bool ok) override {
    outstanding_ = false;
    if (finishing_) return DeleteIfDone();
    if (streams_.loop_.stopping()) return streams_.Remove(this);  // the queue is shut
    switch (state_) {
      case State::kWaiting:  // not ok: the server is shut down
        return ok ? Accept() : streams_.Remove(this);
      case State::kReading:  // not ok: half-closed, or the caller is gone
        return ok ? Answer() : Finish(grpc::Status());
      case State::kWriting:
        return ok ? Read() : Finish({grpc::StatusCode::CANCELLED, "the caller is gone"});
    }
  }

  void Drain() {
    if (state_ == State::kReading && !finishing_) Finish(transport::ShuttingDown());
  }

 private:
  enum class State { kWaiting, kReading, kWriting };

  class FinishEvent final : public transport::Event {
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
    streams_.Post();
    if (const grpc::Status admitted = streams_.service_.Admit(context_); !admitted.ok()) {
      return Finish(admitted);
    }
    // Before it is counted: whoever may not have one cannot hold those of others.
    if (grpc::Status admitted = streams_.admission_(context_, caller_); !admitted.ok()) {
      return Finish(admitted);
    }
    switch (streams_.count_.TryOpen(caller_)) {
      case transport::StreamCount::Outcome::kOpened:
        counted_ = true;
        return Read();
      case transport::StreamCount::Outcome::kTooMany:
        return Finish(transport::Overloaded("TOO_MANY_STREAMS", "no room for another CheckStream"));
      case transport::StreamCount::Outcome::kTooManyOfCaller:
        return Finish(transport::Overloaded(
            "TOO_MANY_STREAMS", absl::StrCat("no room for another CheckStream of caller ", caller_,
                                             ", which has as many as one may")));
    }
  }

  void Read() {
    if (streams_.loop_.refusing()) return Finish(transport::ShuttingDown());
    state_ = State::kReading;
    outstanding_ = true;
    stream_.Read(&streams_.request_, static_cast<transport::Event*>(this));
  }

  void Answer() {
    const auto& request = streams_.request_;
    transport::MethodCalls* const counted = streams_.counted_;
    const int64_t started_ns = counted == nullptr ? 0 : counted->Begin();
    const grpc::Status status =
        request.complete ? streams_.handler_(context_, request.message, streams_.response_.message)
                         : transport::MalformedError(request.message);
    if (!status.ok()) return Finish(status);
    if (counted != nullptr) counted->EndPart(context_, started_ns);
    state_ = State::kWriting;
    outstanding_ = true;
    stream_.Write(streams_.response_, static_cast<transport::Event*>(this));
  }

  void Finish(const grpc::Status& status) {
    finishing_ = true;
    if (streams_.counted_ != nullptr) streams_.counted_->End(context_, 0, status);
    stream_.Finish(status, static_cast<transport::Event*>(&finish_event_));
  }

  void DeleteIfDone() {
    if (finished_ && !outstanding_) streams_.Remove(this);
  }

  CheckStreams& streams_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<transport::Encoded<v1::CheckStreamResponse>,
                                transport::Decoded<v1::CheckStreamRequest>>
      stream_{&context_};
  FinishEvent finish_event_{*this};
  State state_ = State::kWaiting;
  bool outstanding_ = false;  // a read or a write
  std::string caller_;
  bool counted_ = false;
  bool finishing_ = false;
  bool finished_ = false;
};

CheckStreams::CheckStreams(transport::Service& service, int method, transport::ServingLoop& loop,
                           transport::StreamCount& count, Admission admission, Handler handler,
                           transport::MethodCalls* counted)
    : service_(service),
      method_(method),
      loop_(loop),
      count_(count),
      admission_(std::move(admission)),
      handler_(std::move(handler)),
      counted_(counted) {
  for (int i = 0; i < kWaitingCalls; ++i) Post();
}

CheckStreams::~CheckStreams() { assert(calls_.empty()); }

void CheckStreams::Post() {
  if (loop_.stopping()) return;
  auto call = std::make_unique<Call>(*this);
  Call* const posted = call.get();
  calls_.emplace(posted, std::move(call));
  posted->Post();
}

void CheckStreams::Remove(Call* call) { calls_.erase(call); }

void CheckStreams::Drain() {
  for (const auto& [call, owned] : calls_) call->Drain();
}

}  // namespace headgate::rpc
