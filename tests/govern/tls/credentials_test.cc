// Which files are taken for a certificate, its key and authorities, and which are not.

#include "common/tls/credentials.h"

#include "gtest/gtest.h"
#include "tests/testing/certificates.h"

namespace headgate {
namespace {

const TlsFiles kFiles = {.certificates = "a.crt", .key = "a.key", .authorities = "ca.crt"};

class CredentialsTest : public testing::Test {
 protected:
  std::string Error() {
    const absl::Status status = CheckCredentials(kFiles, credentials_);
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }

  CertificateAuthority authority_{"authority"};
  const TestCertificate server_ = authority_.SignServer();
  TlsCredentials credentials_{.certificates = server_.certificate,
                              .key = server_.key,
                              .authorities = authority_.certificate()};
};

TEST_F(CredentialsTest, TakesAPairAndItsAuthority) { EXPECT_EQ(Error(), ""); }

TEST_F(CredentialsTest, TakesAChainAndSeveralAuthorities) {
  credentials_.certificates += authority_.certificate();
  credentials_.authorities += CertificateAuthority("other").certificate();
  EXPECT_EQ(Error(), "");
}

TEST_F(CredentialsTest, TellsWhenTheOwnCertificateEnds) {
  const TestCertificate longer = authority_.SignServer(absl::Hours(5));
  TlsCredentials other = {.certificates = longer.certificate,
                          .key = longer.key,
                          .authorities = authority_.certificate()};
  ASSERT_EQ(Error(), "");
  ASSERT_TRUE(CheckCredentials(kFiles, other).ok());
  const absl::Duration between = other.expires_at - credentials_.expires_at;
  EXPECT_GE(between, absl::Hours(4));
  EXPECT_LE(between, absl::Hours(4) + absl::Minutes(1));
}

TEST_F(CredentialsTest, RefusesAnotherCertificatesKey) {
  credentials_.key = authority_.SignServer().key;
  EXPECT_EQ(Error(), "a.key: is not the key of the certificate in a.crt");
}

TEST_F(CredentialsTest, RefusesWhatEveryHandshakeWouldFailWith) {
  const TestCertificate weak = authority_.Sign({.rsa_bits = 1024});
  credentials_.certificates = weak.certificate;
  credentials_.key = weak.key;
  EXPECT_EQ(Error(), "a.crt: OpenSSL does not take it: ee key too small");
  credentials_.certificates = server_.certificate + weak.certificate;
  credentials_.key = server_.key;
  EXPECT_EQ(Error(), "a.crt: OpenSSL does not take it: ca key too small");
  const TestCertificate strong = authority_.Sign({.rsa_bits = 2048});
  credentials_.certificates = strong.certificate;
  credentials_.key = strong.key;
  EXPECT_EQ(Error(), "");
}

TEST_F(CredentialsTest, RefusesWhatIsNoCertificate) {
  credentials_.certificates = "hello\n";
  EXPECT_EQ(Error(), "a.crt: has no certificate in PEM form");
  credentials_.certificates = "";
  EXPECT_EQ(Error(), "a.crt: has no certificate in PEM form");
}

TEST_F(CredentialsTest, RefusesACertificateThatIsCutShort) {
  const std::string whole = server_.certificate + authority_.certificate();
  for (const size_t size : {server_.certificate.size() / 2, whole.size() - 40}) {
    credentials_.certificates = whole.substr(0, size);
    EXPECT_EQ(Error(), "a.crt: has a certificate that is damaged or not complete") << size;
  }
}

TEST_F(CredentialsTest, RefusesWhatIsNoKey) {
  credentials_.key = server_.certificate;
  EXPECT_EQ(Error(), "a.key: has no private key in PEM form, or an encrypted one");
}

TEST_F(CredentialsTest, RefusesAnAuthoritiesFileWithoutAny) {
  credentials_.authorities = "";
  EXPECT_EQ(Error(), "ca.crt: has no certificate in PEM form");
}

TEST_F(CredentialsTest, LooksAtNoFileThatIsNotUsed) {
  TlsCredentials none;
  EXPECT_TRUE(CheckCredentials({}, none).ok());
  EXPECT_EQ(none.expires_at, absl::InfiniteFuture());
}

}  // namespace
}  // namespace headgate
