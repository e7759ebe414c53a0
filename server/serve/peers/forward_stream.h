// ForwardStream: a single stream to one peer, over which calls are forwarded.
//
// Calls that come while a message is under way are collected and sent with the next one, so that
// the more there is to send, the less each call costs. A call that may wait in the peer's line has
// a message of its own, and others overtake it. At most kUnderWay messages without such a call are
// unanswered at a time.
//
// Where the stream ends, or nothing is heard on it for too long, the calls that were sent fail,
// since nobody knows what became of them, and those that were not sent are returned. A stream that
// is not open is opened when somebody asks for it, at the pace of ReconnectBackoff.
//
// A stream takes calls once its peer has answered on it, and none while something has been
// unanswered for kDoubt and nothing was heard: so a caller whose call is lost with a peer is not
// told so again and again. Where nothing else asks for an answer, the stream does each second.
//
// The events of a stream run on a serving loop, since a queue of its own would cost every call of
// the server a few microseconds. Thread-safe. A stream may outlive the loop, and is of no use then.
//
//   auto stream = std::make_shared<ForwardStream>(channel, {.loop = loop, .clock = clock, ...});
//   if (!stream->Send(call)) Hold(call);

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/status.h>
#include <headgate/peer/v1/peer_service.grpc.pb.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "server/serve/peers/caller_end_listener.h"
#include "server/serve/peers/outgoing_call.h"
#include "server/serve/peers/reconnect_backoff.h"
#include "server/serve/transport/serving_loop.h"

