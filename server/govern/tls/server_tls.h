// ServerTls: the server's certificate, and those that it trusts, read anew whenever the files
// change.
//
// - What is new counts for the next connection that comes, without a restart: it is in force within
//   half a second.
// - New files are taken together, once certificate and key belong together and all can be read.
//   Until then the old ones stay, and the status says why.
// - Swapping a symlink, as Kubernetes does, renaming and writing in place are all seen
//   (common/settled_files.h).
//
// Connections that are open keep what they were opened with: ConnectionLimits::age ends them.
//
// Thread-safe. The credentials must not be used after this is gone.
//
//   auto tls = ServerTls::Load(config.tls, clock, [](const TlsSnapshot& state) { ... });
//   if (!tls.ok()) return tls.status();
//   options.credentials = (*tls)->credentials();

#pragma once

#include <grpcpp/security/server_credentials.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/file_watcher.h"
#include "common/mutex.h"
#include "common/settled_files.h"
#include "common/tls/credentials.h"
#include "server/govern/config/config.h"
#include "server/govern/tls/status.h"

namespace headgate::tls {

class CurrentCredentials;

class ServerTls {
 public:
  // Called from a thread of this class whenever files were taken or refused, but for the first.
  using OnChange = std::function<void(const TlsSnapshot&)>;

  // `clock` outlives this. InvalidArgument names the file that is wrong, and why.
  static absl::StatusOr<std::unique_ptr<ServerTls>> Load(
      const config::TlsSettings& settings, Clock& clock, OnChange on_change,
      absl::Duration interval = absl::Milliseconds(100));
  ServerTls(const ServerTls&) = delete;
  ServerTls& operator=(const ServerTls&) = delete;

  const std::shared_ptr<grpc::ServerCredentials>& credentials() const { return credentials_; }
  // For HTTP, of what is in force now.
  std::shared_ptr<SSL_CTX> context() const ABSL_LOCKS_EXCLUDED(mutex_);
  TlsSnapshot state() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  ServerTls(const config::TlsSettings& settings, Clock& clock, OnChange on_change);
  absl::StatusOr<TlsCredentials> Check(const absl::StatusOr<SettledFiles::Texts>& texts) const;
  // Whether anything is to be told.
  bool Take(absl::StatusOr<TlsCredentials> read) ABSL_LOCKS_EXCLUDED(mutex_);

  const TlsFiles files_;
  const config::ClientCertificates clients_;
  const SettledFiles settled_;  // of files_; the watcher looks with a copy
  Clock& clock_;
  const OnChange on_change_;
  const std::shared_ptr<CurrentCredentials> current_;
  const std::shared_ptr<grpc::ServerCredentials> credentials_;

  mutable Mutex mutex_;
  TlsSnapshot state_ ABSL_GUARDED_BY(mutex_) = {.is_on = true};
  std::shared_ptr<SSL_CTX> context_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<FileWatcher> watcher_;  // calls Take: destroyed first
};

}  // namespace headgate::tls
