// headgated with certificates, as a program.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/run_headgate.h"
#include "tests/testing/certificates.h"
#include "tests/testing/running_headgated.h"
#include "tests/testing/temp_folder.h"

namespace headgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class HeadgatedWithTls : public testing::Test {
 protected:
  void SetUp() override {
    Write(authority_.SignServer());
    ReplaceFile(folder_.File("ca.crt"), authority_.certificate());
    const TestCertificate own = authority_.Sign({.name = "operator"});
    ReplaceFile(folder_.File("own.crt"), own.certificate);
    ReplaceFile(folder_.File("own.key"), own.key);
  }
  void Write(const TestCertificate& pair) {
    ReplaceFile(folder_.File("tls.crt"), pair.certificate);
    ReplaceFile(folder_.File("tls.key"), pair.key);
  }
  HeadgatedOptions Options(std::vector<std::string> flags = {}) const {
    return {.yaml = absl::StrCat("tls:\n  certificate_file: ", folder_.File("tls.crt"),
                                 "\n  key_file: ", folder_.File("tls.key"),
                                 "\n  client_ca_file: ", folder_.File("ca.crt"), "\n"),
            .flags = std::move(flags)};
  }
  Finished Headgate(const RunningHeadgated& server, std::vector<std::string> words) const {
    for (const std::string& word :
         {std::string("--address"), server.address(), std::string("--tls-ca"),
          folder_.File("ca.crt"), std::string("--tls-cert"), folder_.File("own.crt"),
          std::string("--tls-key"), folder_.File("own.key")}) {
      words.push_back(word);
    }
    return RunHeadgate(words);
  }

  CertificateAuthority authority_{"authority"};
  TempFolder folder_;
};

TEST_F(HeadgatedWithTls, SaysWhatBecomesOfItsCertificates) {
  const RunningHeadgated server(Options());
  EXPECT_EQ(Headgate(server, {"check", "job"}).status, 0);
  EXPECT_THAT(Headgate(server, {"status"}).out,
              AllOf(HasSubstr("certificate ends "), Not(HasSubstr("REFUSED"))));

  ReplaceFile(folder_.File("tls.key"), authority_.SignServer().key);
  ASSERT_TRUE(server.AwaitLog("certificates refused"));
  EXPECT_THAT(Headgate(server, {"status"}).out,
              HasSubstr(absl::StrCat("newest certificates REFUSED: ", folder_.File("tls.key"),
                                     ": is not the key of the certificate in ")));
  EXPECT_THAT(Headgate(server, {"status", "-o", "json"}).out, HasSubstr("certificate_expires_at"));

  const size_t before = server.Log().size();
  Write(authority_.SignServer(absl::Hours(9)));
  ASSERT_TRUE(server.AwaitLog("certificates loaded", before));
  EXPECT_THAT(Headgate(server, {"status"}).out, Not(HasSubstr("REFUSED")));
}

TEST_F(HeadgatedWithTls, DoesNotStartWithAKeyOfAnotherCertificate) {
  ReplaceFile(folder_.File("tls.key"), authority_.SignServer().key);
  const std::string end(HeadgatedProcess(Options()).Start().message());
  EXPECT_THAT(end, HasSubstr("exit status 2"));
  EXPECT_THAT(end, HasSubstr(absl::StrCat("headgated: tls: ", folder_.File("tls.key"),
                                          ": is not the key of the certificate in ",
                                          folder_.File("tls.crt"))));
}

TEST_F(HeadgatedWithTls, WhatGrpcSaysIsInTheLogForDebugging) {
  const RunningHeadgated server(Options({"--log-level=debug"}));
  // Plaintext, which gRPC complains of.
  EXPECT_EQ(RunHeadgate({"check", "job", "--address", server.address()}).status, 3);
  EXPECT_TRUE(server.AwaitLog(" debug grpc message="));
}

TEST_F(HeadgatedWithTls, ItsProbesNeedTlsToBeOn) {
  const RunningHeadgated server(Options({"--health-address=127.0.0.1:0"}));
  EXPECT_TRUE(server.AwaitLog("serving probes port="));

  const Finished plain =
      RunHeadgated({"--grpc-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0"});
  EXPECT_EQ(plain.status, 2);
  EXPECT_THAT(plain.err, HasSubstr("--health-address goes with tls in the configuration"));
}

}  // namespace
}  // namespace headgate::cli
