#include "server/peers/link.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/time/time.h"
#include "server/transport/error_status.h"

namespace headgate::peers {
namespace {

constexpr int64_t kBetweenTriesNs = 100'000'000;
const int64_t kSilenceNs = absl::ToInt64Nanoseconds(Link::kSilence);

grpc::Status PeerLost() {
  return transport::Failure(absl::StatusCode::kUnavailable, "OWNER_LOST",
                            "the server that decides for this target was lost before it answered");
}

void MoveTo(Calls& to, std::deque<std::shared_ptr<OutgoingCall>>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

}  // namespace

Link::Link(transport::ServingLoop& loop, const std::shared_ptr<grpc::Channel>& channel,
           Clock& clock, LinkListener& listener)
    : loop_(loop),
      clock_(clock),
      listener_(listener),
      stub_(peer::v1::PeerService::NewStub(channel)) {}

bool Link::Send(const std::shared_ptr<OutgoingCall>& call) {
  const MutexLock lock(&mutex_);
  if (state_ == State::kShut) Start();
  if (state_ != State::kOpen || closed_) return false;
  (call->waits() ? waiting_ : calls_).push_back(call);
  Pump();
  return true;
}

void Link::CallerEnded(uint64_t number, bool delivered) {
  const MutexLock lock(&mutex_);
  if (state_ != State::kOpen) return;  // the peer has seen that the stream ended
  (delivered ? delivered_ : gone_).push_back(number);
  Pump();
}

void Link::Tell(const peer::v1::GivenTarget& given) {
  const MutexLock lock(&mutex_);
  if (closed_) return;
  given_.push_back(given);
  if (state_ == State::kShut) Start();
  if (state_ == State::kShut) given_.clear();  // it was tried just now
  Pump();
}

void Link::Start() {
  const int64_t now_ns = clock_.Read().monotonic_ns;
  if (closed_ || now_ns < next_try_ns_) return;
  next_try_ns_ = now_ns + kBetweenTriesNs;
  loop_.WhileQueueIsOpen([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    state_ = State::kStarting;
    outstanding_ = 1;
    self_ = shared_from_this();
    context_ = std::make_unique<grpc::ClientContext>();
    stream_ = stub_->AsyncForward(context_.get(), &loop_.queue(),
                                  static_cast<transport::Event*>(&start_event_));
  });
}

void Link::OnStarted(bool ok) {
  bool opened = false;
  {
    const MutexLock lock(&mutex_);
    if (!ok || closed_) {
      Finish();
    } else {
      opened = true;
      state_ = State::kOpen;
      heard_ns_ = clock_.Read().monotonic_ns;
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
  if (opened) listener_.OnOpen();
  Ended();
}

void Link::OnRead(bool ok) {
  if (ok) Answer(response_);
  {
    const MutexLock lock(&mutex_);
    if (!ok || state_ != State::kOpen) {
      Finish();
    } else {
      heard_ns_ = clock_.Read().monotonic_ns;
      loop_.WhileQueueIsOpen([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        ++outstanding_;
        stream_->Read(&response_, static_cast<transport::Event*>(&read_event_));
      });
      Pump();
    }
  }
  Ended();
}

void Link::OnWritten(bool ok) {
  {
    const MutexLock lock(&mutex_);
    writing_ = false;
    if (ok) Pump();  // else the read ends too
  }
  Ended();
}

void Link::OnFinished(bool /*ok*/) { Ended(); }

void Link::Finish() {
  if (state_ == State::kEnding) return;
  state_ = State::kEnding;
  loop_.WhileQueueIsOpen([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    ++outstanding_;
    stream_->Finish(&status_, static_cast<transport::Event*>(&finish_event_));
  });
}

void Link::Ended() {
  Outcome outcome;
  std::shared_ptr<Link> self;
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
    outcome = TakeAll(PeerLost());
    self = std::move(self_);
  }
  End(std::move(outcome));
}

void Link::Pump() {
  if (writing_ || state_ != State::kOpen) return;
  Message message;
  if (Fill(message)) SendMessage(std::move(message));
}

bool Link::Fill(Message& message) {
  const bool more = !calls_.empty() || !delivered_.empty() || !gone_.empty() || !given_.empty();
  if (!more || under_way_ >= kUnderWay) {
    if (waiting_.empty()) return false;
    message.waits = true;
    Add(waiting_, message);
    return true;
  }
  message.request.mutable_delivered()->Add(delivered_.begin(), delivered_.end());
  message.request.mutable_gone()->Add(gone_.begin(), gone_.end());
  message.request.mutable_given()->Add(given_.begin(), given_.end());
  delivered_.clear();
  gone_.clear();
  given_.clear();
  for (size_t bytes = 0; !calls_.empty() && message.calls.size() < kMaxCalls && bytes < kMaxBytes;
       bytes += message.calls.back()->request_bytes()) {
    Add(calls_, message);
  }
  return true;
}

void Link::Add(std::deque<std::shared_ptr<OutgoingCall>>& from, Message& message) {
  message.calls.push_back(std::move(from.front()));
  from.pop_front();
  message.request.add_calls()->Swap(&message.calls.back()->request);
}

void Link::SendMessage(Message message) {
  message.request.set_number(++number_);
  if (message.waits) {
    if (!message.calls.front()->SetSent(shared_from_this(), number_)) gone_.push_back(number_);
  } else if (++under_way_ == 1) {
    asked_ns_ = clock_.Read().monotonic_ns;
  }
  Write(message.request);
  messages_.emplace(number_, std::move(message));
}

void Link::Write(const peer::v1::ForwardRequest& request) {
  loop_.WhileQueueIsOpen([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    writing_ = true;
    ++outstanding_;
    stream_->Write(request, static_cast<transport::Event*>(&write_event_));
  });
}

void Link::Answer(peer::v1::ForwardResponse& response) {
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

void Link::Look() {
  const MutexLock lock(&mutex_);
  if (state_ == State::kShut) return Start();
  if (state_ != State::kOpen) return;
  const int64_t now_ns = clock_.Read().monotonic_ns;
  if (under_way_ > 0) {
    if (now_ns - std::max(heard_ns_, asked_ns_) >= kSilenceNs) context_->TryCancel();
  } else if (!messages_.empty() && now_ns - heard_ns_ >= kSilenceNs / 2 && !writing_) {
    SendMessage({});  // is it there? For the sake of those who wait there
  }
}

void Link::EndWaiting() {
  Outcome outcome{.why = transport::ShuttingDown()};
  {
    const MutexLock lock(&mutex_);
    MoveTo(outcome.failed, waiting_);
    for (const auto& [number, message] : messages_) {
      if (message.waits) outcome.failed.push_back(message.calls.front());
    }
  }
  End(std::move(outcome));
}

void Link::Close() {
  Outcome outcome;
  {
    const MutexLock lock(&mutex_);
    closed_ = true;
    if (context_ != nullptr) context_->TryCancel();
    outcome = TakeAll(transport::ShuttingDown());
    outcome.failed.insert(outcome.failed.end(), outcome.returned.begin(), outcome.returned.end());
    outcome.returned.clear();
  }
  End(std::move(outcome));
}

Link::Outcome Link::TakeAll(const grpc::Status& why) {
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

void Link::End(Outcome outcome) {
  for (const auto& call : outcome.failed) call->Fail(outcome.why);
  if (!outcome.returned.empty()) listener_.OnReturned(std::move(outcome.returned));
}

}  // namespace headgate::peers
