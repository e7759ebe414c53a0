// The whole server, from files: who may do what follows its configuration and its token file.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/system_clock.h"
#include "server/app/access.h"
#include "server/app/log.h"
#include "server/app/server.h"
#include "tests/security/access_fixture.h"
#include "tests/testing/wait_until.h"

namespace headgate::security {
namespace {

constexpr char kNext[] = "next-0123456789abcdef0123456789abcdef";

// What the log says from now on. There is one log in a process: its file stays for all tests.
class LoggedLines {
 public:
  LoggedLines() : from_(Size()) {}

  bool Have(const std::string& text) const {
    EXPECT_TRUE(app::FlushLog(absl::Seconds(10)));
    std::string lines(static_cast<size_t>(Size() - from_), '\0');
    EXPECT_EQ(pread(File(), lines.data(), lines.size(), from_), static_cast<ssize_t>(lines.size()));
    return absl::StrContains(lines, text);
  }

 private:
  static int File() {
    static const int file = [] {
      const int opened = fileno(std::tmpfile());
      app::SetUpLog("info", app::LogFormat::kText, opened);
      return opened;
    }();
    return file;
  }
  static off_t Size() {
    struct stat file {};
    EXPECT_EQ(fstat(File(), &file), 0);
    return file.st_size;
  }

  const off_t from_;
};

class Reload : public testing::Test {
 protected:
  Reload() {
    const TestCertificate own = authority_.SignServer();
    ReplaceFile(folder_.File("tls.crt"), own.certificate);
    ReplaceFile(folder_.File("tls.key"), own.key);
    ReplaceFile(folder_.File("ca.crt"), authority_.certificate());
    ReplaceFile(folder_.File("tokens"), TokenLine("sre", kSreToken));
  }

  // With these callers, one a line as YAML has them.
  std::string Yaml(const std::string& callers) const {
    return absl::StrCat(
        "server: {grpc_address: \"127.0.0.1:0\"}\n", "tls:\n",
        "  certificate_file: ", folder_.File("tls.crt"), "\n  key_file: ", folder_.File("tls.key"),
        "\n  client_ca_file: ", folder_.File("ca.crt"), "\n  client_certificates: OPTIONAL\n",
        "rules:\n", "  - {name: urgent, match: {tags: {urgent: \"true\"}}, exempt: true}\n",
        "access:\n  token_file: ", folder_.File("tokens"), "\n  callers:\n", callers);
  }
  void Write(const std::string& callers) { ReplaceFile(folder_.File("f.yaml"), Yaml(callers)); }
  absl::Status Start() {
    app::ServerOptions options;
    options.config_path = folder_.File("f.yaml");
    auto started = app::Server::Start(options, clock_);
    if (!started.ok()) return started.status();
    server_ = *std::move(started);
    return absl::OkStatus();
  }

