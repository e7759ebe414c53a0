// What the program says where HTTP/1 is spoken instead of gRPC.

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/run_headgate.h"
#include "tests/testing/certificates.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/silent_server.h"
#include "tests/testing/temp_folder.h"

namespace headgate::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CommandToHttpPort, SaysThatTheGrpcPortIsMeant) {
  const RunningHeadgated server({.stateless = true, .http_address = "127.0.0.1:0"});
  const std::string address = absl::StrCat("127.0.0.1:", server.http_port());
  const std::string expected =
      absl::StrCat("headgate: cannot reach ", address,
                   ": what answers there speaks HTTP/1, such as headgated's HTTP port; give the "
                   "address of its gRPC port (server.grpc_address)\n");
  for (const std::vector<std::string>& more : {std::vector<std::string>{"check", "job:etl"},
                                               {"check", "job:etl", "--wait", "1s"},
                                               {"status", "--tls"}}) {
    std::vector<std::string> words = more;
    // One of them waits for it to the end: what speaks no TLS says nothing to somebody who does.
    words.insert(words.end(), {"--address", address, "--timeout", "5s"});
    const Finished finished = RunHeadgate(words);
    EXPECT_EQ(finished.status, 3) << testing::PrintToString(more);
    EXPECT_EQ(finished.err, expected) << testing::PrintToString(more);
  }
}

// Answers TLS with a handshake, and everything else with an HTTP/1 error, as web servers' ports for
// HTTPS do. What comes over TLS is not answered.
class HttpsPort : public SilentServer {
 public:
  explicit HttpsPort(const TestCertificate& own) : context_(SSL_CTX_new(TLS_server_method())) {
    folder_.WriteInPlace("crt", own.certificate);
    folder_.WriteInPlace("key", own.key);
    SSL_CTX_use_certificate_chain_file(context_, folder_.File("crt").c_str());
    SSL_CTX_use_PrivateKey_file(context_, folder_.File("key").c_str(), SSL_FILETYPE_PEM);
    thread_ = std::thread([this] { Run(); });
  }
  ~HttpsPort() {
    shutdown(fds_[0], SHUT_RDWR);
    thread_.join();
    SSL_CTX_free(context_);
  }

 private:
  static constexpr char kTlsHandshake = 0x16;

  void Run() {
    // OpenSSL writes to callers that have gone.
    sigset_t pipe = {};
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    for (;;) {
      const int connection = accept(fds_[0], nullptr, nullptr);
      if (connection < 0) return;
      char first = 0;
      (void)recv(connection, &first, 1, MSG_PEEK);
      first == kTlsHandshake ? Shake(connection) : Refuse(connection);
      close(connection);
    }
  }
  void Shake(int connection) {
    SSL* const session = SSL_new(context_);
    SSL_set_fd(session, connection);
    SSL_accept(session);
    SSL_free(session);
  }
  static void Refuse(int connection) {
    constexpr std::string_view kAnswer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
    (void)send(connection, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
    shutdown(connection, SHUT_WR);
    char rest[4096];
    while (recv(connection, rest, sizeof(rest), 0) > 0) {
    }
  }

  TempFolder folder_;
  SSL_CTX* const context_;
  std::thread thread_;
};

TEST(CommandToHttpPort, BlamesNoHttpWhereTlsIsSpokenToo) {
  CertificateAuthority authority("authority");
  const HttpsPort server(authority.SignServer());
  const Finished check = RunHeadgate({"check", "job:etl", "--address", server.address()});
  EXPECT_EQ(check.status, 3);
  EXPECT_THAT(check.err, HasSubstr("the server speaks TLS; give --tls"));
  EXPECT_THAT(check.err, Not(HasSubstr("HTTP/1")));
}

}  // namespace
}  // namespace headgate::cli
