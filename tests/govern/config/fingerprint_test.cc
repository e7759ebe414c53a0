// Which changes of a file servers that share its targets hold against each other.

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "server/govern/config/load.h"

namespace headgate::config {
namespace {

constexpr char kFile[] = R"(
targets:
  - {name: orders, default_health: std, primary: {dsn: "host=orders-1 dbname=orders"}}
  - {name: billing, primary: {dsn: "host=billing-1 dbname=billing"}}
health_profiles:
  - {name: std, signals: [{name: active_backends, soft: 20, hard: 28}]}
budgets:
  - {name: backfills, rate: 100, burst: 200}
  - {name: invoices, rate: 10, burst: 20}
  - {name: spare, rate: 1, burst: 1}
rules:
  - {name: backfills, match: {identity: backfill, tags: {team: a, kind: b, zone: c}}, charge: [backfills]}
  - {name: invoices, match: {identity: invoice, target: billing}, charge: [invoices]}
)";

using Change = std::pair<std::string, std::string>;

// Of orders and of billing.
std::vector<uint64_t> FingerprintsWith(const Change& change) {
  const std::string text =
      change.first.empty() ? kFile : absl::StrReplaceAll(kFile, {{change.first, change.second}});
  EXPECT_TRUE(change.first.empty() || text != kFile) << change.first;
  const LoadResult loaded = Parse(text, "f.yaml");
  EXPECT_TRUE(loaded.config.has_value()) << loaded.status();
  if (!loaded.config.has_value()) return {0, 0};
  return {loaded.config->targets[0].fingerprint, loaded.config->targets[1].fingerprint};
}

class Fingerprint : public testing::Test {
 protected:
  const std::vector<uint64_t> before_ = FingerprintsWith({});
};

TEST_F(Fingerprint, IsTheSameForTheSameFileAndAnotherForEachTarget) {
  EXPECT_EQ(FingerprintsWith({}), before_);
  EXPECT_NE(before_[0], before_[1]);
}

TEST_F(Fingerprint, IsAnotherWhereAnythingThatDecidesIs) {
  for (const Change& change : std::vector<Change>{
           {"rate: 100,", "rate: 1000,"},
           {"burst: 200", "burst: 201"},
           {"hard: 28", "hard: 29"},
           {"identity: backfill", "identity: backfills"},
           {"team: a", "team: b"},
           {"charge: [backfills]", "charge: [backfills, spare]"},
           {"budgets:", "engine: {permit_ttl: 10s}\nbudgets:"},
       }) {
    const std::vector<uint64_t> after = FingerprintsWith(change);
    EXPECT_NE(after[0], before_[0]) << change.first;
    EXPECT_NE(after[1], before_[1]) << change.first;
  }
}

TEST_F(Fingerprint, IsAboutItsOwnTargetAlone) {
  for (const Change& change : std::vector<Change>{
           {"rate: 10, burst: 20}", "rate: 11, burst: 20}"},
           {"identity: invoice,", "identity: invoices,"},
           {"{name: billing, ", "{name: billing, capacity: 5, "},
       }) {
    const std::vector<uint64_t> after = FingerprintsWith(change);
    EXPECT_EQ(after[0], before_[0]) << change.first;
    EXPECT_NE(after[1], before_[1]) << change.first;
  }
}

// Each server may reach a database by another way.
TEST_F(Fingerprint, IsNotAboutTheMachine) {
  for (const Change& change : std::vector<Change>{
           {"host=orders-1", "host=10.0.0.7"},
           {"targets:", "server: {grpc_address: \"127.0.0.1:9\", threads: 4}\ntargets:"},
           {"  - {name: spare, rate: 1, burst: 1}\n", ""},  // nothing is charged to it
       }) {
    EXPECT_EQ(FingerprintsWith(change), before_) << change.first;
  }
}

TEST_F(Fingerprint, KnowsWhetherATargetIsMeasured) {
  EXPECT_NE(FingerprintsWith({", primary: {dsn: \"host=billing-1 dbname=billing\"}", ""})[1],
            before_[1]);
}

}  // namespace
}  // namespace headgate::config
