// Who gets in over TLS, and how certificates are replaced while the server runs.

#include "server/govern/tls/server_tls.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/govern/tls/tls_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::tls {
namespace {

using config::ClientCertificates;
using grpc::StatusCode;
using testing::HasSubstr;

config::TlsSettings PairIn(const TempFolder& folder) {
  config::TlsSettings settings;
  settings.certificate_file = folder.File("tls.crt");
  settings.key_file = folder.File("tls.key");
  return settings;
}

TEST(ServerTls, AnswersACallerWhoseCertificateItsAuthoritySigned) {
  TlsServer server;
  const grpc::Status status = server.Check(server.Caller());
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(ServerTls, RefusesEveryOtherCaller) {
  TlsServer server;
  CertificateAuthority stranger("stranger");
  grpc::SslCredentialsOptions without = server.Caller();
  without.pem_cert_chain.clear();
  without.pem_private_key.clear();
  EXPECT_EQ(server.Check(without).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(server.Check(server.Caller(stranger.Sign({}))).error_code(), StatusCode::UNAVAILABLE);
  const TestCertificate ended = server.authority.Sign({.lifetime = -absl::Hours(1)});
  EXPECT_EQ(server.Check(server.Caller(ended)).error_code(), StatusCode::UNAVAILABLE);
  // Without TLS at all.
  EXPECT_EQ(TlsServer::CheckOver(server.channel).error_code(), StatusCode::UNAVAILABLE);
}

TEST(ServerTls, OptionalLetsInWhoShowsNothingButNotWhoShowsAForgery) {
  TlsServer server(ClientCertificates::kOptional);
  grpc::SslCredentialsOptions without = server.Caller();
  without.pem_cert_chain.clear();
  without.pem_private_key.clear();
  EXPECT_TRUE(server.Check(without).ok());
  EXPECT_TRUE(server.Check(server.Caller()).ok());
  CertificateAuthority stranger("stranger");
  EXPECT_EQ(server.Check(server.Caller(stranger.Sign({}))).error_code(), StatusCode::UNAVAILABLE);
}

TEST(ServerTls, WithoutAuthoritiesItAsksForNoCertificate) {
  TlsServer server(ClientCertificates::kNone);
  grpc::SslCredentialsOptions caller;
  caller.pem_root_certs = server.authority.certificate();
  EXPECT_TRUE(server.Check(caller).ok());
}

TEST(ServerTls, CallersRefuseAServerThatIsNotWhoTheyCall) {
  TlsServer server;
  const TestCertificate own = server.authority.Sign({});
  grpc::SslCredentialsOptions caller = server.Caller(own);
  caller.pem_root_certs = CertificateAuthority("stranger").certificate();
  EXPECT_EQ(server.Check(caller).error_code(), StatusCode::UNAVAILABLE);
  server.Write(server.authority.Sign({.dns = {"elsewhere.example"}}));
  ASSERT_TRUE(WaitUntil([&] { return server.tls->state().loads == 2; }));
  EXPECT_EQ(server.Check(server.Caller(own)).error_code(), StatusCode::UNAVAILABLE);
}

TEST(ServerTls, CallersRefuseAServerWhoseCertificateHasExpired) {
  TlsServer server;
  const TestCertificate own = server.authority.Sign({});
  server.Write(server.authority.SignServer(-absl::Hours(1)));
  ASSERT_TRUE(WaitUntil([&] { return server.tls->state().loads == 2; }));
  EXPECT_EQ(server.Check(server.Caller(own)).error_code(), StatusCode::UNAVAILABLE);
  server.Write(server.authority.SignServer());
  ASSERT_TRUE(WaitUntil([&] { return server.tls->state().loads == 3; }));
  EXPECT_TRUE(server.Check(server.Caller(own)).ok());
}

TEST(ServerTls, ANewCertificateIsInForceForTheNextConnection) {
  TlsServer server;
  const grpc::SslCredentialsOptions caller = server.Caller();
  const absl::Time before = server.tls->state().expires_at;
  server.clock.Advance(absl::Seconds(7));
  server.Write(server.authority.SignServer(absl::Hours(9)));
  ASSERT_TRUE(WaitUntil([&] { return server.tls->state().loads == 2; }));
  const TlsSnapshot state = server.tls->state();
  EXPECT_GE(state.expires_at, before + absl::Hours(7));
  EXPECT_EQ(state.loaded_at, server.clock.Read().wall());
  EXPECT_TRUE(state.status.ok()) << state.status;
  EXPECT_TRUE(server.Check(caller).ok());
}

TEST(ServerTls, ANewAuthorityIsInForceForTheNextConnection) {
  TlsServer server;
  CertificateAuthority next("next");
  const grpc::SslCredentialsOptions before = server.Caller();
  const grpc::SslCredentialsOptions after = server.Caller(next.Sign({}));
  ASSERT_EQ(server.Check(after).error_code(), StatusCode::UNAVAILABLE);
  ReplaceFile(server.settings.client_ca_file, next.certificate());
  ASSERT_TRUE(WaitUntil([&] { return server.tls->state().loads == 2; }));
  EXPECT_TRUE(server.Check(after).ok());
  EXPECT_EQ(server.Check(before).error_code(), StatusCode::UNAVAILABLE);
}

TEST(ServerTls, KeepsTheOldPairUntilTheNewOneIsWhole) {
  TlsServer server;
  const grpc::SslCredentialsOptions caller = server.Caller();
  const TestCertificate next = server.authority.SignServer(absl::Hours(9));
  const absl::Time before = server.tls->state().expires_at;
  ReplaceFile(server.settings.certificate_file, next.certificate);
  ASSERT_TRUE(WaitUntil([&] { return !server.tls->state().status.ok(); }));
  EXPECT_THAT(std::string(server.tls->state().status.message()),
              HasSubstr("tls.key: is not the key of the certificate in "));
  EXPECT_EQ(server.tls->state().expires_at, before);
  EXPECT_EQ(server.tls->state().loads, 1);
  EXPECT_TRUE(server.Check(caller).ok());

  ReplaceFile(server.settings.key_file, next.key);
  ASSERT_TRUE(WaitUntil([&] { return server.tls->state().status.ok(); }));
  EXPECT_EQ(server.tls->state().loads, 2);
  EXPECT_TRUE(server.Check(caller).ok());
}

TEST(ServerTls, KeepsTheOldPairWhenTheNewOneIsTooWeak) {
  TlsServer server;
  const absl::Time before = server.tls->state().expires_at;
  const TestCertificate weak =
      server.authority.Sign({.dns = {"localhost"}, .ip = {"127.0.0.1"}, .rsa_bits = 1024});
  server.Write(weak);
  ASSERT_TRUE(WaitUntil([&] {
    return server.tls->state().status.message().find("key too small") != std::string::npos;
  }));
  EXPECT_EQ(server.tls->state().expires_at, before);
  EXPECT_EQ(server.tls->state().loads, 1);
  EXPECT_TRUE(server.Check(server.Caller()).ok());
}

TEST(ServerTls, KeepsWhatItHasWhenFilesVanishOrBreak) {
  TlsServer server;
  const grpc::SslCredentialsOptions caller = server.Caller();
  std::filesystem::remove(server.settings.key_file);
  ASSERT_TRUE(WaitUntil([&] { return !server.tls->state().status.ok(); }));
  EXPECT_THAT(std::string(server.tls->state().status.message()),
              HasSubstr("tls.key: cannot be read: No such file or directory"));
  EXPECT_TRUE(server.Check(caller).ok());
  ReplaceFile(server.settings.key_file, "nonsense");
  ASSERT_TRUE(WaitUntil([&] {
    return server.tls->state().status.message().find("no private key") != std::string::npos;
  }));
  EXPECT_TRUE(server.Check(caller).ok());
}

// Kubernetes has files -> ..data/files, and ..data -> a folder; it replaces ..data.
TEST(ServerTls, FollowsAFolderThatIsSwappedBySymlink) {
  TempFolder folder;
  CertificateAuthority authority("authority");
  FakeClock clock;
  const auto fill = [&](const std::string& version) {
    const TestCertificate pair = authority.SignServer();
    std::filesystem::create_directory(folder.path() / version);
    ReplaceFile(folder.path() / version / "tls.crt", pair.certificate);
    ReplaceFile(folder.path() / version / "tls.key", pair.key);
    std::filesystem::create_directory_symlink(version, folder.path() / "..data_tmp");
    std::filesystem::rename(folder.path() / "..data_tmp", folder.path() / "..data");
  };
  fill("..1");
  for (const char* const name : {"tls.crt", "tls.key"}) {
    std::filesystem::create_symlink(std::filesystem::path("..data") / name, folder.path() / name);
  }
  const auto tls = ServerTls::Load(
      PairIn(folder), clock, [](const TlsSnapshot&) {}, absl::Milliseconds(5));
  ASSERT_TRUE(tls.ok()) << tls.status();
  fill("..2");
  std::filesystem::remove_all(folder.path() / "..1");
  EXPECT_TRUE(WaitUntil([&] { return (*tls)->state().loads == 2; }));
  EXPECT_TRUE((*tls)->state().status.ok()) << (*tls)->state().status;
}

TEST(ServerTls, DoesNotStartWithWrongFiles) {
  TempFolder folder;
  FakeClock clock;
  CertificateAuthority authority("authority");
  const TestCertificate pair = authority.SignServer();
  const config::TlsSettings settings = PairIn(folder);
  const auto error = [&] {
    const absl::Status status =
        ServerTls::Load(settings, clock, [](const TlsSnapshot&) {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(error(),
            "tls: " + settings.certificate_file + ": cannot be read: No such file or directory");
  ReplaceFile(settings.certificate_file, pair.certificate);
  ReplaceFile(settings.key_file, authority.SignServer().key);
  EXPECT_EQ(error(), "tls: " + settings.key_file + ": is not the key of the certificate in " +
                         settings.certificate_file);
  const TestCertificate weak = authority.Sign({.rsa_bits = 1024});
  ReplaceFile(settings.certificate_file, weak.certificate);
  ReplaceFile(settings.key_file, weak.key);
  EXPECT_THAT(error(), HasSubstr("tls.crt: OpenSSL does not take it: ee key too small"));
}

TEST(ServerTls, RotatesServerAndCallersUnderLoadWithoutAFailedCheck) {
  rpc::RpcServerOptions options = InProcessServer::Rpc();
  options.connections.age = absl::Milliseconds(200);  // so that many connections see each change
  options.connections.age_grace = absl::Seconds(10);
  TlsServer server(ClientCertificates::kRequired, {.rpc = options});
  // Sequentially consistent, all three: speed is not the point.
  std::atomic<bool> stop = false;
  std::atomic<int> checks = 0;
  std::atomic<int> failures = 0;
  const auto ask = [&](const std::function<grpc::SslCredentialsOptions()>& caller) {
    while (!stop.load()) {
      const auto channel = server.Connect(caller());
      for (int i = 0; i < 50 && !stop.load(); ++i) {
        const grpc::Status status = TlsServer::CheckOver(channel);
        checks.fetch_add(1);
        if (status.ok()) continue;
        failures.fetch_add(1);
        ADD_FAILURE() << status.error_message();
      }
    }
  };
  // An authority belongs to one thread at a time.
  std::vector<grpc::SslCredentialsOptions> renewed;
  for (int i = 0; i < 20; ++i) renewed.push_back(server.Caller());
  // One keeps its certificate, the other renews it all the time.
  std::thread steady(ask, [&] { return renewed.front(); });
  std::thread renewing(ask, [&, n = size_t{0}]() mutable { return renewed[n++ % renewed.size()]; });
  for (int rotation = 2; rotation <= 9; ++rotation) {
    const int seen = checks.load();
    server.Write(server.authority.SignServer());
    ASSERT_TRUE(WaitUntil([&] { return server.tls->state().loads >= rotation; }));
    ASSERT_TRUE(WaitUntil([&] { return checks.load() > seen + 100; }));
  }
  stop = true;
  steady.join();
  renewing.join();
  EXPECT_EQ(failures.load(), 0);
  EXPECT_GT(checks.load(), 800);
}

}  // namespace
}  // namespace headgate::tls
