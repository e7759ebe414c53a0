// Servers that share the targets, in a configuration.

#include <cstdint>
#include <string>

#include "absl/strings/str_replace.h"
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

OnStoreLoss ReadOnStoreLoss(const std::string& word) {
  const std::string text = absl::StrReplaceAll(kWhole, {{"KEEP", word}});
  const LoadResult result = Parse(text, "f.yaml");
  EXPECT_TRUE(result.config.has_value()) << result.status();
  return result.config.has_value() ? result.config->cluster->on_store_loss : OnStoreLoss::kKeep;
}

TEST(ClusterSettings, SayWhatBecomesOfTargetsWithoutTheStore) {
  EXPECT_EQ(ReadOnStoreLoss("STOP"), OnStoreLoss::kStop);
  EXPECT_EQ(ReadOnStoreLoss("APPROXIMATE"), OnStoreLoss::kApproximate);
}

uint64_t FingerprintWith(const std::string& word) {
  const LoadResult result = Parse(absl::StrReplaceAll(kWhole, {{"KEEP", word}}), "f.yaml");
  EXPECT_TRUE(result.config.has_value()) << result.status();
  return result.config.has_value() ? result.config->targets[0].fingerprint : 0;
}

TEST(ClusterSettings, ServersThatDifferInItHaveTheirTargetsConfiguredDifferently) {
  EXPECT_NE(FingerprintWith("APPROXIMATE"), FingerprintWith("STOP"));
  EXPECT_NE(FingerprintWith("APPROXIMATE"), FingerprintWith("KEEP"));
}

}  // namespace
}  // namespace headgate::config
