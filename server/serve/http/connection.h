// Connection: what one caller of a port says and hears, one request after the other.
//
// A request has to be there within a time and sizes, and so does the reading of its response. While
// its answer is put off, the connection is read from, so that a caller who hangs up is noticed.
// What is sent behind a request before its answer has gone out is never taken for a request: it is
// dropped, and the connection ends with that answer.
//
// Belongs to the port's thread.

#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "server/serve/http/handler.h"
#include "server/serve/http/message.h"
#include "server/serve/http/request_parser.h"
#include "server/serve/http/stream.h"

namespace headgate::http {

class Connection;
class DeferredExchange;

// The port that a connection is of, and what all its connections share.
class ConnectionOwner {
 public:
  using Place = std::list<std::shared_ptr<Connection>>::iterator;
  // A connection may be closed for others to have room, unless it is kDeferred. Of those whose TLS
  // is not agreed on yet there are few, since OpenSSL makes room for what they announce.
  enum class Kind : uint8_t { kOpening, kLoose, kDeferred };

  virtual Handler& handler() = 0;
  virtual const RequestLimits& request_limits() const = 0;
  virtual int64_t NowNs() = 0;
  // "Date: ...\r\n"
  virtual const std::string& DateLine() = 0;
  // Ready to be filled.
  virtual Response& ScratchResponse() = 0;
  virtual std::string& ScratchText() = 0;
  // Whether it may have so many bytes, rather than `before`, of the memory that all share.
  virtual bool Reserve(size_t before, size_t after) = 0;
  virtual bool MayDefer() const = 0;
  // The connection moves to the end of those of that kind.
  virtual void Move(Place place, Kind from, Kind to) = 0;
  // It is not to be used any more.
  virtual void Remove(Place place, Kind kind) = 0;
  // For a DeferredExchange: runs `run` on the port's thread, in time.
  virtual void Post(std::function<void()> run) = 0;
  virtual int64_t RequestTimeoutNs() const = 0;
  virtual int64_t IdleTimeoutNs() const = 0;
  virtual int64_t ResponseTimeoutNs() const = 0;
  virtual int64_t MaxAgeNs() const = 0;

 protected:
  ~ConnectionOwner() = default;
};

class Connection final : public Exchange, public std::enable_shared_from_this<Connection> {
 public:
  Connection(ConnectionOwner& owner, std::unique_ptr<Stream> stream, std::string address);

  // `place` is its own in the owner's list.
  void Start(ConnectionOwner::Place place);
  // Whoever waits is told.
  void Close();
  // When it is to be closed; INT64_MAX: not for its sake.
  int64_t deadline_ns() const { return deadline_ns_; }

  std::shared_ptr<Deferred> Defer(std::shared_ptr<transport::ParkListener> listener) override;
  absl::Cord TakeBody() override { return parser_->TakeBody(); }
  // By a DeferredExchange.
  void RespondLater(const Response& response);

 private:
  enum class State : uint8_t {
    kOpening,
    kReading,
    kHandling,
    kDeferred,
    kWriting,
    kEnding,
    kClosed
  };

  void StartRead();
  void OnRead(Stream::Error error, size_t bytes);
  void Take(Stream::Error error, size_t bytes);
  // An exception, as for want of memory or of a handler's, ends this connection.
  void OrClose(absl::FunctionRef<void()> run);
  void Process();
  void Handle();
  void Fail(int status);
  void Respond(const Response& response);
  void Send(std::string& text);
  void OnSent(Stream::Error error);
  void SendContinue();
  void End();
  void Wait(int64_t timeout_ns);
  // Of what it has of the shared memory; false: there is no more.
  bool Hold(size_t bytes);
  void SetKind(ConnectionOwner::Kind kind);

  ConnectionOwner& owner_;
  const std::unique_ptr<Stream> stream_;
  Peer peer_;
  ConnectionOwner::Place place_;
  ConnectionOwner::Kind kind_ = ConnectionOwner::Kind::kOpening;
  State state_ = State::kOpening;
  bool reading_ = false;  // a read runs
  bool ends_ = false;     // with the response
  bool is_head_ = false;
  int64_t ends_after_ns_ = 0;
  int64_t deadline_ns_ = INT64_MAX;
  size_t held_ = 0;     // of the shared memory
  size_t dropped_ = 0;  // bytes, while the answer was put off
  boost::beast::flat_buffer in_;
  std::optional<RequestParser> parser_;
  std::string out_;  // what could not be sent at once
  std::shared_ptr<DeferredExchange> deferred_;
};

}  // namespace headgate::http
