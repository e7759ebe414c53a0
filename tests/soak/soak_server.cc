#include "tests/soak/soak_server.h"

#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "tests/testing/wait_until.h"

namespace headgate::soak {
namespace {

// All tables small, so that they are full, and evict, long before the warm-up is over. Numbers that
// change with each reload move debts between tables.
constexpr char kConfiguration[] = R"yaml(
server: {threads: 2}
engine: {permit_ttl: 10s, max_permits: 32768, max_patterns: 1024}
targets:
  - name: plain
$0
budgets:
  - {name: rows, rate: $1, burst: $2, default_cost: 2}
  - {name: jobs, rate: $3, burst: 100, split: {depth: 2}, max_buckets: $4, max_concurrency: 8}
  - {name: tenants, rate: 5, burst: 5, split: {tag: tenant}, mode: WARN, max_buckets: 256}
rules:
  - {name: etl, match: {identity: etl}, charge: [rows, jobs]}
  - {name: tenants, match: {segment: etl}, charge: [tenants]}
  - {name: some, match: {segment: job-1-13}, reject_ratio: 0.5}
  - {name: rule-$5, match: {identity: "rule-$5"}, deny: true}
throttle_log: {step: 1s, coarse_step: 10s, max_bytes: 1048576, max_identities: 1024,
               recent_denials: 512, max_buffered_rows: 4000}
)yaml";

constexpr char kMeasured[] = R"yaml(  - name: shop
    default_health: database
    primary: {dsn: "$0"}
    polling: {interval: 200ms, timeout: 500ms}
health_profiles:
  - name: database
    signals: [{name: connection_fraction}, {name: lock_wait_max_seconds}]
    stale_after: 2s
)yaml";

}  // namespace

absl::StatusOr<std::unique_ptr<SoakServer>> SoakServer::Start(const std::string& folder) {
  std::unique_ptr<SoakServer> server(new SoakServer(folder));
  absl::Status status = server->StartPostgres();
  if (!status.ok()) return status;
  server->headgated_.emplace(HeadgatedOptions{.yaml = server->Configuration(0), .folder = folder});
  status = server->headgated_->Start();
  if (!status.ok()) return status;
  return server;
}

SoakServer::SoakServer(const std::string& folder)
    : disk_(std::filesystem::path(folder) / "state", /*mib=*/48) {
  if (!disk_.is_mounted()) {
    missing_.emplace_back("the log's disk is never full: mounting one takes root");
  }
}

absl::Status SoakServer::StartPostgres() {
  const absl::StatusOr<std::string> installed = PostgresCluster::BinFolder();
  if (!installed.ok()) {
    missing_.push_back(
        absl::StrCat("no health is measured: ", std::string(installed.status().message())));
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<PostgresCluster>> cluster = PostgresCluster::Start({});
  if (!cluster.ok()) return cluster.status();
  cluster_ = *std::move(cluster);
  return absl::OkStatus();
}

std::string SoakServer::Configuration(int number) const {
  const bool even = number % 2 == 0;
  const std::string shop = cluster_ == nullptr
                               ? "  - name: shop\n"
                               : absl::Substitute(kMeasured, cluster_->primary().Dsn());
  return absl::Substitute(kConfiguration, shop, even ? kRows.rate : kRows.rate / 2,
                          even ? kRows.burst : kRows.burst / 2, even ? 20 : 30, even ? 512 : 1024,
                          number);
}

void SoakServer::Reload(int number) { headgated_->Rewrite(Configuration(number)); }

void SoakServer::ReloadBadly(int number) {
  const std::string good = Configuration(number);
  const std::string wrong[] = {"budgets: [", absl::StrCat(good, "surprise: 1\n"),
                               absl::StrCat(good, "rules: []\n"), std::string(100'000, '-')};
  headgated_->Rewrite(wrong[static_cast<size_t>(number) % std::size(wrong)]);
}

absl::Status SoakServer::FillDisk() {
  if (!disk_.is_mounted()) return absl::OkStatus();
  // Again and again: a snapshot that was being written gives its room back.
  const bool full = WaitUntil([&] {
    disk_.Fill();
    std::error_code error;
    const auto space = std::filesystem::space(disk_.path(), error);
    return !error && space.available < 8192;
  });
  return full ? absl::OkStatus() : absl::InternalError("the log's disk is not full");
}

void SoakServer::FreeDisk() {
  if (disk_.is_mounted()) disk_.MakeRoom();
}

}  // namespace headgate::soak
