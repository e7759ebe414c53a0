// One call of a StreamRoute: what it reads, what is parked, and what it has yet to write.
//
// At most one read and one write are outstanding, and nothing is read while something is being
// written, or while as many messages are parked as may be: so what a caller that never reads costs
// is bounded by them. The end comes when all parked messages are answered and written.
//
// Threads of the loop run its events; anybody may answer what is parked. The call's lock guards
// what both change. Whoever answers holds the message's lock first, and the call is deleted only
// after every message has been ended under that lock: so nobody uses a deleted call. An event's own
// flag (`reading_`, `writing_`, ...) is cleared last, which keeps the call until then.
//
// From `ended_` on no message can be answered any more; those that are left hear so from the events
// that follow, the last of which is Finish's.

#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "server/serve/transport/error_status.h"
#include "server/serve/transport/parked_call.h"
#include "server/serve/transport/serving_loop.h"
#include "server/serve/transport/taken_bytes.h"
#include "server/serve/transport/wire.h"

namespace headgate::transport {

// Where messages have a number, answers bear that of their request.
template <typename Message>
uint64_t NumberOf(const Message& message) {
  if constexpr (requires { message.number(); }) return message.number();
  return 0;
}
template <typename Message>
void SetNumber(uint64_t number, Message& message) {
  if constexpr (requires { message.set_number(number); }) message.set_number(number);
}

template <typename Route, typename Response>
class StreamCall final : public Event {
 public:
  explicit StreamCall(Route& route) : route_(route) {}

  void Post() {
    context_.AsyncNotifyWhenDone(static_cast<Event*>(&notice_event_));
    route_.RequestCall(context_, stream_, *this);
  }

  // A caller has come; not ok: the server is shut down.
  void Done(bool ok, size_t thread) override {
    if (!ok || route_.loop().stopping()) {
      // gRPC gives no notice of a call that did not come.
      if (!ok) return route_.Remove(this);
      return Settle(&StreamCall::accepting_, thread);
    }
    const grpc::Status admitted = route_.Accept(thread, context_, caller_, counted_);
    opened_ = admitted.ok();
    if (!admitted.ok()) {
      const MutexLock lock(&mutex_);
      End(admitted);
    }
    Settle(&StreamCall::accepting_, thread);
  }

  // The server drains: what nobody has answered by now is not answered any more.
  void Drain(size_t thread) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    if (accepting_ || finish_started_) return;
    End(ShuttingDown());
    Step(thread);
  }

