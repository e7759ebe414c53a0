// The whole server, from files: who may do what follows its configuration and its token file.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/system_clock.h"
#include "server/app/configured_access.h"
#include "server/app/server.h"
#include "server/app/server_log.h"
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

  std::string YamlWithoutAccess() const {
    return absl::StrCat(
        "server: {grpc_address: \"127.0.0.1:0\"}\n", "tls:\n",
        "  certificate_file: ", folder_.File("tls.crt"), "\n  key_file: ", folder_.File("tls.key"),
        "\n  client_ca_file: ", folder_.File("ca.crt"), "\n  client_certificates: OPTIONAL\n",
        "rules:\n", "  - {name: urgent, match: {tags: {urgent: \"true\"}}, exempt: true}\n");
  }
  void WriteText(const std::string& text) { ReplaceFile(folder_.File("f.yaml"), text); }
  // With these callers, one a line as YAML has them.
  void Write(const std::string& callers) {
    WriteText(absl::StrCat(YamlWithoutAccess(), "access:\n  token_file: ", folder_.File("tokens"),
                           "\n  callers:\n", callers));
  }
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
    return Connect(options, Bearer(token));
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
    return AnswerOf(sre, &v1::StatusService::Stub::GetStatus);
  }
  // Whether this becomes the only thing that is wrong with the configuration; empty: nothing is.
  bool ConfigErrorBecomes(const std::string& error) const {
    return WaitUntil([&] {
      const v1::ConfigStatus config = Config();
      if (error.empty()) return config.errors().empty();
      return config.errors_size() == 1 &&
             config.errors(0) == absl::StrCat(folder_.File("f.yaml"), ": ", error);
    });
  }
  bool TokensErrorBecomes(const std::string& error) const {
    const std::string expected =
        error.empty() ? "" : absl::StrCat(folder_.File("tokens"), ": ", error);
    return WaitUntil([&] { return Status(kSreToken).access().error() == expected; });
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
  v1::CheckRequest urgent = CheckOf("backfill", 1);
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
  app::ConfiguredAccess access(7, clock);
  const auto claims = [&](const char* key) {
    const access::LiteralEvidence call;
    access::Asker asker;
    EXPECT_FALSE(access.control().Identify(call, asker).has_value());
    const std::map<std::string, std::string> tags = {{key, "true"}};
    return !access.control().MayCheck(asker, "etl", tags).has_value();
  };
  config::Config before;
  before.access = {.callers = {{.name = "all", .anybody = true, .identities = {"*"}}},
                   .protected_tags = {{"old", "true"}}};
  config::Config after = before;
  after.access->protected_tags = {{"new", "true"}};
  // Access is off: there is nobody to keep from anything.
  EXPECT_EQ(access.Prepare(before), absl::OkStatus());
  EXPECT_TRUE(claims("old"));
  access.Apply(before);
  EXPECT_FALSE(claims("old"));
  EXPECT_TRUE(claims("new"));
  EXPECT_EQ(access.Prepare(after), absl::OkStatus());
  EXPECT_FALSE(claims("old"));
  EXPECT_FALSE(claims("new"));
  access.Revert();
  EXPECT_FALSE(claims("old"));
  EXPECT_TRUE(claims("new"));
  EXPECT_EQ(access.Prepare(after), absl::OkStatus());
  access.Apply(after);
  EXPECT_TRUE(claims("old"));
  EXPECT_FALSE(claims("new"));
}

// What the watcher has put into force since may be newer than what a reload could have read.
TEST(AccessInForce, KeepsTheTokensOfAFileThatStays) {
  FakeClock clock;
  app::ConfiguredAccess access(7, clock);
  const TempFolder folder;
  ReplaceFile(folder.File("tokens"), TokenLine("sre", kSreToken));
  config::Config config;
  config.access = {.token_file = folder.File("tokens"),
                   .callers = {{.name = "sre", .token = "sre", .identities = {"*"}}}};
  ASSERT_EQ(access.Prepare(config), absl::OkStatus());
  access.Apply(config);
  access.Stop();
  access.control().SetTokens(BookOf(TokenLine("sre", kNext)));
  ASSERT_EQ(access.Prepare(config), absl::OkStatus());
  access.Apply(config);
  EXPECT_EQ(access.control().tokens()->Find(kSreToken), nullptr);
  EXPECT_NE(access.control().tokens()->Find(kNext), nullptr);
}

constexpr char kTakenOut[] =
    "access was taken out, and without it everybody may do everything: that takes a restart; the "
    "configuration before stays";

constexpr char kAllTakenOut[] =
    "all rules were taken out, and without any nothing is limited: that takes a restart; the "
    "configuration before stays";

TEST_F(Reload, AConfigurationThatLosesAccessIsRefused) {
  Write(kSre);
  ASSERT_EQ(Start(), absl::OkStatus());
  const Peer sre = WithToken(kSreToken);
  const Peer stranger = WithUri("spiffe://job");
  ASSERT_EQ(GuardedServer::Check(stranger, "etl"), 'U');
  for (const std::string& text :
       {std::string("{}"), std::string("server: {}\n"), YamlWithoutAccess()}) {
    SCOPED_TRACE(text);
    const int64_t version = Config().version();
    WriteText(text);
    EXPECT_TRUE(ConfigErrorBecomes(text == YamlWithoutAccess() ? kTakenOut : kAllTakenOut));
    EXPECT_EQ(Config().version(), version);
    EXPECT_EQ(GuardedServer::Check(stranger, "etl"), 'U');
    EXPECT_EQ(GuardedServer::Check(sre, "etl"), '+');
    Write(kSre);
    EXPECT_TRUE(ConfigErrorBecomes(""));
  }
  EXPECT_TRUE(Logged("configuration refused"));
}

