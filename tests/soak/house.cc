#include "tests/soak/house.h"

#include <poll.h>
#include <sys/mount.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

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

absl::StatusOr<std::unique_ptr<House>> House::Start(const std::string& folder) {
  std::unique_ptr<House> house(new House(folder));
  absl::Status status = house->Prepare();
  if (status.ok()) status = house->Serve();
  if (!status.ok()) return status;
  return house;
}

House::~House() {
  headgated_.reset();
  if (has_disk_) umount2(State().c_str(), MNT_DETACH);
}

absl::Status House::Prepare() {
  std::error_code error;
  std::filesystem::create_directory(State(), error);
  if (error) return absl::InternalError(absl::StrCat(State(), ": ", error.message()));
  MountDisk();
  if (absl::Status started = StartPostgres(); !started.ok()) return started;
  return Reload(0);
}

void House::MountDisk() {
  has_disk_ = mount("tmpfs", State().c_str(), "tmpfs", 0, "size=48m") == 0;
  if (!has_disk_) missing_.emplace_back("the log's disk is never full: mounting one takes root");
}

absl::Status House::StartPostgres() {
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

std::string House::Configuration(int number) const {
  const bool even = number % 2 == 0;
  const std::string shop = cluster_ == nullptr
                               ? "  - name: shop\n"
                               : absl::Substitute(kMeasured, cluster_->primary().Dsn());
  return absl::Substitute(kConfiguration, shop, even ? kRows.rate : kRows.rate / 2,
                          even ? kRows.burst : kRows.burst / 2, even ? 20 : 30, even ? 512 : 1024,
                          number);
}

// As an editor saves it: another file under the same name.
absl::Status House::WriteConfiguration(const std::string& yaml) const {
  const std::string draft = folder_ + "/draft";
  std::ofstream file(draft);
  file << yaml;
  file.close();
  if (file && std::rename(draft.c_str(), (folder_ + "/headgate.yaml").c_str()) == 0) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat("cannot write the configuration in ", folder_));
}

absl::Status House::Reload(int number) { return WriteConfiguration(Configuration(number)); }

absl::Status House::ReloadBadly(int number) {
  const std::string good = Configuration(number);
  const std::string wrong[] = {"budgets: [", absl::StrCat(good, "surprise: 1\n"),
                               absl::StrCat(good, "rules: []\n"), std::string(100'000, '-')};
  return WriteConfiguration(wrong[static_cast<size_t>(number) % std::size(wrong)]);
}

absl::Status House::Serve() {
  auto started = load::HeadgatedProcess::Start(
      folder_, {"--config", folder_ + "/headgate.yaml", "--state-dir", State()});
  if (!started.ok()) return started.status();
  headgated_ = *std::move(started);
  return absl::OkStatus();
}

absl::Status House::FillDisk() {
  if (!has_disk_) return absl::OkStatus();
  // Again and again: a snapshot that was being written gives its room back.
  for (int i = 0; i < 50; ++i) {
    std::ofstream filler(Filler(), std::ios::app);
    const std::string page(4096, 'x');
    while (filler << page << std::flush) {
    }
    std::error_code error;
    const auto space = std::filesystem::space(State(), error);
    if (!error && space.available < 2 * page.size()) return absl::OkStatus();
    poll(nullptr, 0, 20);
  }
  return absl::InternalError("the log's disk is not full");
}

void House::FreeDisk() {
  std::error_code ignored;
  std::filesystem::remove(Filler(), ignored);
}

}  // namespace headgate::soak