  Peer Connect(const grpc::SslCredentialsOptions& caller, const std::string& authorization) const {
    return {grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                grpc::SslCredentials(caller)),
            authorization};
  }
  Peer WithToken(const std::string& token) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority_.certificate();
    return Connect(options, "Bearer " + token);
  }
  Peer WithUri(const std::string& uri) {
    const TestCertificate own = authority_.Sign({.uri = {uri}});
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority_.certificate();
    options.pem_private_key = own.key;
    options.pem_cert_chain = own.certificate;
    return Connect(options, "");
  }
  v1::ConfigStatus Config() const { return Status(kSreToken).config(); }
  v1::GetStatusResponse Status(const std::string& token) const {
    const Peer sre = WithToken(token);
    rpc::Context context;
    sre.Fill(context);
    v1::GetStatusResponse response;
    const grpc::Status status =
        v1::StatusService::NewStub(sre.channel)->GetStatus(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  bool Logged(const std::string& text) const { return logged_.Have(text); }
  static bool Becomes(char outcome, const std::function<char()>& ask) {
    return WaitUntil([&] { return ask() == outcome; });
  }

  static constexpr char kSre[] = "    - {name: sre, token: sre, identities: ['*'], status: true}\n";

  const LoggedLines logged_;
  const TempFolder folder_;
  CertificateAuthority authority_{"authority"};
  SystemClock clock_;
  std::unique_ptr<app::Server> server_;
};

TEST_F(Reload, TheTokenFileIsFollowedAndABadOneChangesNothing) {
  Write(kSre);
  ASSERT_EQ(Start(), absl::OkStatus());
  const Peer old = WithToken(kSreToken);
  const Peer next = WithToken(kNext);
  EXPECT_EQ(GuardedServer::Check(old, "etl"), '+');
  EXPECT_EQ(GuardedServer::Check(next, "etl"), 'U');
  ReplaceFile(folder_.File("tokens"), TokenLine("sre", kSreToken) + TokenLine("sre", kNext));
  EXPECT_TRUE(Becomes('+', [&] { return GuardedServer::Check(next, "etl"); }));
  EXPECT_EQ(GuardedServer::Check(old, "etl"), '+');
  // One good line does not make a bad file good: else `old` would be gone then.
  ReplaceFile(folder_.File("tokens"), TokenLine("sre", kNext) + "sre oops\n");
  EXPECT_TRUE(WaitUntil([&] { return Logged(absl::StrCat(folder_.File("tokens"), ":2: ")); }));
  EXPECT_TRUE(Logged("tokens refused"));
  EXPECT_FALSE(Logged("oops"));
  const v1::AccessStatus refused = Status(kNext).access();
  EXPECT_EQ(refused.token_file(), folder_.File("tokens"));
  EXPECT_EQ(refused.tokens(), 2);
  EXPECT_EQ(refused.error(),
            absl::StrCat(folder_.File("tokens"),
                         ":2: expected NAME sha256:HEX, HEX being 64 hexadecimal digits"));
  const std::string third = "third-0123456789abcdef0123456789abcdef";
  EXPECT_EQ(GuardedServer::Check(old, "etl"), '+');
  ReplaceFile(folder_.File("tokens"), TokenLine("sre", third));
  EXPECT_TRUE(Becomes('+', [&] { return GuardedServer::Check(WithToken(third), "etl"); }));
  EXPECT_EQ(GuardedServer::Check(old, "etl"), 'U');
  EXPECT_EQ(GuardedServer::Check(next, "etl"), 'U');
  EXPECT_EQ(Status(third).access().tokens(), 1);
  EXPECT_EQ(Status(third).access().error(), "");
  for (const std::string& token : {std::string(kSreToken), std::string(kNext), third}) {
    EXPECT_FALSE(Logged(token));
  }
}

TEST_F(Reload, GrantsFollowTheConfigurationAndABadOneChangesNothing) {
  Write(absl::StrCat(
      kSre, "    - {name: job, certificate: 'URI:spiffe://job', identities: [backfill]}\n"));
  ASSERT_EQ(Start(), absl::OkStatus());
  const Peer job = WithUri("spiffe://job");
  v1::CheckRequest urgent = rpc::CheckOf("backfill", 1);
  (*urgent.mutable_tags())["urgent"] = "true";
  EXPECT_EQ(GuardedServer::Check(job, "backfill"), '+');
  EXPECT_EQ(GuardedServer::Check(job, urgent), 'P');
  Write(absl::StrCat(kSre, "    - {name: job, certificate: 'URI:spiffe://job', identities: ",
                     "[backfill], tags: ['urgent=true']}\n"));
  EXPECT_TRUE(Becomes('+', [&] { return GuardedServer::Check(job, urgent); }));
  const int64_t version = Config().version();
  Write(absl::StrCat(kSre, "    - {name: job, certificate: 'spiffe://job', identities: [etl]}\n"));
  EXPECT_TRUE(WaitUntil([&] { return Config().errors_size() == 1; }));
  EXPECT_EQ(Config().version(), version);
  EXPECT_EQ(GuardedServer::Check(job, urgent), '+');
  Write(kSre);
  EXPECT_TRUE(Becomes('U', [&] { return GuardedServer::Check(job, "backfill"); }));
}

// While a new configuration is put into force, and if it is not after all.
TEST(AccessInForce, ProtectsWhatRulesWillMatchBeforeTheyAreInForce) {
  FakeClock clock;
  app::Access access(7, clock);
  const auto claims = [&](const char* key) {
    grpc::ServerContext context;
    const access::Caller* caller = nullptr;
    EXPECT_FALSE(access.guard().Identify(context, nullptr, caller).has_value());
    const std::map<std::string, std::string> tags = {{key, "true"}};
    return !access.guard().MayCheck(caller, "etl", tags).has_value();
  };
  config::Config before;
  before.access = {.callers = {{.name = "all", .anybody = true, .identities = {"*"}}},
                   .protected_tags = {{"old", "true"}}};
  config::Config after = before;
  after.access->protected_tags = {{"new", "true"}};
  access.Prepare(before);  // access is off: there is nobody to keep from anything
  EXPECT_TRUE(claims("old"));
  access.Apply(before, {});
  EXPECT_FALSE(claims("old"));
  EXPECT_TRUE(claims("new"));
  access.Prepare(after);
  EXPECT_FALSE(claims("old"));
  EXPECT_FALSE(claims("new"));
  access.Revert();
  EXPECT_FALSE(claims("old"));
  EXPECT_TRUE(claims("new"));
  access.Prepare(after);
  access.Apply(after, {});
  EXPECT_TRUE(claims("old"));
  EXPECT_FALSE(claims("new"));
}

TEST_F(Reload, DoesNotStartWithATokenFileThatIsWrong) {
  Write(kSre);
  ReplaceFile(folder_.File("tokens"), "sre oops\n");
  EXPECT_EQ(Start().message(),
            absl::StrCat(folder_.File("f.yaml"), ":10:15: ", folder_.File("tokens"),
                         ":1: expected NAME sha256:HEX, HEX being 64 hexadecimal digits"));
}

}  // namespace
}  // namespace headgate::security
