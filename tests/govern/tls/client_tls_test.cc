// The SDK over TLS: what it checks, what it sends along, and files that change while it runs.

#include <headgate/client.h>
#include <headgate/transport.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "client/channel_source.h"
#include "client/convert.h"
#include "client/token.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/govern/tls/manual_time.h"
#include "tests/govern/tls/tls_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::tls {
namespace {

using client::ConnectionOptions;
using client::TlsOptions;
using client::internal::ChannelSource;
using client::internal::Token;
using testing::HasSubstr;

class ClientFiles {
 public:
  explicit ClientFiles(TlsServer& server) : server_(server) {
    ReplaceFile(folder_.File("ca.crt"), server.authority.certificate());
    Renew(server.authority);
  }
  void Renew(CertificateAuthority& authority) {
    const TestCertificate own = authority.Sign({.name = "job"});
    ReplaceFile(folder_.File("own.crt"), own.certificate);
    ReplaceFile(folder_.File("own.key"), own.key);
  }
  std::string File(const std::string& name) const { return folder_.File(name); }
  ConnectionOptions Options() const {
    return {.address = server_.address(),
            .tls = TlsOptions{.ca_file = File("ca.crt"),
                              .certificate_file = File("own.crt"),
                              .key_file = File("own.key")}};
  }

