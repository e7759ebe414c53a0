// CallContext: what counters and services ask of a call beside its request, however it came.
//
// Thread-compatible. It lives as long as its call is answered.
//
//   GrpcCallContext call(context);
//   method.End(call, started_ns, status);

#pragma once

#include <grpcpp/server_context.h>

#include <string>
#include <string_view>

namespace headgate::transport {

inline constexpr char kRequestIdKey[] = "x-request-id";

class CallContext {
 public:
  virtual ~CallContext() = default;

  // As gRPC has it: "ipv4:10.0.0.1:4711".
  virtual std::string Peer() const = 0;
  // The caller's own, from `x-request-id`; empty: there is none.
  virtual std::string_view RequestId() const = 0;
  // For the caller, with what became of its call. Before that is sent.
  virtual void SetRequestId(const std::string& id) = 0;
  // Whether nobody waits for the answer any more.
  virtual bool IsCancelled() const = 0;
};

class GrpcCallContext final : public CallContext {
 public:
  // The context outlives this.
  explicit GrpcCallContext(grpc::ServerContext& context) : context_(context) {}

  std::string Peer() const override { return context_.peer(); }
  std::string_view RequestId() const override {
    const auto found = context_.client_metadata().find(kRequestIdKey);
    if (found == context_.client_metadata().end()) return {};
    return {found->second.data(), found->second.size()};
  }
  void SetRequestId(const std::string& id) override {
    context_.AddTrailingMetadata(kRequestIdKey, id);
  }
  bool IsCancelled() const override { return context_.IsCancelled(); }

 private:
  grpc::ServerContext& context_;
};

}  // namespace headgate::transport
