// What of a certificate other servers would refuse, found out before they do.

#include "server/app/peer_certificate.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/certificates.h"
#include "tests/testing/temp_folder.h"

namespace headgate::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PeerCertificateTest : public testing::Test {
 protected:
  absl::Status Check(const TestCertificateSpec& spec) { return Check(authority_.Sign(spec)); }
  absl::Status Check(const TestCertificate& own) {
    ReplaceFile(folder_.File("tls.crt"), own.certificate);
    ReplaceFile(folder_.File("ca.crt"), authority_.certificate());
    return CheckPeerCertificate({.tls = {.certificate_file = folder_.File("tls.crt"),
                                         .key_file = {},
                                         .client_ca_file = folder_.File("ca.crt")},
                                 .names = names_,
                                 .address = address_});
  }
  std::string Why(const absl::Status& status) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }

  const TempFolder folder_;
  CertificateAuthority authority_{"authority"};
  std::vector<std::string> names_ = {"DNS:headgate-peer", "URI:spiffe://prod/headgate"};
  std::string address_ = "headgate-0.headgate:8081";
};

TEST_F(PeerCertificateTest, OneOfTheNamesSuffices) {
  const std::string host = "headgate-0.headgate";
  EXPECT_TRUE(Check({.dns = {host, "headgate-peer"}}).ok());
  EXPECT_TRUE(Check({.dns = {host, "HEADGATE-peer"}}).ok());
  EXPECT_TRUE(Check({.dns = {host}, .uri = {"spiffe://prod/headgate"}}).ok());
}

TEST_F(PeerCertificateTest, WithoutAnyOfThemItIsNoServersCertificate) {
  EXPECT_THAT(Why(Check({.dns = {"headgate-0.headgate"}, .uri = {"spiffe://prod/another"}})),
              AllOf(HasSubstr("none of cluster.peer_certificates (DNS:headgate-peer, "
                              "URI:spiffe://prod/headgate)"),
                    HasSubstr("URI:spiffe://prod/another")));
  EXPECT_THAT(Why(Check(TestCertificateSpec{})), HasSubstr("it has none"));
}

TEST_F(PeerCertificateTest, ItIsForTheAddressWhereTheOthersReachTheServer) {
  EXPECT_THAT(Why(Check({.dns = {"headgate-1.headgate", "headgate-peer"}})),
              HasSubstr("is not for headgate-0.headgate, where --member-address says"));
  address_ = "a.headgate.prod.svc:8081";
  EXPECT_TRUE(Check({.dns = {"*.headgate.prod.svc", "headgate-peer"}}).ok());
  address_ = "10.0.0.1:8081";
  EXPECT_FALSE(Check({.dns = {"10.0.0.2", "headgate-peer"}}).ok());
  EXPECT_TRUE(Check({.dns = {"headgate-peer"}, .ip = {"10.0.0.1"}}).ok());
}

TEST_F(PeerCertificateTest, WhoMakesItIsTrusted) {
  CertificateAuthority another("another");
  EXPECT_THAT(Why(Check(another.Sign({.dns = {"headgate-0.headgate", "headgate-peer"}}))),
              AllOf(HasSubstr("does not vouch for"), HasSubstr("issuer")));
}

// That is for those who are shown it, as it may be renewed while the server runs.
TEST_F(PeerCertificateTest, ThatItHasExpiredIsNotJudgedHere) {
  EXPECT_TRUE(Check({.dns = {"headgate-0.headgate", "headgate-peer"},
                     .lifetime = absl::ZeroDuration() - absl::Hours(1)})
                  .ok());
}

TEST_F(PeerCertificateTest, AFileThatHasNoneIsNamed) {
  EXPECT_THAT(Why(Check(TestCertificate{.certificate = "nothing", .key = {}})),
              HasSubstr("tls.crt"));
}

}  // namespace
}  // namespace headgate::app
