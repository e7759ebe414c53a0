// Link: the way to one peer, a single stream over a single connection.
//
// What comes while a message is under way gathers and is sent with the next one, so that the more
// there is to send the less each call costs. A call that may wait in the peer's line has a message
// of its own, and others overtake it. At most kUnderWay messages without such a call are unanswered
// at a time.
//
// A stream that ends, or over which nothing is heard for too long, fails what was sent: nobody
// knows what became of it. What was not sent goes back. A link that is not open is opened when
// somebody asks for it, at most ten times a second.
//
// Its events are those of a serving loop, since a queue of its own would cost every call of the
// server a few microseconds. Thread-safe; it may outlive the loop, and is of no use then.
//
//   auto link = std::make_shared<Link>(loop, connect("10.0.0.2:8081"), clock, on_change);
//   if (!link->Send(call)) Hold(call);

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
#include "server/peers/outgoing_call.h"
#include "server/transport/serving_loop.h"

namespace headgate::peers {

using Calls = std::vector<std::shared_ptr<OutgoingCall>>;

class LinkListener {
 public:
  virtual ~LinkListener() = default;
  // The link has opened.
  virtual void OnOpen() = 0;
  // These calls were not sent, or not taken.
  virtual void OnReturned(Calls calls) = 0;
};

class Link final : public WaitingEnd, public std::enable_shared_from_this<Link> {
 public:
  static constexpr int kUnderWay = 2;
  static constexpr size_t kMaxCalls = 1000;
  static constexpr size_t kMaxBytes = size_t{128} << 10;
  // Nothing is heard from a peer that answers for so long.
  static constexpr absl::Duration kSilence = absl::Seconds(2);

  // `loop` until Close; the clock and the listener outlive this.
  Link(transport::ServingLoop& loop, const std::shared_ptr<grpc::Channel>& channel, Clock& clock,
       LinkListener& listener);

  // False: it is not open, and will be tried.
  bool Send(const std::shared_ptr<OutgoingCall>& call) ABSL_LOCKS_EXCLUDED(mutex_);
  void CallerEnded(uint64_t number, bool delivered) override ABSL_LOCKS_EXCLUDED(mutex_);
  // Says that the peer was given a target. It is lost where the link cannot be opened.
  void Tell(const peer::v1::GivenTarget& given) ABSL_LOCKS_EXCLUDED(mutex_);
  // By and by: looks whether the peer is silent, or a failed link may be tried again.
  void Look() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whoever waits there is told to ask again.
  void EndWaiting() ABSL_LOCKS_EXCLUDED(mutex_);
  // On a thread of the loop, or after it: nothing is sent from now on.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Stub = peer::v1::PeerService::Stub;
  using Stream = grpc::ClientAsyncReaderWriter<peer::v1::ForwardRequest, peer::v1::ForwardResponse>;
  enum class State : uint8_t { kShut, kStarting, kOpen, kEnding };

  template <void (Link::*kThen)(bool ok)>
  class Then final : public transport::Event {
   public:
    explicit Then(Link& link) : link_(link) {}
    void Done(bool ok, size_t /*thread*/) override { (link_.*kThen)(ok); }

   private:
    Link& link_;
  };

  // A message that is not answered yet.
  struct Message {
    peer::v1::ForwardRequest request = {};
    Calls calls = {};
    bool waits = false;
  };
  // What has become of calls, to be told to them without the lock.
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
  // One event less is outstanding.
  void Ended() ABSL_LOCKS_EXCLUDED(mutex_);
  Outcome TakeAll(const grpc::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(Outcome outcome) ABSL_LOCKS_EXCLUDED(mutex_);

  transport::ServingLoop& loop_;
  Clock& clock_;
  LinkListener& listener_;
  const std::unique_ptr<Stub> stub_;
  Then<&Link::OnStarted> start_event_{*this};
  Then<&Link::OnRead> read_event_{*this};
  Then<&Link::OnWritten> write_event_{*this};
  Then<&Link::OnFinished> finish_event_{*this};

  Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kShut;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  int outstanding_ ABSL_GUARDED_BY(mutex_) = 0;  // events of the stream
  int64_t next_try_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t heard_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t asked_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // since when something is under way
  // Of the stream that there is.
  std::shared_ptr<Link> self_ ABSL_GUARDED_BY(mutex_);  // while events are outstanding
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
