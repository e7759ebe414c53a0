#include "server/serve/peers/forward_stream.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/time/time.h"
#include "server/serve/transport/error_status.h"

namespace headgate::peers {
namespace {

const int64_t kSilenceNs = absl::ToInt64Nanoseconds(ForwardStream::kSilence);
const int64_t kDoubtNs = absl::ToInt64Nanoseconds(ForwardStream::kDoubt);
const int64_t kLateTickNs = absl::ToInt64Nanoseconds(ForwardStream::kLateTick);

grpc::Status PeerLost() {
  return transport::Failure(absl::StatusCode::kUnavailable, "OWNER_LOST",
                            "the server that decides for this target was lost before it answered");
}

void MoveTo(Calls& to, std::deque<std::shared_ptr<OutgoingCall>>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

// The first ones.
void MoveTo(google::protobuf::RepeatedField<uint64_t>& to, std::vector<uint64_t>& from) {
  const auto end =
      from.begin() + static_cast<std::ptrdiff_t>(std::min(from.size(), ForwardStream::kMaxEnded));
  to.Add(from.begin(), end);
  from.erase(from.begin(), end);
}

}  // namespace

ForwardStream::ForwardStream(const std::shared_ptr<grpc::Channel>& channel, const Options& options)
    : loop_(options.loop),
      clock_(options.clock),
      listener_(options.listener),
      stub_(peer::v1::PeerService::NewStub(channel)),
      ticked_ns_(options.clock.Read().monotonic_ns) {}

bool ForwardStream::Send(const std::shared_ptr<OutgoingCall>& call) {
  const MutexLock lock(&mutex_);
  if (state_ == State::kShut) Start();
  if (!TakesCalls() || !MaySend()) return false;
  if (call->waits() && waiting_ended_) return false;
  (call->waits() ? waiting_ : calls_).push_back(call);
  Pump();
  return true;
}

void ForwardStream::CallerEnded(uint64_t number, bool delivered) {
  const MutexLock lock(&mutex_);
  if (state_ != State::kOpen) return;  // the peer has seen that the stream ended
  (delivered ? delivered_ : gone_).push_back(number);
  Pump();
}

void ForwardStream::Tell(const peer::v1::GivenTarget& given) {
  const MutexLock lock(&mutex_);
  if (!MaySend()) return;
  given_.push_back(given);
  if (state_ == State::kShut) Start();
  if (state_ == State::kShut) given_.clear();  // it was tried a moment ago
  Pump();
}

void ForwardStream::Start() {
  const int64_t now_ns = clock_.Read().monotonic_ns;
  if (!MaySend() || !backoff_.MayTry(now_ns)) return;
  backoff_.OnAttempt(now_ns);
  loop_.WhileQueueIsOpen([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    state_ = State::kStarting;
    outstanding_ = 1;
    self_ = shared_from_this();
    context_ = std::make_unique<grpc::ClientContext>();
    stream_ = stub_->AsyncForward(context_.get(), &loop_.queue(),
                                  static_cast<transport::Event*>(&start_event_));
  });
}

// Of a process that stands still its kernel takes whatever it is sent: what has been started says
// nothing of the peer before that has answered.
void ForwardStream::OnStarted(bool ok) {
  {
    const MutexLock lock(&mutex_);
    if (!ok || !MaySend()) {
      Finish();
    } else {
      state_ = State::kOpen;
      is_heard_ = false;
      asks_ = true;
      heard_ns_ = listened_ns_;
      peer::v1::ForwardRequest opening;
      opening.set_number(++number_);
      opening.set_opening(true);
      Write(opening);
      loop_.WhileQueueIsOpen([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        ++outstanding_;
        stream_->Read(&response_, static_cast<transport::Event*>(&read_event_));
      });
    }
  }
  EventEnded();
}

void ForwardStream::OnRead(bool ok) {
  bool takes_calls_again = false;
  {
    const MutexLock lock(&mutex_);
    takes_calls_again = ok && state_ == State::kOpen && !TakesCalls();
  }
  if (ok) Answer(response_);
  {
    const MutexLock lock(&mutex_);
    if (!ok || state_ != State::kOpen) {
      Finish();
    } else {
      is_heard_ = true;
      heard_ns_ = listened_ns_;
      backoff_.OnSuccess();
      loop_.WhileQueueIsOpen([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        ++outstanding_;
        stream_->Read(&response_, static_cast<transport::Event*>(&read_event_));
      });
      Pump();
    }
  }
  if (takes_calls_again) listener_.OnOpen();
  EventEnded();
}

void ForwardStream::OnWritten(bool ok) {
  {
    const MutexLock lock(&mutex_);
    writing_ = false;
    if (ok) Pump();  // else the read ends too
  }
  EventEnded();
}

void ForwardStream::OnFinished(bool /*ok*/) { EventEnded(); }

void ForwardStream::Finish() {
  if (state_ == State::kEnding) return;
  state_ = State::kEnding;
  loop_.WhileQueueIsOpen([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    ++outstanding_;
    stream_->Finish(&status_, static_cast<transport::Event*>(&finish_event_));
  });
}

void ForwardStream::EventEnded() {
  Outcome outcome;
  std::shared_ptr<ForwardStream> self;
  {
    const MutexLock lock(&mutex_);
    if (--outstanding_ > 0) return;
    stream_.reset();
    context_.reset();
    state_ = State::kShut;
    writing_ = false;
    delivered_.clear();
    gone_.clear();
    given_.clear();
    outcome = RemoveCalls(PeerLost());
    self = std::move(self_);
  }
  Report(std::move(outcome));
}

void ForwardStream::Pump() {
  if (writing_ || state_ != State::kOpen) return;
  Message message;
  if (Fill(message)) SendMessage(std::move(message));
}

bool ForwardStream::Fill(Message& message) {
  const bool more =
      asks_ || !calls_.empty() || !delivered_.empty() || !gone_.empty() || !given_.empty();
  if (!more || under_way_ >= kUnderWay) {
    if (waiting_.empty()) return false;
    message.waits = true;
    Add(waiting_, message);
    return true;
  }
  asks_ = false;  // whatever it is, it is answered
  MoveTo(*message.request.mutable_delivered(), delivered_);
  MoveTo(*message.request.mutable_gone(), gone_);
  message.request.mutable_given()->Add(given_.begin(), given_.end());
  given_.clear();
  for (size_t bytes = 0; !calls_.empty() && message.calls.size() < kMaxCalls && bytes < kMaxBytes;
       bytes += message.calls.back()->request_bytes()) {
    Add(calls_, message);
  }
  return true;
}

void ForwardStream::Add(std::deque<std::shared_ptr<OutgoingCall>>& from, Message& message) {
  message.calls.push_back(std::move(from.front()));
  from.pop_front();
  message.request.add_calls()->Swap(&message.calls.back()->request);
}

void ForwardStream::SendMessage(Message message) {
  message.request.set_number(++number_);
  if (message.waits) {
    if (!message.calls.front()->SetSent(shared_from_this(), number_)) gone_.push_back(number_);
  } else if (++under_way_ == 1) {
    asked_ns_ = listened_ns_;
  }
  Write(message.request);
  messages_.emplace(number_, std::move(message));
}

void ForwardStream::Write(const peer::v1::ForwardRequest& request) {
  loop_.WhileQueueIsOpen([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    writing_ = true;
    ++outstanding_;
    stream_->Write(request, static_cast<transport::Event*>(&write_event_));
  });
}

void ForwardStream::Answer(peer::v1::ForwardResponse& response) {
  Message message;
  {
    const MutexLock lock(&mutex_);
    const auto found = messages_.find(response.number());
    if (found == messages_.end()) return;
    message = std::move(found->second);
    messages_.erase(found);
    if (!message.waits) --under_way_;
    // What comes while these are answered is sent meanwhile.
    Pump();
  }
  Calls returned;
  for (size_t i = 0; i < message.calls.size(); ++i) {
    const auto place = static_cast<int>(i);
    const bool answered = place < response.answers_size();
    if (!answered || response.answers(place).answer_case() == ForwardedAnswer::ANSWER_NOT_SET) {
      message.calls[i]->Fail(PeerLost());
    } else if (response.answers(place).not_the_owner()) {
      message.calls[i]->SetReturned();
      message.calls[i]->request.Swap(message.request.mutable_calls(place));
      returned.push_back(std::move(message.calls[i]));
    } else {
      message.calls[i]->Take(*response.mutable_answers(place));
    }
  }
  if (!returned.empty()) listener_.OnReturned(std::move(returned));
}

void ForwardStream::OnTick() {
  Outcome outcome;
  {
    const MutexLock lock(&mutex_);
    LockedTick();
    // Whoever may be lost gets nothing more: another one may be the owner soon.
    if (state_ == State::kOpen && !TakesCalls()) {
      MoveTo(outcome.returned, calls_);
      MoveTo(outcome.returned, waiting_);
    }
  }
  Report(std::move(outcome));
}

void ForwardStream::LockedTick() {
  const int64_t now_ns = clock_.Read().monotonic_ns;
  listened_ns_ += std::min(now_ns - ticked_ns_, kLateTickNs);
  ticked_ns_ = now_ns;
  if (retired_) return EndIfIdle();
  if (state_ == State::kShut) return Start();
  if (state_ != State::kOpen) return;
  if (under_way_ > 0) {
    if (SilentNs() >= kSilenceNs) context_->TryCancel();
  } else if (listened_ns_ - heard_ns_ >= kSilenceNs / 2) {
    // Nothing else asks for an answer. An empty message does, so that a peer that is gone is
    // noticed by those whose calls wait there, and before the next call is sent.
    asks_ = true;
    Pump();
  }
}

int64_t ForwardStream::SilentNs() const {
  return under_way_ == 0 ? 0 : listened_ns_ - std::max(heard_ns_, asked_ns_);
}

bool ForwardStream::TakesCalls() const {
  return state_ == State::kOpen && is_heard_ && SilentNs() < kDoubtNs;
}

void ForwardStream::EndIfIdle() {
  if (context_ == nullptr) return;
  const bool is_idle = messages_.empty() && delivered_.empty() && gone_.empty();
  const bool is_late = listened_ns_ - retired_at_ns_ >= kSilenceNs;
  if (state_ != State::kOpen || is_idle || is_late) context_->TryCancel();
}

void ForwardStream::Retire() {
  Outcome outcome;
  {
    const MutexLock lock(&mutex_);
    retired_ = true;
    retired_at_ns_ = listened_ns_;
    MoveTo(outcome.returned, calls_);
    MoveTo(outcome.returned, waiting_);
    EndIfIdle();
  }
  Report(std::move(outcome));
}

bool ForwardStream::IsOver() const {
  const MutexLock lock(&mutex_);
  return retired_ && state_ == State::kShut;
}

void ForwardStream::EndWaiting() {
  Outcome outcome{.why = transport::ShuttingDown()};
  {
    const MutexLock lock(&mutex_);
    waiting_ended_ = true;
    MoveTo(outcome.failed, waiting_);
    for (const auto& [number, message] : messages_) {
      if (message.waits) outcome.failed.push_back(message.calls.front());
    }
  }
  Report(std::move(outcome));
}

void ForwardStream::Close() {
  Outcome outcome;
  {
    const MutexLock lock(&mutex_);
    closed_ = true;
    if (context_ != nullptr) context_->TryCancel();
    outcome = RemoveCalls(transport::ShuttingDown());
    outcome.failed.insert(outcome.failed.end(), outcome.returned.begin(), outcome.returned.end());
    outcome.returned.clear();
  }
  Report(std::move(outcome));
}

ForwardStream::Outcome ForwardStream::RemoveCalls(const grpc::Status& why) {
  Outcome outcome{.why = why};
  MoveTo(outcome.returned, calls_);
  MoveTo(outcome.returned, waiting_);
  for (auto& [number, message] : messages_) {
    outcome.failed.insert(outcome.failed.end(), message.calls.begin(), message.calls.end());
  }
  messages_.clear();
  under_way_ = 0;
  return outcome;
}

void ForwardStream::Report(Outcome outcome) {
  for (const auto& call : outcome.failed) call->Fail(outcome.why);
  if (!outcome.returned.empty()) listener_.OnReturned(std::move(outcome.returned));
}

}  // namespace headgate::peers
