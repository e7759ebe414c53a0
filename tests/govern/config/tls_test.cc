// Certificates and connections in a configuration.

#include "gtest/gtest.h"
#include "server/govern/config/load.h"

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

}  // namespace
}  // namespace headgate::config
