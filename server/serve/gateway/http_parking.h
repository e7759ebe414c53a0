// HttpParking: parks a call that came over HTTP, as the API has calls parked.
//
// It has no deadline but its Checks' own, and it is counted when it is answered, or when its caller
// has hung up.
//
//   HttpParking<v1::CheckResponse> parking(call, counts);
//   grpc::Status status = thread.Check(evidence, check, response, parking);
//   if (parking.parked()) return false;

#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "server/serve/gateway/http_answer.h"
#include "server/serve/gateway/http_call.h"
#include "server/serve/gateway/incoming_call.h"
#include "server/serve/http/handler.h"
#include "server/serve/transport/calls.h"
#include "server/serve/transport/parked_call.h"

namespace headgate::gateway {

// Counts those that nobody waits for any more.
class CountedListener final : public transport::ParkListener {
 public:
  CountedListener(std::shared_ptr<transport::ParkListener> listener, transport::MethodCalls& counts)
      : listener_(std::move(listener)), counts_(counts) {}

  void OnGone() override {
    counts_.CountGone();
    listener_->OnGone();
  }
  void OnAnswered(bool delivered) override { listener_->OnAnswered(delivered); }

 private:
  const std::shared_ptr<transport::ParkListener> listener_;
  transport::MethodCalls& counts_;
};

// How an answer is written.
template <typename Message>
using FillResponse = void (*)(const grpc::Status& status, const Message& message,
                              http::Response& response);

template <typename Message>
void FillJson(const grpc::Status& status, const Message& message, http::Response& response) {
  json::JsonWriter writer;
  FillAnswer(status, message, writer, response);
}

template <typename Message>
class HttpParkedCall final : public transport::ParkedCall<Message> {
 public:
  HttpParkedCall(HttpCall call, std::shared_ptr<http::Deferred> deferred,
                 transport::MethodCalls& counts, FillResponse<Message> fill)
      : transport::ParkedCall<Message>(INT64_MAX),
        call_(std::move(call)),
        deferred_(std::move(deferred)),
        counts_(counts),
        fill_(fill) {}

  bool Answer(const grpc::Status& status, Message& message) override {
    return deferred_->Respond([&] {
      counts_.End(call_, 0, status);
      http::Response response{.request_id = call_.answered_id()};
      fill_(status, message, response);
      return response;
    });
  }

 private:
  HttpCall call_;
  const std::shared_ptr<http::Deferred> deferred_;
  transport::MethodCalls& counts_;
  const FillResponse<Message> fill_;
};

template <typename Message>
class HttpParking final : public transport::Parking<Message> {
 public:
  // `counts` may be written by any thread. All outlive this, and `counts` the call.
  HttpParking(IncomingCall& call, transport::MethodCalls& counts,
              FillResponse<Message> fill = &FillJson<Message>)
      : call_(call), counts_(counts), fill_(fill) {}

  std::shared_ptr<transport::ParkedCall<Message>> Park(
      std::shared_ptr<transport::ParkListener> listener) override {
    std::shared_ptr<http::Deferred> deferred =
        call_.Defer(std::make_shared<CountedListener>(std::move(listener), counts_));
    if (deferred == nullptr) return nullptr;
    parked_ = true;
    return std::make_shared<HttpParkedCall<Message>>(call_.Context(), std::move(deferred), counts_,
                                                     fill_);
  }

  bool parked() const { return parked_; }

 private:
  IncomingCall& call_;
  transport::MethodCalls& counts_;
  const FillResponse<Message> fill_;
  bool parked_ = false;
};

}  // namespace headgate::gateway
