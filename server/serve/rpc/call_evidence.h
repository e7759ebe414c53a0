// What a gRPC call brings that may say who makes it, for access control to judge.
//
// Nothing is read before it is asked for. Thread-compatible; the context outlives it.
//
//   CallEvidence::Connections connections;  // of this thread; may be none
//   const CallEvidence call(context, &connections);
//   access::Asker asker;
//   if (auto refused = access.Identify(call, asker)) return ToGrpcStatus(*refused);

#pragma once

#include <grpcpp/server_context.h>

#include <optional>
#include <string>
#include <vector>

#include "server/govern/access/evidence.h"
#include "server/serve/transport/call_origin.h"
#include "server/serve/transport/connection_cache.h"

namespace headgate::rpc {

class CallEvidence final : public access::Evidence {
 public:
  using Connections = transport::ConnectionCache<access::KnownConnection>;

  // `connections`, which may be null, outlives this.
  explicit CallEvidence(grpc::ServerContext& context, Connections* connections = nullptr)
      : context_(context), connections_(connections) {}

  access::KnownConnection* Connection() const override;
  bool IsTls() const override { return Origin().IsTls(); }
  std::vector<std::string> CertificateNames() const override { return Origin().CertificateNames(); }
  absl::InlinedVector<std::string_view, 2> Authorization() const override;
  std::string Peer() const override { return context_.peer(); }

 private:
  const transport::CallOrigin& Origin() const {
    if (!origin_.has_value()) origin_.emplace(context_);
    return *origin_;
  }

  grpc::ServerContext& context_;
  Connections* const connections_;
  mutable std::optional<transport::CallOrigin> origin_;  // nothing: not looked at
};

}  // namespace headgate::rpc
