// Servers that share the targets, in a configuration.

#include "gtest/gtest.h"
#include "server/config/load.h"
#include "tests/config/golden.h"

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

const WrongCase kWrongClusters[] = {
    {"Empty", R"y(
cluster: {}
)y",
     R"e(
f.yaml:1:10: cluster needs a store
f.yaml:1:10: cluster needs a secret_file
f.yaml:1:10: cluster needs peer_certificates: the names in the servers' certificates
f.yaml:1:10: cluster needs tls with a client_ca_file: servers prove to each other who they are
f.yaml:1:10: cluster needs targets: they are what servers share
)e"},
    {"NamesAndLease", R"y(
cluster:
  store: {dsn: dbname=headgate}
  secret_file: secret
  peer_certificates: [headgate-peer]
  lease: 10ms
tls: {certificate_file: a.crt, key_file: a.key, client_ca_file: ca.crt}
targets: [{name: orders}]
)y",
     R"e(
f.yaml:4:22: peer_certificates must be "DNS:name" or "URI:name"; one is 'headgate-peer'
f.yaml:5:10: lease must be 1s to 1m; it is 10ms
)e"},
    {"MessagesThatAreTooSmall", R"y(
server: {max_message_bytes: 65536}
cluster: {store: {dsn: dbname=headgate}, secret_file: secret, peer_certificates: ["DNS:peer"]}
tls: {certificate_file: a.crt, key_file: a.key, client_ca_file: ca.crt}
targets: [{name: orders}]
)y",
     R"e(
f.yaml:1:29: max_message_bytes must be at least 1048576 with cluster: servers hand each other calls in messages as large
)e"},
};

class WrongCluster : public testing::TestWithParam<WrongCase> {};

TEST_P(WrongCluster, IsRefused) { ExpectErrors(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Cluster, WrongCluster, testing::ValuesIn(kWrongClusters), NameOfCase);

}  // namespace
}  // namespace headgate::config