// The Secret comes after the ConfigMap, and is not right at once.
TEST_F(Reload, AConfigurationWaitsForItsNewTokenFile) {
  WriteText(YamlWithoutAccess());
  ASSERT_EQ(Start(), absl::OkStatus());
  const Peer stranger = WithUri("spiffe://job");
  ASSERT_EQ(unlink(folder_.File("tokens").c_str()), 0);
  Write(kSre);
  const std::string tokens = folder_.File("tokens");
  EXPECT_TRUE(ConfigErrorBecomes(tokens + ": cannot be read: No such file or directory"));
  EXPECT_EQ(GuardedServer::Check(stranger, "etl"), '+');
  ReplaceFile(tokens, "");
  EXPECT_TRUE(ConfigErrorBecomes(tokens + ": has no tokens, and callers are known by some"));
  ReplaceFile(tokens, "sre oops\n");
  EXPECT_TRUE(
      ConfigErrorBecomes(tokens + ":1: expected NAME sha256:HEX, HEX being 64 hexadecimal digits"));
  EXPECT_EQ(GuardedServer::Check(stranger, "etl"), '+');
  ReplaceFile(tokens, TokenLine("sre", kSreToken));
  EXPECT_TRUE(Becomes('U', [&] { return GuardedServer::Check(stranger, "etl"); }));
  EXPECT_EQ(GuardedServer::Check(WithToken(kSreToken), "etl"), '+');
  EXPECT_TRUE(ConfigErrorBecomes(""));
  EXPECT_EQ(Config().version(), 2);
}

TEST_F(Reload, ABrokenTokenFileKeepsNoOtherChangeOut) {
  Write(kSre);
  ASSERT_EQ(Start(), absl::OkStatus());
  ReplaceFile(folder_.File("tokens"), "oops\n");
  const std::string wrong = absl::StrCat(
      folder_.File("tokens"), ":1: expected NAME sha256:HEX, HEX being 64 hexadecimal digits");
  EXPECT_TRUE(WaitUntil([&] { return Status(kSreToken).access().error() == wrong; }));
  const Peer job = WithUri("spiffe://job");
  EXPECT_EQ(GuardedServer::Check(job, "backfill"), 'U');
  Write(absl::StrCat(
      kSre, "    - {name: job, certificate: 'URI:spiffe://job', identities: [backfill]}\n"));
  EXPECT_TRUE(Becomes('+', [&] { return GuardedServer::Check(job, "backfill"); }));
  EXPECT_TRUE(ConfigErrorBecomes(""));
  EXPECT_EQ(Status(kSreToken).access().error(), wrong);
  EXPECT_EQ(Status(kSreToken).access().tokens(), 1);
  ReplaceFile(folder_.File("tokens"), TokenLine("sre", kSreToken) + TokenLine("sre", kNext));
  EXPECT_TRUE(Becomes('+', [&] { return GuardedServer::Check(WithToken(kNext), "etl"); }));
  EXPECT_TRUE(TokensErrorBecomes(""));
}

TEST_F(Reload, AnEmptiedTokenFileShutsNobodyOut) {
  ReplaceFile(folder_.File("tokens"), TokenLine("sre", kSreToken) + TokenLine("sre", kNext));
  Write(kSre);
  ASSERT_EQ(Start(), absl::OkStatus());
  const Peer next = WithToken(kNext);
  for (const char* const text : {"", "# nobody\n"}) {
    ReplaceFile(folder_.File("tokens"), text);
    EXPECT_TRUE(TokensErrorBecomes("has no tokens, and callers are known by some"));
    EXPECT_EQ(Status(kSreToken).access().tokens(), 2);
    EXPECT_EQ(GuardedServer::Check(next, "etl"), '+');
    ReplaceFile(folder_.File("tokens"), TokenLine("sre", kSreToken) + TokenLine("sre", kNext));
    EXPECT_TRUE(TokensErrorBecomes(""));
  }
  // One line less is no mistake.
  ReplaceFile(folder_.File("tokens"), TokenLine("sre", kSreToken));
  EXPECT_TRUE(Becomes('U', [&] { return GuardedServer::Check(next, "etl"); }));
  EXPECT_EQ(Status(kSreToken).access().tokens(), 1);
}

// gRPC would take what stands before it, and nothing else.
TEST_F(Reload, RefusesCertificatesWithANul) {
  Write(kSre);
  ASSERT_EQ(Start(), absl::OkStatus());
  const std::string nul(1, '\0');
  for (const char* const name : {"tls.crt", "tls.key", "ca.crt"}) {
    SCOPED_TRACE(name);
    const std::string file = folder_.File(name);
    std::ostringstream good;
    good << std::ifstream(file).rdbuf();
    ReplaceFile(file, good.str() + nul + "\n" + authority_.certificate());
    EXPECT_TRUE(WaitUntil([&] {
      return Status(kSreToken).tls().error() ==
             absl::StrCat(file, ": has a NUL byte, and is to be PEM");
    }));
    ReplaceFile(file, good.str());
    EXPECT_TRUE(WaitUntil([&] { return Status(kSreToken).tls().error().empty(); }));
  }
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
