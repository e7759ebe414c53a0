// A call of the API as it comes over HTTP, to whichever thread answers it: the port's, while it
// handles the request, or a worker, which has copies, as nothing of the request is left by then.
//
//   CallOnPort call(request, exchange);
//   CallOnWorker call(request, exchange.TakeBody(), deferred);

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/cord.h"
#include "server/serve/gateway/http_call.h"
#include "server/serve/http/handler.h"
#include "server/serve/rpc/kept_evidence.h"
#include "server/serve/transport/parked_call.h"

namespace headgate::gateway {

class IncomingCall {
 public:
  virtual const access::Evidence& evidence() const = 0;
  virtual std::string_view body() const = 0;
  // What is told of it.
  virtual HttpCall Context() const = 0;
  // Puts its answer off, or tells whoever is to hear of its end since it was. Null: too many are
  // put off already, or the caller is gone.
  virtual std::shared_ptr<http::Deferred> Defer(
      std::shared_ptr<transport::ParkListener> listener) = 0;

 protected:
  ~IncomingCall() = default;
};

class CallOnPort final : public IncomingCall {
 public:
  CallOnPort(const http::Request& request, http::Exchange& exchange)
      : request_(request), evidence_(request), exchange_(exchange) {}

  const access::Evidence& evidence() const override { return evidence_; }
  std::string_view body() const override { return request_.body; }
  HttpCall Context() const override { return HttpCall(request_); }
  std::shared_ptr<http::Deferred> Defer(
      std::shared_ptr<transport::ParkListener> listener) override {
    return exchange_.Defer(std::move(listener));
  }

 private:
  const http::Request& request_;
  const HttpEvidence evidence_;
  http::Exchange& exchange_;
};

class CallOnWorker final : public IncomingCall {
 public:
  // The request outlives this constructor.
  CallOnWorker(const http::Request& request, absl::Cord body,
               std::shared_ptr<http::Deferred> deferred)
      : context_(request, deferred),
        evidence_(HttpEvidence(request)),
        body_(std::move(body)),
        deferred_(std::move(deferred)) {}

  const access::Evidence& evidence() const override { return evidence_; }
  // By the worker, whom it costs time if it is long.
  std::string_view body() const override {
    const absl::string_view body = body_.Flatten();
    return std::string_view(body.data(), body.size());
  }
  HttpCall Context() const override { return context_; }
  std::shared_ptr<http::Deferred> Defer(
      std::shared_ptr<transport::ParkListener> listener) override {
    return deferred_->Listen(std::move(listener)) ? deferred_ : nullptr;
  }

  // Where its answer goes.
  http::Deferred& deferred() const { return *deferred_; }

 private:
  const HttpCall context_;
  const rpc::KeptEvidence evidence_;
  mutable absl::Cord body_;  // the same text, in one piece or in several
  const std::shared_ptr<http::Deferred> deferred_;
};

}  // namespace headgate::gateway