namespace headgate::peers {

using Calls = std::vector<std::shared_ptr<OutgoingCall>>;

class ForwardStreamListener {
 public:
  virtual ~ForwardStreamListener() = default;
  // The stream takes calls, for the first time or again.
  virtual void OnOpen() = 0;
  // These calls were not sent, or the peer does not own their target.
  virtual void OnReturned(Calls calls) = 0;
};

class ForwardStream final : public CallerEndListener,
                            public std::enable_shared_from_this<ForwardStream> {
 public:
  static constexpr int kUnderWay = 2;
  static constexpr size_t kMaxCalls = 1000;
  static constexpr size_t kMaxBytes = size_t{128} << 10;
  // Of a message, each: callers who have their answers, and callers who are gone.
  static constexpr size_t kMaxEnded = 8192;
  // Nothing is heard for so long from a peer that ought to answer. What counts is the time in which
  // this server listened: where it stood still itself, a peer's answers lie here unread.
  static constexpr absl::Duration kSilence = absl::Seconds(2);
  // And for so long where one may be lost: it is sent no more calls until it is heard again.
  static constexpr absl::Duration kDoubt = absl::Milliseconds(500);
  // A tick that comes later than this after the one before says that this server stood still.
  static constexpr absl::Duration kLateTick = absl::Milliseconds(500);

  struct Options {
    transport::ServingLoop& loop;  // used until Close
    Clock& clock;
    ForwardStreamListener& listener;
  };

  // The clock and the listener outlive this.
  ForwardStream(const std::shared_ptr<grpc::Channel>& channel, const Options& options);

  // False: the stream takes no calls now. Unless it is retired, it is being opened, or the peer is
  // being asked.
  bool Send(const std::shared_ptr<OutgoingCall>& call) ABSL_LOCKS_EXCLUDED(mutex_);
  void CallerEnded(uint64_t number, bool delivered) override ABSL_LOCKS_EXCLUDED(mutex_);
  // Says that the peer was given a target. It is lost where the stream cannot be opened.
  void Tell(const peer::v1::GivenTarget& given) ABSL_LOCKS_EXCLUDED(mutex_);
  // To be called many times a second: looks whether the peer is silent, and opens a stream that has
  // failed once it may be tried again.
  void OnTick() ABSL_LOCKS_EXCLUDED(mutex_);
  // Callers whose calls wait in the peer's lines are told to ask again; no further call may wait.
  void EndWaiting() ABSL_LOCKS_EXCLUDED(mutex_);
  // The peer is no member any more: nothing is sent from now on. What was not sent is returned, and
  // what was sent may still be answered for kSilence; then the stream ends.
  void Retire() ABSL_LOCKS_EXCLUDED(mutex_);
  // It was retired, and has ended.
  bool IsOver() const ABSL_LOCKS_EXCLUDED(mutex_);
  // On a thread of the loop, or after it: nothing is sent from now on.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Stub = peer::v1::PeerService::Stub;
  using Stream = grpc::ClientAsyncReaderWriter<peer::v1::ForwardRequest, peer::v1::ForwardResponse>;
  enum class State : uint8_t { kShut, kStarting, kOpen, kEnding };

  template <void (ForwardStream::*kThen)(bool ok)>
  class Then final : public transport::Event {
   public:
    explicit Then(ForwardStream& stream) : stream_(stream) {}
    void Done(bool ok, size_t /*thread*/) override { (stream_.*kThen)(ok); }

   private:
    ForwardStream& stream_;
  };

  // A message that is not answered yet.
  struct Message {
    peer::v1::ForwardRequest request = {};
    Calls calls = {};
    bool waits = false;
  };
  // What has become of calls. They are told without the lock.
  struct Outcome {
    Calls returned = {};
    Calls failed = {};
    grpc::Status why = {};
  };

  void OnStarted(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);

  void Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sends the next message, if there is one and it may be sent.
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Fill(Message& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Add(std::deque<std::shared_ptr<OutgoingCall>>& from, Message& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendMessage(Message message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(const peer::v1::ForwardRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answer(peer::v1::ForwardResponse& response) ABSL_LOCKS_EXCLUDED(mutex_);
  // One event less is outstanding. After the last one the stream has ended.
  void EventEnded() ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a stream that is retired: ends it once all is answered, or time is up.
  void EndIfIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LockedTick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For how long something has been unanswered and nothing was heard.
  int64_t SilentNs() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakesCalls() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MaySend() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !closed_ && !retired_; }
  Outcome RemoveCalls(const grpc::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Report(Outcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);

  transport::ServingLoop& loop_;
  Clock& clock_;
  ForwardStreamListener& listener_;
  const std::unique_ptr<Stub> stub_;
  Then<&ForwardStream::OnStarted> start_event_{*this};
  Then<&ForwardStream::OnRead> read_event_{*this};
  Then<&ForwardStream::OnWritten> write_event_{*this};
  Then<&ForwardStream::OnFinished> finish_event_{*this};

  mutable Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kShut;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  int outstanding_ ABSL_GUARDED_BY(mutex_) = 0;  // events of the stream
  ReconnectBackoff backoff_ ABSL_GUARDED_BY(mutex_);
  bool retired_ ABSL_GUARDED_BY(mutex_) = false;
  bool waiting_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_heard_ ABSL_GUARDED_BY(mutex_) = false;  // on the stream that there is
  bool asks_ ABSL_GUARDED_BY(mutex_) = false;      // the next message goes out whatever is in it
  int64_t ticked_ns_ ABSL_GUARDED_BY(mutex_);
  int64_t listened_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // how long this server has listened
  // By listened_ns_: when it was retired, when something was heard, and since when something is
  // under way.
  int64_t retired_at_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t heard_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t asked_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of the stream that there is.
  std::shared_ptr<ForwardStream> self_ ABSL_GUARDED_BY(mutex_);  // while events are outstanding
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Stream> stream_ ABSL_GUARDED_BY(mutex_);
  grpc::Status status_;                 // of whoever has the finish
  peer::v1::ForwardResponse response_;  // of whoever has the read

  uint64_t number_ ABSL_GUARDED_BY(mutex_) = 0;  // of the last message
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;    // messages without a call that may wait
  absl::flat_hash_map<uint64_t, Message> messages_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<OutgoingCall>> calls_ ABSL_GUARDED_BY(mutex_);    // yet to be sent
  std::deque<std::shared_ptr<OutgoingCall>> waiting_ ABSL_GUARDED_BY(mutex_);  // likewise
  std::vector<uint64_t> delivered_ ABSL_GUARDED_BY(mutex_);                    // yet to be told
  std::vector<uint64_t> gone_ ABSL_GUARDED_BY(mutex_);                         // likewise
  std::vector<peer::v1::GivenTarget> given_ ABSL_GUARDED_BY(mutex_);           // likewise
};

}  // namespace headgate::peers
