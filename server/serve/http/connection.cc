#include "server/serve/http/connection.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "server/serve/http/deferred_exchange.h"
#include "server/serve/http/refusal.h"
#include "server/serve/http/response_text.h"

namespace headgate::http {
namespace {

// One read of a header, and of a body.
constexpr size_t kReadBytes = size_t{2} << 10;
constexpr size_t kBodyReadBytes = size_t{16} << 10;
// What each connection may have without asking for it.
constexpr size_t kOwnBytes = size_t{8} << 10;
// What may come behind a request whose answer is put off.
constexpr size_t kMaxDropped = size_t{64} << 10;
// Until the other end has read the last response, and closes too.
constexpr int64_t kEndTimeoutNs = 1'000'000'000;
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

Connection::Connection(ConnectionOwner& owner, std::unique_ptr<Stream> stream, std::string address)
    : owner_(owner),
      stream_(std::move(stream)),
      in_(owner.request_limits().max_header_bytes + kBodyReadBytes) {
  peer_.address = std::move(address);
}

void Connection::Start(ConnectionOwner::Place place) {
  place_ = place;
  ends_after_ns_ = owner_.NowNs() + owner_.MaxAgeNs();
  Wait(owner_.RequestTimeoutNs());
  stream_->Handshake([self = shared_from_this()](Stream::Error error, size_t /*bytes*/) {
    if (self->state_ != State::kOpening) return;
    if (error) return self->Close();
    self->peer_.is_tls = self->stream_->is_tls();
    self->peer_.certificate_names = self->stream_->CertificateNames();
    self->state_ = State::kReading;
    self->SetKind(ConnectionOwner::Kind::kLoose);
    self->StartRead();
  });
}

void Connection::Wait(int64_t timeout_ns) {
  deadline_ns_ = timeout_ns == INT64_MAX ? INT64_MAX : owner_.NowNs() + timeout_ns;
  SetKind(kind_);
}

void Connection::SetKind(ConnectionOwner::Kind kind) {
  owner_.Move(place_, std::exchange(kind_, kind), kind);
}

bool Connection::Hold(size_t bytes) {
  const size_t wanted = bytes > kOwnBytes ? bytes - kOwnBytes : 0;
  if (!owner_.Reserve(held_, wanted)) return false;
  held_ = wanted;
  return true;
}

void Connection::Close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  stream_->Close();
  Hold(0);
  owner_.Remove(place_, kind_);
  if (const auto deferred = std::move(deferred_)) deferred->End(/*delivered=*/false);
}

void Connection::StartRead() {
  if (std::exchange(reading_, true)) return;
  const bool in_body = parser_.has_value() && parser_->is_in_body();
  const size_t room = in_.max_size() - in_.size();
  stream_->Read(in_.prepare(std::min(room, in_body ? kBodyReadBytes : kReadBytes)),
                [self = shared_from_this()](Stream::Error error, size_t bytes) {
                  self->OnRead(error, bytes);
                });
}

void Connection::OnRead(Stream::Error error, size_t bytes) {
  OrClose([&] { Take(error, bytes); });
}

void Connection::OrClose(absl::FunctionRef<void()> run) {
  try {
    run();
  } catch (const std::exception&) {
    Close();
  }
}

void Connection::Take(Stream::Error error, size_t bytes) {
  reading_ = false;
  if (state_ == State::kClosed) return;
  if (error) {
    // What is being sent may still be read.
    if (state_ != State::kWriting) return Close();
    ends_ = true;
    return;
  }
  in_.commit(bytes);
  switch (state_) {
    case State::kReading:
      return Process();
    case State::kDeferred:
      ends_ = true;
      dropped_ += bytes;
      in_.consume(in_.size());
      return dropped_ > kMaxDropped ? Close() : StartRead();
    case State::kEnding:
      in_.consume(in_.size());
      return StartRead();
    default:  // the next request, which is for when the response has gone out
      return;
  }
}

void Connection::Process() {
  while (state_ == State::kReading) {
    if (!parser_.has_value()) {
      if (in_.size() == 0) break;
      parser_.emplace(owner_.request_limits());
      Wait(owner_.RequestTimeoutNs());
    }
    const size_t taken = parser_->Put(in_.data());
    in_.consume(taken);
    if (parser_->refusal() != 0) return Fail(parser_->refusal());
    if (!Hold(parser_->body_bytes())) return Fail(503);
    if (parser_->is_done()) return Handle();
    if (parser_->TakeExpectation()) return SendContinue();
    if (taken == 0 || in_.size() == 0) break;
  }
  if (state_ != State::kReading) return;
  // What is left has no end, such as fields behind a body in chunks.
  if (in_.size() == in_.max_size()) return Fail(431);
  StartRead();
}

void Connection::SendContinue() {
  stream_->Write(boost::asio::buffer(kContinue, sizeof(kContinue) - 1),
                 [self = shared_from_this()](Stream::Error error, size_t /*bytes*/) {
                   if (self->state_ == State::kClosed) return;
                   if (error) return self->Close();
                   self->Process();
                 });
}

void Connection::Handle() {
  ends_ = !parser_->keeps_alive() || in_.size() > 0 || owner_.NowNs() > ends_after_ns_;
  in_.consume(in_.size());
  Request request = parser_->request();
  request.peer = &peer_;
  is_head_ = request.method == Request::Method::kHead;
  state_ = State::kHandling;
  Response& response = owner_.ScratchResponse();
  if (owner_.handler().Handle(request, response, *this)) return Respond(response);
  state_ = State::kDeferred;
  parser_.reset();
  Hold(0);
  dropped_ = 0;
  deadline_ns_ = INT64_MAX;
  SetKind(ConnectionOwner::Kind::kDeferred);
  StartRead();
}

std::shared_ptr<Deferred> Connection::Defer(std::shared_ptr<transport::ParkListener> listener) {
  if (!owner_.MayDefer()) return nullptr;
  deferred_ = std::make_shared<DeferredExchange>(owner_, shared_from_this(), std::move(listener));
  return deferred_;
}

void Connection::RespondLater(const Response& response) {
  if (state_ != State::kDeferred) return;  // it was closed meanwhile
  SetKind(ConnectionOwner::Kind::kLoose);
  OrClose([&] { Respond(response); });
}

void Connection::Fail(int status) {
  owner_.handler().OnRefused(status);
  Response& response = owner_.ScratchResponse();
  response.status = status;
  response.close = true;
  response.retry_after_s = status == 503 ? 1 : 0;
  response.body = RefusalText(status);
  is_head_ = parser_->is_head();
  Respond(response);
}

void Connection::Respond(const Response& response) {
  ends_ = ends_ || response.close;
  std::string& text = owner_.ScratchText();
  AppendResponse(response,
                 {.date_line = owner_.DateLine(), .without_body = is_head_, .close = ends_}, text);
  parser_.reset();
  Send(text);
}

void Connection::Send(std::string& text) {
  state_ = State::kWriting;
  Stream::Error error;
  const size_t sent = stream_->TryWrite(boost::asio::buffer(text), error);
  if (error || sent == text.size()) return OnSent(error);
  out_.assign(text, sent);
  // Whoever does not read what it asked for keeps it from others.
  if (!Hold(out_.size())) return Close();
  Wait(owner_.ResponseTimeoutNs());
  stream_->Write(boost::asio::buffer(out_),
                 [self = shared_from_this()](Stream::Error failed, size_t /*bytes*/) {
                   if (self->state_ != State::kClosed) self->OnSent(failed);
                 });
}

void Connection::OnSent(Stream::Error error) {
  if (error) return Close();
  if (const auto deferred = std::move(deferred_)) deferred->End(/*delivered=*/true);
  if (out_.capacity() > kOwnBytes) out_ = {};
  Hold(0);
  if (ends_) return End();
  state_ = State::kReading;
  Wait(owner_.IdleTimeoutNs());
  Process();
}

void Connection::End() {
  state_ = State::kEnding;
  Wait(kEndTimeoutNs);
  stream_->EndWriting([self = shared_from_this()] { self->Close(); });
  if (peer_.is_tls) return;
  in_.consume(in_.size());
  StartRead();
}

}  // namespace headgate::http
