// A real server behind TLS, with files that a test rewrites, and callers of all kinds.
//
//   TlsServer server;
//   EXPECT_TRUE(server.Check(server.Caller()).ok());

#pragma once

#include <grpcpp/security/credentials.h>

#include <memory>
#include <optional>
#include <string>

#include "server/tls/server_tls.h"
#include "tests/rpc/rpc_fixture.h"
#include "tests/testing/certificates.h"
#include "tests/testing/temp_folder.h"

namespace headgate::tls {

class TlsServer {
 public:
  explicit TlsServer(config::ClientCertificates clients = config::ClientCertificates::kRequired,
                     rpc::RpcServerOptions options = rpc::TestServer::Options(),
                     access::AccessControl* access = nullptr) {
    Write(authority.SignServer());
    ReplaceFile(settings.client_ca_file, authority.certificate());
    settings.client_certificates = clients;
    if (clients == config::ClientCertificates::kNone) settings.client_ca_file.clear();
    auto loaded = ServerTls::Load(
        settings, clock, [](const TlsSnapshot&) {}, absl::Milliseconds(5));
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    tls = *std::move(loaded);
    options.credentials = tls->credentials();
    server.emplace(engine::OneBudget(engine::RateBudget("b", 1000, 100'000)), options, access);
  }

  void Write(const TestCertificate& pair) {
    ReplaceFile(settings.certificate_file, pair.certificate);
    ReplaceFile(settings.key_file, pair.key);
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
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server->server->port()),
                                     grpc::SslCredentials(caller), arguments);
  }
  static grpc::Status CheckOver(const std::shared_ptr<grpc::Channel>& channel) {
    rpc::Context context;
    v1::CheckResponse response;
    return v1::ThrottlerService::NewStub(channel)->Check(&context, rpc::CheckOf("job:etl", 1),
                                                         &response);
  }
  // Over a connection of its own.
  grpc::Status Check(const grpc::SslCredentialsOptions& caller) const {
    return CheckOver(Connect(caller));
  }

  TempFolder folder;
  CertificateAuthority authority{"authority"};
  config::TlsSettings settings{.certificate_file = folder.File("tls.crt"),
                               .key_file = folder.File("tls.key"),
                               .client_ca_file = folder.File("ca.crt")};
  FakeClock clock;
  std::unique_ptr<ServerTls> tls;
  std::optional<rpc::TestServer> server;  // after tls
};

}  // namespace headgate::tls