 private:
  TlsServer& server_;
  TempFolder folder_;
};

client::ClientOptions SdkOptions(const ConnectionOptions& connection) {
  client::ClientOptions options{.on_unreachable = client::OnUnreachable::Fail()};
  options.address = connection.address;
  options.tls = connection.tls;
  options.token_file = connection.token_file;
  options.identity = "job:etl";
  options.check_deadline = absl::Seconds(20);
  return options;
}

TEST(ClientTls, ChecksOverMutualTls) {
  TlsServer server;
  const ClientFiles files(server);
  const auto client = client::Client::Create(SdkOptions(files.Options()));
  ASSERT_TRUE(client.ok()) << client.status();
  const auto answer = (*client)->Check({});
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST(ClientTls, ExpectsTheNameThatItIsGiven) {
  TlsServer server;
  const ClientFiles files(server);
  ConnectionOptions options = files.Options();
  options.tls->server_name = "headgate.example";
  EXPECT_TRUE((*client::Client::Create(SdkOptions(options)))->Check({}).ok());
  options.tls->server_name = "elsewhere.example";
  client::ClientOptions impatient = SdkOptions(options);
  impatient.check_deadline = absl::Seconds(1);
  EXPECT_FALSE((*client::Client::Create(impatient))->Check({}).ok());
}

TEST(ClientTls, SaysAtOnceWhatIsWrongWithItsFiles) {
  TlsServer server;
  const ClientFiles files(server);
  const auto error = [&](const std::function<void(ConnectionOptions&)>& change) {
    ConnectionOptions options = files.Options();
    change(options);
    const absl::Status status = client::Client::Create(SdkOptions(options)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(error([&](auto& options) { options.tls->ca_file = files.File("none"); }),
            files.File("none") + ": No such file or directory");
  EXPECT_EQ(error([](auto& options) { options.tls->key_file.clear(); }),
            "tls: certificate_file and key_file are given together, or neither");
  EXPECT_EQ(error([&](auto& options) { options.tls->key_file = files.File("own.crt"); }),
            files.File("own.crt") + ": has no private key in PEM form, or an encrypted one");
  EXPECT_EQ(error([&](auto& options) {
              options.tls.reset();
              options.token_file = files.File("own.crt");
            }),
            "token_file: a token is sent over TLS only");
  EXPECT_THAT(error([&](auto& options) { options.token_file = files.File("own.crt"); }),
              HasSubstr("own.crt: holds no token: one word of at most 4096 characters"));
}

// Of the future, so that two looks have to see it: one that is slow would else take it for a file
// that was left alone.
void ReplaceJustNow(const std::string& path, const std::string& text) {
  ReplaceFile(path, text);
  std::filesystem::last_write_time(path,
                                   std::filesystem::last_write_time(path) + std::chrono::hours(1));
}

// What the server's gRPC has seen of a call.
class SeenHeaders final : public grpc::health::v1::Health::Service {
 public:
  grpc::Status Check(grpc::ServerContext* context, const grpc::health::v1::HealthCheckRequest*,
                     grpc::health::v1::HealthCheckResponse*) override {
    const auto found = context->client_metadata().find("authorization");
    const bool is_there = found != context->client_metadata().end();
    seen = is_there ? std::string(found->second.data(), found->second.size()) : "";
    return grpc::Status();
  }

  std::string seen;
};

TEST(ClientTls, SendsTheTokenThatIsInTheFileNow) {
  TlsServer files_of;
  const ClientFiles files(files_of);
  std::ofstream(files.File("token")) << "first-token\n";
  SeenHeaders service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", files_of.tls->credentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ConnectionOptions options = files.Options();
  options.address = absl::StrCat("127.0.0.1:", port);
  options.token_file = files.File("token");
  const auto time = std::make_shared<ManualTime>();
  const auto source = ChannelSource::Create(options, {}, time);
  ASSERT_TRUE(source.ok()) << source.status();
  const auto send = [&] {
    Context context;
    grpc::health::v1::HealthCheckResponse response;
    const grpc::Status status =
        grpc::health::v1::Health::NewStub((*source)->Get())->Check(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return service.seen;
  };
  EXPECT_EQ(send(), "Bearer first-token");
  ReplaceJustNow(files.File("token"), "second-token");
  EXPECT_EQ(send(), "Bearer first-token");  // not looked at yet
  time->Wait(absl::Seconds(1), {});
  EXPECT_EQ(send(), "Bearer first-token");  // seen once
  time->Wait(absl::Seconds(1), {});
  EXPECT_EQ(send(), "Bearer second-token");
  // An empty file is none that is being written: the token stays.
  ReplaceFile(files.File("token"), "");
  for (int i = 0; i < 3; ++i) {
    time->Wait(absl::Seconds(1), {});
    EXPECT_EQ(send(), "Bearer second-token");
  }
}

TEST(ChannelSource, TakesNewCertificatesOnceTheyAreWhole) {
  TlsServer server;
  ClientFiles files(server);
  const auto time = std::make_shared<ManualTime>();
  const auto source = ChannelSource::Create(files.Options(), {}, time);
  ASSERT_TRUE(source.ok()) << source.status();
  const auto look = [&] {
    time->Wait(absl::Seconds(1), {});
    return (*source)->Get();
  };
  const auto first = (*source)->Get();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look(), first);
  const TestCertificate next = server.authority.Sign({.name = "job"});
  ReplaceJustNow(files.File("own.crt"), next.certificate);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look(), first);  // the key is still the old one
  ReplaceJustNow(files.File("own.key"), next.key);
  EXPECT_EQ(look(), first);
  const auto second = look();
  EXPECT_NE(second, first);
  EXPECT_TRUE(TlsServer::CheckOver(second).ok());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look(), second);
}

TEST(ChannelSource, StaysWhereThereIsNoTls) {
  const auto time = std::make_shared<ManualTime>();
  const auto source = ChannelSource::Create({.address = "127.0.0.1:1"}, {}, time);
  ASSERT_TRUE(source.ok()) << source.status();
  const auto first = (*source)->Get();
  time->Wait(absl::Hours(1), {});
  EXPECT_EQ((*source)->Get(), first);
}

// Authority, caller and server are all replaced, one after the other, while the caller works.
TEST(ClientTls, RotatesBothEndsUnderLoadWithoutAFailedCheck) {
  rpc::RpcServerOptions options = InProcessServer::Rpc();
  options.connections.age = absl::Milliseconds(300);
  options.connections.age_grace = absl::Seconds(10);
  TlsServer server(config::ClientCertificates::kRequired, {.rpc = options});
  ClientFiles files(server);
  auto client = client::Client::Create(SdkOptions(files.Options()));
  ASSERT_TRUE(client.ok()) << client.status();
  // Sequentially consistent: speed is not the point.
  std::atomic<bool> stop = false;
  std::atomic<int> checks = 0;
  std::thread caller([&] {
    while (!stop.load()) {
      const auto answer = (*client)->Check({.estimated_cost = 0});
      EXPECT_TRUE(answer.ok()) << answer.status();
      checks.fetch_add(1);
    }
  });
  const auto goes_on = [&] {
    const int seen = checks.load();
    const int64_t connections = server->connections().accepted;
    return WaitUntil([&] {
      return checks.load() > seen + 50 && server->connections().accepted > connections + 2;
    });
  };
  EXPECT_TRUE(goes_on());
  CertificateAuthority next("next");
  const std::string both = server.authority.certificate() + next.certificate();
  ReplaceFile(server.settings.client_ca_file, both);
  ReplaceFile(files.File("ca.crt"), both);
  ASSERT_TRUE(WaitUntil([&] { return server.tls->state().loads == 2; }));
  files.Renew(next);
  // The client takes them with its second look, and looks with a Check where the look before is a
  // second old: one such Check began and ended three times.
  for (int look = 0; look < 3; ++look) {
    EXPECT_FALSE(WaitUntil([] { return false; }, absl::Milliseconds(1100)));
    const int seen = checks.load();
    ASSERT_TRUE(WaitUntil([&] { return checks.load() > seen + 1; }));
  }
  server.Write(next.SignServer());
  ReplaceFile(server.settings.client_ca_file, next.certificate());
  ASSERT_TRUE(WaitUntil([&] { return server.tls->state().loads >= 3; }));
  EXPECT_TRUE(goes_on());
  stop = true;
  caller.join();
}

TEST(ClientTls, RetriesACallThatTheServerCut) {
  using client::internal::FromCall;
  std::stop_source stop;
  const grpc::Status cut(grpc::StatusCode::CANCELLED, "CANCELLED");
  EXPECT_EQ(FromCall(cut, stop.get_token()).code(), absl::StatusCode::kUnavailable);
  stop.request_stop();
  EXPECT_EQ(FromCall(cut, stop.get_token()).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(FromCall(grpc::Status(), {}).ok());
}

}  // namespace
}  // namespace headgate::tls
