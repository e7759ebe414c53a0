#include "server/govern/tls/current_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <cassert>
#include <deque>
#include <string>
#include <utility>

namespace headgate::tls {
namespace {

grpc_ssl_client_certificate_request_type RequestType(config::ClientCertificates clients) {
  switch (clients) {
    case config::ClientCertificates::kRequired:
      return GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
    case config::ClientCertificates::kOptional:
      return GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
    case config::ClientCertificates::kNone:
      break;
  }
  return GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
}

// What one port of a server has been told.
struct Source {
  std::shared_ptr<const CurrentCredentials> current;
  Mutex mutex;
  uint64_t seen ABSL_GUARDED_BY(mutex) = 0;

  // Before each handshake, on a thread of gRPC's.
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* user_data, grpc_ssl_server_certificate_config** config) {
    auto& source = *static_cast<Source*>(user_data);
    MutexLock lock(&source.mutex);
    TlsCredentials news;
    if (!source.current->GetNews(source.seen, news)) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    grpc_ssl_pem_key_cert_pair pair = {.private_key = news.key.c_str(),
                                       .cert_chain = news.certificates.c_str()};
    // gRPC insists on some, even where it asks callers for nothing that they could vouch for.
    const std::string& authorities =
        news.authorities.empty() ? news.certificates : news.authorities;
    *config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }
};

class Credentials final : public grpc::ServerCredentials {
 public:
  Credentials(std::shared_ptr<const CurrentCredentials> current, config::ClientCertificates clients)
      : current_(std::move(current)), clients_(clients) {}

  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {
    assert(false && "callers are judged by the services");
  }

 private:
  // 0: it could not.
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    Source& source = sources_.emplace_back();
    source.current = current_;
    grpc_server_credentials* const credentials = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(RequestType(clients_),
                                                                        &Source::Fetch, &source));
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  const std::shared_ptr<const CurrentCredentials> current_;
  const config::ClientCertificates clients_;
  std::deque<Source> sources_;  // gRPC has their addresses
};

}  // namespace

void CurrentCredentials::Set(TlsCredentials credentials) {
  MutexLock lock(&mutex_);
  credentials_ = std::move(credentials);
  ++version_;
}

TlsCredentials CurrentCredentials::Get() const {
  MutexLock lock(&mutex_);
  return credentials_;
}

bool CurrentCredentials::GetNews(uint64_t& seen, TlsCredentials& credentials) const {
  MutexLock lock(&mutex_);
  if (seen == version_) return false;
  seen = version_;
  credentials = credentials_;
  return true;
}

std::shared_ptr<grpc::ServerCredentials> NewServerCredentials(
    std::shared_ptr<const CurrentCredentials> current, config::ClientCertificates clients) {
  return std::make_shared<Credentials>(std::move(current), clients);
}

}  // namespace headgate::tls