  // Whether there is a caller, and it may still be answered something.
  bool IsOpen() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    return !accepting_ && !ended_;
  }

  const std::string& caller() const { return caller_; }
  bool counted() const { return counted_; }
  // Whether it was admitted, and its context: for the end of it.
  bool opened() const { return opened_; }
  grpc::ServerContext& context() { return context_; }

 private:
  using Bytes = grpc::ByteBuffer;

  class Message final : public ParkedCall<Response> {
   public:
    Message(StreamCall& call, uint64_t number, std::shared_ptr<ParkListener> listener)
        : ParkedCall<Response>(TimeLeftNsOf(call.context_)),
          number_(number),
          call_(&call),
          listener_(std::move(listener)) {}

    bool Answer(const grpc::Status& status, Response& response) override {
      const MutexLock lock(&mutex_);
      if (call_ == nullptr) return false;
      StreamCall& call = *call_;
      SetNumber(number_, response);
      bool taken = false;
      call.route_.loop().WhileQueueIsOpen(
          [&] { taken = call.AnswerParked(*this, status, response); });
      if (taken) call_ = nullptr;
      return taken;
    }
    // On a thread of the loop; whoever answers no longer uses the call afterwards.
    void Tell(bool delivered) {
      std::shared_ptr<ParkListener> listener;
      bool gone = false;
      {
        const MutexLock lock(&mutex_);
        gone = std::exchange(call_, nullptr) != nullptr;
        listener = std::move(listener_);
      }
      gone ? listener->OnGone() : listener->OnAnswered(delivered);
    }

    size_t place = 0;  // among the parked, under the call's lock

   private:
    const uint64_t number_;
    Mutex mutex_;
    StreamCall* call_ ABSL_GUARDED_BY(mutex_);  // null: answered, or gone
    std::shared_ptr<ParkListener> listener_ ABSL_GUARDED_BY(mutex_);
  };
  using Messages = std::vector<std::shared_ptr<Message>>;

  struct Unsent {
    Bytes bytes;
    std::shared_ptr<Message> message;
  };

  // What parks the message that is being decided.
  class Place final : public Parking<Response> {
   public:
    // Of a message of so many bytes of which nobody was told.
    Place(StreamCall& call, uint64_t number, size_t untold)
        : call_(call), number_(number), untold_(untold) {}
    std::shared_ptr<ParkedCall<Response>> Park(std::shared_ptr<ParkListener> listener) override {
      parked_ = true;
      call_.TellTaken(untold_);
      auto message = std::make_shared<Message>(call_, number_, std::move(listener));
      const MutexLock lock(&call_.mutex_);
      message->place = call_.parked_.size();
      call_.parked_.push_back(message);
      return message;
    }
    bool parked() const { return parked_; }

   private:
    StreamCall& call_;
    const uint64_t number_;
    const size_t untold_;
    bool parked_ = false;
  };

  template <void (StreamCall::*kThen)(bool ok, size_t thread)>
  class Then final : public Event {
   public:
    explicit Then(StreamCall& call) : call_(call) {}
    void Done(bool ok, size_t thread) override { (call_.*kThen)(ok, thread); }

   private:
    StreamCall& call_;
  };

  void OnRead(bool ok, size_t thread) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (ok && !route_.loop().stopping()) {
      Decide(thread);
    } else {
      const MutexLock lock(&mutex_);
      half_closed_ = true;  // or the caller is gone, which the notice says
    }
    Settle(&StreamCall::reading_, thread);
  }

  void Decide(size_t thread) ABSL_LOCKS_EXCLUDED(mutex_) {
    auto& on = route_.ThreadOf(thread);
    on.request.Decode(request_);
    request_.Clear();
    const int64_t started_ns = on.counts->Begin();
    size_t untold = on.request.wire_bytes;
    if (untold >= TakenBytes::kLarge) [[unlikely]]
      TellTaken(std::exchange(untold, 0));
    Place place(*this, NumberOf(on.request.message), untold);
    const grpc::Status status =
        on.request.complete()
            ? route_.Handle(thread, context_, on.request.message, on.response.message, place)
            : on.request.Error();
    if (place.parked()) return on.counts->EndParked(started_ns);
    if (status.ok()) on.counts->EndPart(context_, started_ns);
    SetNumber(NumberOf(on.request.message), on.response.message);
    const MutexLock lock(&mutex_);
    if (!status.ok()) return End(status);
    if (ended_) return;
    if (!writing_ && unsent_.empty()) return Write(EncodeMessage(on.response.message));
    unsent_.push_back({EncodeMessage(on.response.message), nullptr});
  }

  // Of the message that is being decided.
  void TellTaken(size_t bytes) {
    TakenBytes* const taken = route_.loop().taken();
    if (taken_ == nullptr && taken != nullptr) taken_ = taken->Find(context_.peer());
    if (taken_ != nullptr) taken_->Add(bytes);
  }

  void OnWritten(bool ok, size_t thread) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (const auto written = std::move(written_); written != nullptr) written->Tell(ok);
    if (!ok) {
      const MutexLock lock(&mutex_);
      End({grpc::StatusCode::CANCELLED, "the caller is gone"});
    }
    Settle(&StreamCall::writing_, thread);
  }

  // The call is over: finished, or its caller is gone.
  void OnNotice(bool /*ok*/, size_t thread) ABSL_LOCKS_EXCLUDED(mutex_) {
    const bool gone = context_.IsCancelled();
    {
      const MutexLock lock(&mutex_);
      if (gone) cancelled_ = true;
    }
    Settle(&StreamCall::unnoticed_, thread);
  }

  void OnFinished(bool /*ok*/, size_t thread) { Settle(&StreamCall::unfinished_, thread); }

  // The end of each event: `flag` is what it cleared.
  void Settle(bool StreamCall::*flag, size_t thread) ABSL_LOCKS_EXCLUDED(mutex_) {
    Messages gone;
    std::deque<Unsent> dropped;
    {
      const MutexLock lock(&mutex_);
      if (flag == &StreamCall::unfinished_) finished_ = true;
      if (cancelled_ || finished_) {
        gone.swap(parked_);
        dropped.swap(unsent_);
      }
    }
    for (const auto& message : gone) message->Tell(false);
    for (const Unsent& unsent : dropped) {
      if (unsent.message != nullptr) unsent.message->Tell(false);
    }
    bool over = false;
    {
      const MutexLock lock(&mutex_);
      this->*flag = false;
      Step(thread);
      over = !accepting_ && !reading_ && !writing_ && !unnoticed_ && !unfinished_;
    }
    if (over) route_.Remove(this);
  }

  // By any thread, while the queue is open.
  bool AnswerParked(Message& message, const grpc::Status& status, const Response& response)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    if (ended_ || cancelled_) return false;
    std::shared_ptr<Message> answered = std::move(parked_[message.place]);
    if (message.place + 1 != parked_.size()) {
      parked_.back()->place = message.place;
      parked_[message.place] = std::move(parked_.back());
    }
    parked_.pop_back();
    if (!status.ok()) {
      // Nothing is written of it: who answered is told with the end.
      unsent_.push_back({Bytes(), std::move(answered)});
      End(status);
      if (!writing_ && unsent_.size() == 1) Finish(route_.parked_counts());
      return true;
    }
    unsent_.push_back({EncodeMessage(response), std::move(answered)});
    if (!writing_) WriteNext();
    return true;
  }

  void End(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!std::exchange(ended_, true)) status_ = status;
  }

  // What is to be done next, by a thread of the loop.
  void Step(size_t thread) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (accepting_ || finish_started_) return;
    if (route_.loop().stopping()) {  // the queue is shut
      finish_started_ = ended_ = finished_ = true;
      unfinished_ = false;
      return;
    }
    if (!writing_ && !cancelled_) WriteNext();
    if (writing_) return;
    if (half_closed_ && parked_.empty()) End(grpc::Status());
    if (cancelled_ && !reading_) End({grpc::StatusCode::CANCELLED, "the caller is gone"});
    if (route_.loop().refusing()) End(ShuttingDown());
    if (ended_) return Finish(*route_.ThreadOf(thread).counts);
    if (reading_ || half_closed_ || parked_.size() >= route_.max_parked()) return;
    reading_ = true;
    stream_.Read(&request_, static_cast<Event*>(&read_event_));
  }

  // An answer without bytes is an error, behind which the stream ends.
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (unsent_.empty() || !unsent_.front().bytes.Valid()) return;
    Unsent next = std::move(unsent_.front());
    unsent_.pop_front();
    written_ = std::move(next.message);
    Write(next.bytes);
  }
  void Write(const Bytes& bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writing_ = true;
    stream_.Write(bytes, static_cast<Event*>(&write_event_));
  }
  template <typename Counts>
  void Finish(Counts& counts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    finish_started_ = true;
    // Before the caller hears of the end: it may open another one at once.
    if (std::exchange(counted_, false)) route_.Close(caller_);
    counts.End(context_, 0, status_);
    stream_.Finish(status_, static_cast<Event*>(&finish_event_));
  }

  Route& route_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<Bytes, Bytes> stream_{&context_};
  Then<&StreamCall::OnRead> read_event_{*this};
  Then<&StreamCall::OnWritten> write_event_{*this};
  Then<&StreamCall::OnNotice> notice_event_{*this};
  Then<&StreamCall::OnFinished> finish_event_{*this};
  Bytes request_;                                  // of whoever has the read
  std::shared_ptr<TakenBytes::Connection> taken_;  // likewise; null: it was not asked for yet
  std::shared_ptr<Message> written_;  // of whoever has the write; null: it was not parked
  std::string caller_;
  bool counted_ = false;
  bool opened_ = false;  // set once, before anything is read
  Mutex mutex_;
  // What is outstanding; the first and the last two from the beginning.
  bool accepting_ ABSL_GUARDED_BY(mutex_) = true;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool unnoticed_ ABSL_GUARDED_BY(mutex_) = true;
  bool unfinished_ ABSL_GUARDED_BY(mutex_) = true;
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool finish_started_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  Messages parked_ ABSL_GUARDED_BY(mutex_);
  std::deque<Unsent> unsent_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headgate::transport
