// The program over TLS, and what it says where that fails.

#include <headgate/v1/status_service.grpc.pb.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/cli/arguments/arguments.h"
#include "client/cli/connection/connection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/run_headgate.h"
#include "tests/govern/tls/manual_time.h"
#include "tests/govern/tls/tls_fixture.h"
#include "tests/testing/silent_server.h"
#include "tests/testing/wait_until.h"

namespace headgate::cli {
namespace {

using config::ClientCertificates;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using tls::TlsServer;

class CommandOverTls : public testing::Test {
 protected:
  void SetUp() override {
    ReplaceFile(folder_.File("ca.crt"), server_.authority.certificate());
    Show(server_.authority.Sign({.name = "job"}));
  }
  void Show(const TestCertificate& own) {
    ReplaceFile(folder_.File("own.crt"), own.certificate);
    ReplaceFile(folder_.File("own.key"), own.key);
  }
  Finished Run(std::vector<std::string> words, const std::vector<std::string>& more) const {
    words.insert(words.end(), {"--address", server_.address()});
    words.insert(words.end(), more.begin(), more.end());
    return RunHeadgate(std::move(words));
  }
  std::vector<std::string> All() const {
    return {"--tls-ca",  folder_.File("ca.crt"), "--tls-cert", folder_.File("own.crt"),
            "--tls-key", folder_.File("own.key")};
  }

