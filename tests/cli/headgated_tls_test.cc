// headgated with certificates, as a program.

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#ifdef HEADGATED_PROGRAM

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/cli/subprocess.h"
#include "tests/testing/certificates.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/wait_until.h"

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
    std::ofstream(folder_.File("headgate.yaml"))
        << "tls:\n  certificate_file: " << folder_.File("tls.crt")
        << "\n  key_file: " << folder_.File("tls.key")
        << "\n  client_ca_file: " << folder_.File("ca.crt") << "\n";
  }
  void Write(const TestCertificate& pair) {
    ReplaceFile(folder_.File("tls.crt"), pair.certificate);
    ReplaceFile(folder_.File("tls.key"), pair.key);
  }
  std::vector<std::string> Command() const {
    return {HEADGATED_PROGRAM, "--config",    folder_.File("headgate.yaml"), "--grpc-address",
            "127.0.0.1:0",     "--port-file", folder_.File("port")};
  }
  Finished Headgate(std::vector<std::string> words) {
    std::string port;
    std::ifstream(folder_.File("port")) >> port;
    for (const std::string& word :
         {std::string("--address"), "127.0.0.1:" + port, std::string("--tls-ca"),
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
  Subprocess server(Command());
  ASSERT_TRUE(WaitUntil([&] { return std::filesystem::exists(folder_.File("port")); }))
      << server.Err();
  EXPECT_EQ(Headgate({"check", "job"}).status, 0);
  EXPECT_THAT(Headgate({"status"}).out,
              AllOf(HasSubstr("certificate ends "), Not(HasSubstr("REFUSED"))));

  ReplaceFile(folder_.File("tls.key"), authority_.SignServer().key);
  ASSERT_TRUE(
      WaitUntil([&] { return server.Err().find("certificates refused") != std::string::npos; }));
  EXPECT_THAT(Headgate({"status"}).out,
              HasSubstr(absl::StrCat("newest certificates REFUSED: ", folder_.File("tls.key"),
                                     ": is not the key of the certificate in ")));
  EXPECT_THAT(Headgate({"status", "-o", "json"}).out, HasSubstr("certificate_expires_at"));

  const std::string before = server.Err();
  Write(authority_.SignServer(absl::Hours(9)));
  ASSERT_TRUE(WaitUntil([&] {
    return server.Err().find("certificates loaded", before.size()) != std::string::npos;
  }));
  EXPECT_THAT(Headgate({"status"}).out, Not(HasSubstr("REFUSED")));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait().status, 0);
}

TEST_F(HeadgatedWithTls, DoesNotStartWithAKeyOfAnotherCertificate) {
  ReplaceFile(folder_.File("tls.key"), authority_.SignServer().key);
  const Finished end = Subprocess(Command()).Wait();
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, HasSubstr(absl::StrCat("headgated: tls: ", folder_.File("tls.key"),
                                              ": is not the key of the certificate in ",
                                              folder_.File("tls.crt"))));
}

TEST_F(HeadgatedWithTls, WhatGrpcSaysIsInTheLogForDebugging) {
  std::vector<std::string> command = Command();
  command.insert(command.end(), {"--log-level", "debug"});
  Subprocess server(command);
  ASSERT_TRUE(WaitUntil([&] { return std::filesystem::exists(folder_.File("port")); }))
      << server.Err();
  std::string port;
  std::ifstream(folder_.File("port")) >> port;
  // Plaintext, which gRPC complains of.
  EXPECT_EQ(RunHeadgate({"check", "job", "--address", "127.0.0.1:" + port}).status, 3);
  EXPECT_TRUE(
      WaitUntil([&] { return server.Err().find(" debug grpc message=") != std::string::npos; }));
}

TEST_F(HeadgatedWithTls, ItsProbesNeedTlsToBeOn) {
  Subprocess server([&] {
    std::vector<std::string> command = Command();
    command.insert(command.end(), {"--health-address", "127.0.0.1:0"});
    return command;
  }());
  ASSERT_TRUE(WaitUntil([&] { return std::filesystem::exists(folder_.File("port")); }))
      << server.Err();
  EXPECT_THAT(server.Err(), HasSubstr("serving probes port="));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait().status, 0);

  const Finished plain = Subprocess({HEADGATED_PROGRAM, "--grpc-address", "127.0.0.1:0",
                                     "--health-address", "127.0.0.1:0"})
                             .Wait();
  EXPECT_EQ(plain.status, 2);
  EXPECT_THAT(plain.err, HasSubstr("--health-address goes with tls in the configuration"));
}

}  // namespace
}  // namespace headgate::cli

#endif  // HEADGATED_PROGRAM
