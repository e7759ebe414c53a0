// A peer that says it is there, and falls silent when it is sent the first call, or before: from
// then on it takes what it is sent and never answers, as a process that was stopped.
//
// Thread-safe.
//
//   SilentPeer silent(servers.shared());
//   servers[0].owners.Set("t1", {.kind = cluster::Owner::Kind::kOther, .address =
//   silent.address()});

#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <headgate/peer/v1/peer_service.grpc.pb.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "tests/serve/peers/peers_fixture.h"

namespace headgate::peers {

class SilentPeer final : public peer::v1::PeerService::Service {
 public:
  explicit SilentPeer(Shared& shared) {
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = shared.authority.certificate();
    tls.pem_key_cert_pairs = {{shared.certificate.key, shared.certificate.certificate}};
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~SilentPeer() override { server_->Shutdown(gpr_time_from_seconds(0, GPR_TIMESPAN)); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  int calls() const { return calls_.load(); }
  // From now on.
  void FallSilent() { is_silent_ = true; }
  // Messages that it did not answer, of whichever of so many peers it ignored least.
  int IgnoredOfEach(size_t peers) const {
    const MutexLock lock(&mutex_);
    if (ignored_.size() < peers) return 0;
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    return std::min_element(ignored_.begin(), ignored_.end(), by_count)->second;
  }

 private:
  grpc::Status Forward(grpc::ServerContext* context,
                       grpc::ServerReaderWriter<peer::v1::ForwardResponse,
                                                peer::v1::ForwardRequest>* stream) override {
    peer::v1::ForwardRequest request;
    while (stream->Read(&request)) {
      if (request.opening()) continue;  // which is answered when the stream ends
      if (request.calls_size() > 0) is_silent_ = true;
      calls_ += request.calls_size();
      if (is_silent_) {
        const MutexLock lock(&mutex_);
        ++ignored_[context->peer()];
        continue;
      }
      peer::v1::ForwardResponse response;
      response.set_number(request.number());
      stream->Write(response);
    }
    return grpc::Status();
  }

  int port_ = 0;
  std::atomic<int> calls_ = 0;
  std::atomic<bool> is_silent_ = false;
  mutable Mutex mutex_;
  std::map<std::string, int> ignored_ ABSL_GUARDED_BY(mutex_);  // by connection
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace headgate::peers
