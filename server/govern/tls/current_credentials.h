// CurrentCredentials: those that the next connection gets, and gRPC's view of them.
//
// gRPC asks before each handshake whether there is anything new. Its C++ interface does not offer
// that, but its C interface does, and a grpc::ServerCredentials is no more than what adds a port to
// a server in C.
//
// Thread-safe.
//
//   auto current = std::make_shared<CurrentCredentials>();
//   current->Set(credentials);
//   auto credentials = NewServerCredentials(current, config::ClientCertificates::kRequired);

#pragma once

#include <grpcpp/security/server_credentials.h>

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "common/tls/credentials.h"
#include "server/govern/config/config.h"

namespace headgate::tls {

class CurrentCredentials {
 public:
  // They have been checked.
  void Set(TlsCredentials credentials);
  TlsCredentials Get() const;
  // Copies them if they are not of version `seen`, which it sets.
  bool GetNews(uint64_t& seen, TlsCredentials& credentials) const;

 private:
  mutable Mutex mutex_;
  TlsCredentials credentials_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
};

std::shared_ptr<grpc::ServerCredentials> NewServerCredentials(
    std::shared_ptr<const CurrentCredentials> current, config::ClientCertificates clients);

}  // namespace headgate::tls
