// Certificates and connections in a configuration.

#include "gtest/gtest.h"
#include "server/config/load.h"
#include "tests/config/golden.h"

namespace headgate::config {
namespace {

Config Loaded(const char* yaml) {
  LoadResult result = Parse(yaml, "f.yaml");
  EXPECT_TRUE(result.config.has_value()) << yaml;
  return result.config.value_or(Config());
}

TEST(TlsSettings, AreAbsentByDefault) { EXPECT_FALSE(Loaded("{}").tls.has_value()); }

TEST(TlsSettings, WithoutAuthoritiesCallersShowNothing) {
  const Config config = Loaded("tls: {certificate_file: a.crt, key_file: a.key}");
  ASSERT_TRUE(config.tls.has_value());
  EXPECT_EQ(config.tls->certificate_file, "a.crt");
  EXPECT_EQ(config.tls->key_file, "a.key");
  EXPECT_EQ(config.tls->client_certificates, ClientCertificates::kNone);
}

TEST(TlsSettings, WithAuthoritiesCallersHaveToShowACertificate) {
  const Config config =
      Loaded("tls: {certificate_file: a.crt, key_file: a.key, client_ca_file: ca.crt}");
  ASSERT_TRUE(config.tls.has_value());
  EXPECT_EQ(config.tls->client_ca_file, "ca.crt");
  EXPECT_EQ(config.tls->client_certificates, ClientCertificates::kRequired);
}

TEST(TlsSettings, ClientCertificatesMayBeOptional) {
  const Config config = Loaded(
      "tls: {certificate_file: a.crt, key_file: a.key, client_ca_file: ca.crt, "
      "client_certificates: OPTIONAL}");
  ASSERT_TRUE(config.tls.has_value());
  EXPECT_EQ(config.tls->client_certificates, ClientCertificates::kOptional);
}

TEST(ServerSettings, BoundConnections) {
  const ServerSettings server =
      Loaded("server: {max_connections: 100, max_connection_age: 10m}").server;
  EXPECT_EQ(server.max_connections, 100);
  EXPECT_EQ(server.max_connection_age, absl::Minutes(10));
  EXPECT_EQ(Loaded("{}").server.max_connections, 4096);
  EXPECT_EQ(Loaded("{}").server.max_connection_age, absl::Minutes(30));
}

const WrongCase kWrongTls[] = {
    {"WithoutFiles", R"y(
tls: {}
)y",
     R"e(
f.yaml:1:6: tls needs a certificate_file
f.yaml:1:6: tls needs a key_file
)e"},
    {"WithoutAKey", R"y(
tls:
  certificate_file: a.crt
)y",
     R"e(
f.yaml:2:3: tls needs a key_file
)e"},
    {"CertificatesOfCallersWithoutAuthority", R"y(
tls:
  certificate_file: a.crt
  key_file: a.key
  client_certificates: REQUIRE
)y",
     R"e(
f.yaml:4:24: client_certificates goes with client_ca_file: there is nothing to verify them with
)e"},
    {"UnknownWord", R"y(
tls:
  certificate_file: a.crt
  key_file: a.key
  client_ca_file: ca.crt
  client_certificates: REQUIRED
)y",
     R"e(
f.yaml:5:24: client_certificates: expected REQUIRE or OPTIONAL, got 'REQUIRED'; did you mean REQUIRE?
)e"},
    {"Connections", R"y(
server:
  max_connections: 0
  max_connection_age: 10ms
)y",
     R"e(
f.yaml:2:20: max_connections must be 1 to 1048576; it is 0
f.yaml:3:23: max_connection_age must be 1s to 168h; it is 10ms
)e"},
};

class WrongTls : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongTls, IsRefused) { ExpectErrors(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Tls, WrongTls, testing::ValuesIn(kWrongTls), NameOfCase);

}  // namespace
}  // namespace headgate::config