  TlsServer server_;
  TempFolder folder_;
};

TEST_F(CommandOverTls, EveryKindOfCallIsMade) {
  EXPECT_EQ(Run({"check", "job:etl"}, All()).status, 0);
  EXPECT_EQ(Run({"check", "job:etl", "--wait", "10s"}, All()).status, 0);
  EXPECT_EQ(Run({"explain", "job:etl"}, All()).status, 0);
  const Finished top = Run({"top", "--once"}, All());
  EXPECT_EQ(top.status, 0) << top.err;
  const Finished status = Run({"status", "-o", "json"}, All());
  EXPECT_EQ(status.status, 0) << status.err;
}

// As `top` and `log --follow` do, which run for longer than a certificate is valid.
TEST_F(CommandOverTls, ConnectionThatIsKeptTakesNewCertificates) {
  const auto time = std::make_shared<tls::ManualTime>();
  Globals globals;
  globals.address = server_.address();
  globals.timeout = absl::Seconds(20);
  globals.tls = client::TlsOptions{.ca_file = folder_.File("ca.crt"),
                                   .certificate_file = folder_.File("own.crt"),
                                   .key_file = folder_.File("own.key")};
  Connection connection(globals, time);
  const auto status = [&] {
    for (int i = 0; i < 2; ++i) {  // a file is taken once it has been seen twice
      time->Wait(absl::Seconds(1), {});
      connection.channel();
    }
    return connection.Call(&v1::StatusService::Stub::GetStatus, v1::GetStatusRequest()).status();
  };
  EXPECT_TRUE(status().ok()) << status();
  CertificateAuthority strangers("strangers");
  Show(strangers.Sign({.name = "job"}));
  EXPECT_TRUE(absl::IsUnavailable(status())) << status();
  Show(server_.authority.Sign({.name = "job"}));
  EXPECT_TRUE(status().ok()) << status();
}

TEST_F(CommandOverTls, FilesMayComeFromTheEnvironment) {
  const Finished check = RunHeadgate(
      {"check", "job:etl"}, {.environment = {{"HEADGATE_ADDRESS", server_.address()},
                                             {"HEADGATE_TLS", "true"},
                                             {"HEADGATE_TLS_CA", folder_.File("ca.crt")},
                                             {"HEADGATE_TLS_CERT", folder_.File("own.crt")},
                                             {"HEADGATE_TLS_KEY", folder_.File("own.key")}}});
  EXPECT_EQ(check.status, 0) << check.err;
}

TEST_F(CommandOverTls, SaysThatTheServerSpeaksTls) {
  const Finished check = Run({"check", "job:etl"}, {});
  EXPECT_EQ(check.status, 3);
  EXPECT_EQ(check.err, absl::StrCat("headgate: cannot reach ", server_.address(),
                                    ": the server speaks TLS; give --tls\n"));
}

TEST_F(CommandOverTls, SaysThatTheServerSpeaksNone) {
  const InProcessServer plain(engine::OneBudget(engine::RateBudget("b", 10, 100)));
  const std::string address = plain.address();
  std::vector<std::string> words = All();
  words.insert(words.begin(), {"check", "job:etl", "--address", address});
  const Finished check = RunHeadgate(words);
  EXPECT_EQ(check.status, 3);
  EXPECT_EQ(check.err, absl::StrCat("headgate: cannot reach ", address,
                                    ": the server speaks no TLS; try without --tls\n"));
}

// A server that has no room for another connection closes it before a word is said.
TEST(CommandToFullServer, SaysThatItMayBeFullAndNotThatTlsIsWrong) {
  InProcessOptions options;
  options.rpc.connections.max_open = 1;
  TlsServer server(ClientCertificates::kNone, options);
  const TempFolder folder;
  ReplaceFile(folder.File("ca.crt"), server.authority.certificate());
  grpc::SslCredentialsOptions trust;
  trust.pem_root_certs = server.authority.certificate();
  const auto holder = server.Connect(trust);
  ASSERT_TRUE(TlsServer::CheckOver(holder).ok());
  for (int i = 0; i < 6; ++i) {
    const Finished check = RunHeadgate(
        {"check", "job:etl", "--address", server.address(), "--tls-ca", folder.File("ca.crt")});
    EXPECT_EQ(check.status, 3);
    EXPECT_THAT(check.err, HasSubstr("the server closes the connection at once: it may be full "
                                     "(server.max_connections) or stopping, or speak no TLS"));
    EXPECT_THAT(check.err, Not(HasSubstr("try without --tls")));
  }
  const Finished plain = RunHeadgate({"check", "job:etl", "--address", server.address()});
  EXPECT_EQ(plain.status, 3);
  EXPECT_THAT(plain.err, HasSubstr("it may be full (server.max_connections) or stopping"));
  EXPECT_THAT(plain.err, Not(HasSubstr("TLS")));
}

TEST(CommandToFullServer, InPlaintextSaysSoToo) {
  InProcessOptions options;
  options.rpc.connections.max_open = 1;
  InProcessServer server(engine::OneBudget(engine::RateBudget("b", 10, 100)), options);
  server.Allowed("job:etl", 1);
  const Finished check = RunHeadgate({"check", "job:etl", "--address", server.address()});
  EXPECT_EQ(check.status, 3);
  EXPECT_THAT(check.err, HasSubstr("it may be full (server.max_connections) or stopping"));
}

// Listens to the first words and closes the connection without one of its own.
class WordlessServer : public SilentServer {
 public:
  ~WordlessServer() {
    shutdown(fds_[0], SHUT_RDWR);
    thread_.join();
  }

 private:
  static void Run(int listener) {
    for (;;) {
      const int connection = accept(listener, nullptr, nullptr);
      if (connection < 0) return;
      char words[4096];
      (void)recv(connection, words, sizeof(words), 0);
      close(connection);
    }
  }

