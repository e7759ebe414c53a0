// What a request over HTTP brings beside its body: evidence of who makes it, and what is told of
// it.
//
// Thread-compatible. The request outlives HttpEvidence; HttpCall keeps copies.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/govern/access/evidence.h"
#include "server/serve/http/handler.h"
#include "server/serve/http/message.h"
#include "server/serve/transport/call_context.h"

namespace headgate::gateway {

class HttpEvidence final : public access::Evidence {
 public:
  explicit HttpEvidence(const http::Request& request) : request_(request) {}

  access::KnownConnection* Connection() const override {
    return IsTls() ? &request_.peer->known : nullptr;
  }
  bool IsTls() const override { return request_.peer->is_tls; }
  std::vector<std::string> CertificateNames() const override {
    return request_.peer->certificate_names;
  }
  absl::InlinedVector<std::string_view, 2> Authorization() const override {
    return request_.authorization;
  }
  std::string Peer() const override { return request_.peer->address; }

 private:
  const http::Request& request_;
};

class HttpCall final : public transport::CallContext {
 public:
  // `deferred` is null where the call is answered at once.
  explicit HttpCall(const http::Request& request,
                    std::shared_ptr<http::Deferred> deferred = nullptr)
      : peer_(request.peer->address),
        request_id_(request.request_id),
        deferred_(std::move(deferred)) {}

  std::string Peer() const override { return peer_; }
  std::string_view RequestId() const override { return request_id_; }
  void SetRequestId(const std::string& id) override { answered_id_ = id; }
  bool IsCancelled() const override { return deferred_ != nullptr && deferred_->gone(); }

  // For the caller; empty: nothing is said of it.
  const std::string& answered_id() const { return answered_id_; }

 private:
  const std::string peer_;
  const std::string request_id_;
  const std::shared_ptr<http::Deferred> deferred_;
  std::string answered_id_;
};

}  // namespace headgate::gateway
