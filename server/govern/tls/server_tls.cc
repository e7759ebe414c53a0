#include "server/govern/tls/server_tls.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/govern/tls/current_credentials.h"
#include "server/govern/tls/server_context.h"

namespace headgate::tls {

absl::StatusOr<std::unique_ptr<ServerTls>> ServerTls::Load(const config::TlsSettings& settings,
                                                           Clock& clock, OnChange on_change,
                                                           absl::Duration interval) {
  // make_unique cannot call the private constructor.
  std::unique_ptr<ServerTls> tls(new ServerTls(settings, clock, std::move(on_change)));
  absl::StatusOr<TlsCredentials> read = tls->Check(tls->settled_.Read());
  if (!read.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("tls: ", read.status().message()));
  }
  tls->Take(std::move(read));
  tls->watcher_ = std::make_unique<FileWatcher>(
      tls->settled_,
      [tls = tls.get()](const auto& contents) {
        if (tls->Take(tls->Check(tls->settled_.TextsOf(contents)))) tls->on_change_(tls->state());
      },
      interval);
  return tls;
}

ServerTls::ServerTls(const config::TlsSettings& settings, Clock& clock, OnChange on_change)
    : files_{.certificates = settings.certificate_file,
             .key = settings.key_file,
             .authorities = settings.client_ca_file},
      clients_(settings.client_certificates),
      settled_(PathsOf(files_)),
      clock_(clock),
      on_change_(std::move(on_change)),
      current_(std::make_shared<CurrentCredentials>()),
      credentials_(NewServerCredentials(current_, settings.client_certificates)) {}

std::shared_ptr<SSL_CTX> ServerTls::context() const {
  MutexLock lock(&mutex_);
  return context_;
}

TlsSnapshot ServerTls::state() const {
  MutexLock lock(&mutex_);
  return state_;
}

absl::StatusOr<TlsCredentials> ServerTls::Check(
    const absl::StatusOr<SettledFiles::Texts>& texts) const {
  if (!texts.ok()) return texts.status();
  return CredentialsOf(files_, *texts);
}

bool ServerTls::Take(absl::StatusOr<TlsCredentials> read) {
  const absl::Time now = clock_.Read().wall();
  MutexLock lock(&mutex_);
  if (!read.ok()) {
    state_.status = read.status();
    return true;
  }
  const bool was_refused = !std::exchange(state_.status, absl::OkStatus()).ok();
  if (*read == current_->Get()) return was_refused;
  state_.expires_at = read->expires_at;
  state_.loaded_at = now;
  ++state_.loads;
  context_ = MakeServerContext(*read, clients_);
  current_->Set(*std::move(read));
  return true;
}

}  // namespace headgate::tls