  std::thread thread_{Run, fds_[0]};
};

TEST(CommandToFullServer, EndOfAConnectionWithoutAWordIsNoProofOfPlaintext) {
  const WordlessServer server;
  const Finished check = RunHeadgate({"check", "job:etl", "--address", server.address(), "--tls"});
  EXPECT_EQ(check.status, 3);
  EXPECT_THAT(check.err, HasSubstr("it may be full (server.max_connections) or stopping, or "
                                   "speak no TLS"));
  EXPECT_THAT(check.err, Not(HasSubstr("try without --tls")));
}

// Where nothing is heard of a server, nothing is said of its TLS.
TEST(CommandToNobody, BlamesNoTls) {
  const SilentServer silent;
  const BlackHole hole;
  int closed_port = 0;
  {
    const SilentServer gone;
    closed_port = gone.port();
  }
  for (const std::string& address :
       {silent.address(), hole.address(), absl::StrCat("127.0.0.1:", closed_port)}) {
    for (const std::vector<std::string>& tls : {std::vector<std::string>{}, {"--tls"}}) {
      std::vector<std::string> words = {"check", "job:etl",   "--address",
                                        address, "--timeout", "500ms"};
      words.insert(words.end(), tls.begin(), tls.end());
      const Finished check = RunHeadgate(words);
      EXPECT_EQ(check.status, 3) << check.err;
      EXPECT_THAT(check.err, AnyOf(HasSubstr("no answer"), HasSubstr("cannot reach")));
      EXPECT_THAT(check.err, Not(AnyOf(HasSubstr("TLS"), HasSubstr("--tls"), HasSubstr("full"))));
    }
  }
}

TEST_F(CommandOverTls, SaysWhatIsWrongWithTheServersCertificate) {
  EXPECT_THAT(Run({"check", "job:etl"}, {"--tls"}).err,
              HasSubstr("its authority is none of the system's; give it with --tls-ca ("));
  ReplaceFile(folder_.File("ca.crt"), CertificateAuthority("stranger").certificate());
  EXPECT_THAT(Run({"check", "job:etl"}, All()).err,
              HasSubstr("the server's certificate is refused: its authority is not in --tls-ca"));
  ReplaceFile(folder_.File("ca.crt"), server_.authority.certificate());
  std::vector<std::string> other_name = All();
  other_name.insert(other_name.end(), {"--tls-server-name", "elsewhere.example"});
  EXPECT_THAT(Run({"check", "job:etl"}, other_name).err,
              HasSubstr("the server's certificate is refused: hostname mismatch"));
  server_.Write(server_.authority.SignServer(-absl::Hours(1)));
  ASSERT_TRUE(WaitUntil([&] { return server_.tls->state().loads == 2; }));
  const Finished expired = Run({"check", "job:etl"}, All());
  EXPECT_EQ(expired.status, 3);
  EXPECT_THAT(expired.err,
              HasSubstr("the server's certificate is refused: certificate has expired"));
}

TEST_F(CommandOverTls, SaysWhatIsWrongWithItsOwnCertificate) {
  EXPECT_THAT(Run({"status"}, {"--tls-ca", folder_.File("ca.crt")}).err,
              HasSubstr("if it asks for a certificate, give --tls-cert and --tls-key"));
  Show(server_.authority.Sign({.lifetime = -absl::Hours(1)}));
  EXPECT_THAT(Run({"status"}, All()).err, HasSubstr("your certificate has expired"));
  Show(CertificateAuthority("stranger").Sign({}));
  EXPECT_THAT(Run({"status"}, All()).err,
              HasSubstr("it may not know the authority of your certificate"));
}

TEST_F(CommandOverTls, RefusesFilesThatAreOfNoUse) {
  const Finished missing = Run({"status"}, {"--tls-ca", folder_.File("none")});
  EXPECT_EQ(missing.status, 2);
  EXPECT_EQ(missing.err,
            absl::StrCat("headgate: ", folder_.File("none"), ": No such file or directory\n"));
  const Finished half = Run({"status"}, {"--tls-cert", folder_.File("own.crt")});
  EXPECT_EQ(half.status, 2);
  EXPECT_THAT(half.err, HasSubstr("--tls-cert: it takes --tls-key too"));
  EXPECT_THAT(Run({"status"}, {"--tls-key", folder_.File("own.key")}).err,
              HasSubstr("--tls-key: it takes --tls-cert too"));
  EXPECT_EQ(Run({"status"}, {"--token-file", folder_.File("own.crt")}).status, 2);
}

}  // namespace
}  // namespace headgate::cli
