// A real server behind TLS, with files that a test rewrites, and callers of all kinds.
//
//   TlsServer server;
//   EXPECT_TRUE(server.Check(server.Caller()).ok());

#pragma once

#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>
#include <utility>

#include "server/govern/tls/server_tls.h"
#include "tests/testing/certificates.h"
#include "tests/testing/in_process_server.h"
#include "tests/testing/own_channel.h"
#include "tests/testing/temp_folder.h"

namespace headgate::tls {

// What is there before the server.
struct TlsFiles {
  explicit TlsFiles(config::ClientCertificates clients) {
    Write(authority.SignServer());
    ReplaceFile(settings.client_ca_file, authority.certificate());
    settings.client_certificates = clients;
    if (clients == config::ClientCertificates::kNone) settings.client_ca_file.clear();
    auto loaded = ServerTls::Load(
        settings, tls_clock, [](const TlsSnapshot&) {}, absl::Milliseconds(5));
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    tls = *std::move(loaded);
  }

  void Write(const TestCertificate& pair) {
    ReplaceFile(settings.certificate_file, pair.certificate);
    ReplaceFile(settings.key_file, pair.key);
  }

  TempFolder folder;
  CertificateAuthority authority{"authority"};
  config::TlsSettings settings{.certificate_file = folder.File("tls.crt"),
                               .key_file = folder.File("tls.key"),
                               .client_ca_file = folder.File("ca.crt")};
  FakeClock tls_clock;  // the server's as well
  std::unique_ptr<ServerTls> tls;
};

class TlsServer : public TlsFiles, public InProcessServer {
 public:
  explicit TlsServer(config::ClientCertificates clients = config::ClientCertificates::kRequired,
                     const InProcessOptions& options = {}, engine::PolicySpec policy = OneBudget())
      : TlsFiles(clients), InProcessServer(std::move(policy), WithTls(options)) {}

  static engine::PolicySpec OneBudget() {
    return engine::OneBudget(engine::RateBudget("b", 1000, 100'000));
  }

  // What a caller shows and trusts.
  grpc::SslCredentialsOptions Caller() {
    return Caller(authority.Sign({.uri = {"spiffe://prod/ns/jobs/sa/backfill"}}));
  }
  grpc::SslCredentialsOptions Caller(const TestCertificate& own) const {
    return {.pem_root_certs = authority.certificate(),
            .pem_private_key = own.key,
            .pem_cert_chain = own.certificate};
  }

  std::shared_ptr<grpc::Channel> Connect(const grpc::SslCredentialsOptions& caller) const {
    return OwnChannel(address(), grpc::SslCredentials(caller));
  }
  static grpc::Status CheckOver(const std::shared_ptr<grpc::Channel>& channel) {
    return CallRpc(channel, &v1::ThrottlerService::Stub::Check, CheckOf("job:etl", 1));
  }
  // Over a connection of its own.
  grpc::Status Check(const grpc::SslCredentialsOptions& caller) const {
    return CheckOver(Connect(caller));
  }

 private:
  InProcessOptions WithTls(InProcessOptions options) {
    options.rpc.credentials = tls->credentials();
    options.http_options.tls = [this] { return tls->context(); };
    options.clock = &tls_clock;
    return options;
  }
};

}  // namespace headgate::tls
