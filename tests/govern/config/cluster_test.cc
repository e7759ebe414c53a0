// Servers that share the targets, in a configuration.

#include "gtest/gtest.h"
#include "server/govern/config/load.h"

namespace headgate::config {
namespace {

constexpr char kWhole[] = R"y(
cluster:
  store: {dsn: "host=store dbname=headgate user=headgate", password_file: /run/password}
  secret_file: /run/secret
  peer_certificates: ["DNS:headgate-peer", "URI:spiffe://prod/headgate"]
  lease: 5s
  on_store_loss: KEEP
tls: {certificate_file: a.crt, key_file: a.key, client_ca_file: ca.crt}
targets: [{name: orders}]
)y";

TEST(ClusterSettings, AreAbsentByDefault) {
  EXPECT_FALSE(Parse("{}", "f.yaml").config->cluster.has_value());
}

TEST(ClusterSettings, AreReadWhole) {
  const LoadResult result = Parse(kWhole, "f.yaml");
  ASSERT_TRUE(result.config.has_value()) << result.status();
  const ClusterSettings& cluster = result.config->cluster.value();
  EXPECT_EQ(cluster.store.password_file, "/run/password");
  EXPECT_EQ(cluster.secret_file, "/run/secret");
  EXPECT_EQ(cluster.peer_certificates,
            (std::vector<std::string>{"DNS:headgate-peer", "URI:spiffe://prod/headgate"}));
  EXPECT_EQ(cluster.lease, absl::Seconds(5));
  EXPECT_EQ(cluster.on_store_loss, OnStoreLoss::kKeep);
}

}  // namespace
}  // namespace headgate::config
