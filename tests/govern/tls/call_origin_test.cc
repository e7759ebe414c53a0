// What a handler learns of the connection that a call came over. Whose it is, is for access control
// to say (tests/security/access_test.cc).

#include "server/serve/transport/call_origin.h"

#include <memory>

#include "gtest/gtest.h"
#include "tests/govern/tls/tls_fixture.h"

namespace headgate::tls {
namespace {

using config::ClientCertificates;

// One server, over TLS and in plaintext, that only takes notes.
class Origins final : public grpc::health::v1::Health::Service {
 public:
  explicit Origins(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", credentials, &tls_port_);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &plain_port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  grpc::Status Check(grpc::ServerContext* context, const grpc::health::v1::HealthCheckRequest*,
                     grpc::health::v1::HealthCheckResponse*) override {
    is_plaintext = transport::IsPlaintext(*context);
    return grpc::Status();
  }

  void CallOverTls(const grpc::SslCredentialsOptions& caller) const {
    Call(tls_port_, grpc::SslCredentials(caller));
  }
  void CallInPlaintext() const { Call(plain_port_, grpc::InsecureChannelCredentials()); }

  bool is_plaintext = false;

 private:
  static void Call(int port, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    const auto stub = grpc::health::v1::Health::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), credentials));
    Context context;
    grpc::health::v1::HealthCheckResponse response;
    const grpc::Status status = stub->Check(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

  int tls_port_ = 0;
  int plain_port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(CallOrigin, TlsIsToldWithAndWithoutACertificate) {
  TlsServer server(ClientCertificates::kOptional);
  Origins origins(server.tls->credentials());
  origins.is_plaintext = true;
  origins.CallOverTls(server.Caller());
  EXPECT_FALSE(origins.is_plaintext);
  grpc::SslCredentialsOptions caller;
  caller.pem_root_certs = server.authority.certificate();
  origins.is_plaintext = true;
  origins.CallOverTls(caller);
  EXPECT_FALSE(origins.is_plaintext);
}

TEST(CallOrigin, PlaintextIsToldApart) {
  TlsServer server;
  Origins origins(server.tls->credentials());
  origins.CallInPlaintext();
  EXPECT_TRUE(origins.is_plaintext);
}

}  // namespace
}  // namespace headgate::tls
