#include "tests/testing/postgres_cluster.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file_descriptor.h"
#include "tests/testing/wait_until.h"

namespace headgate {
namespace {

constexpr absl::Duration kClusterLimit = absl::Minutes(2);

absl::StatusOr<std::string> MakeFolder(const Account& account) {
  const char* parent = getenv("TMPDIR");
  std::string folder = absl::StrCat(parent != nullptr ? parent : "/tmp", "/headgate-pg-XXXXXX");
  if (folder.size() > 80) return absl::InvalidArgumentError("TMPDIR is too long for a Unix socket");
  if (mkdtemp(folder.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("making ", folder));
  }
  if (chown(folder.c_str(), account.uid, account.gid) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("giving ", folder, " away"));
  }
  return folder;
}

std::vector<std::pair<std::string, std::string>> SettingsOf(const PostgresOptions& options,
                                                            const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> settings = {
      {"listen_addresses", "127.0.0.1"},
      {"unix_socket_directories", folder},
      {"timezone", "UTC"},
      {"lc_messages", "C"},
      // A standby that was away finds its WAL, and comes back at once.
      {"wal_keep_size", "256MB"},
      {"wal_retrieve_retry_interval", "100ms"}};
  if (!options.fsync) {
    settings.emplace_back("fsync", "off");
    settings.emplace_back("full_page_writes", "off");
  }
  settings.insert(settings.end(), options.settings.begin(), options.settings.end());
  return settings;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PostgresCluster>> PostgresCluster::Start(
    const PostgresOptions& options) {
  absl::StatusOr<std::string> bin = BinFolder();
  if (!bin.ok()) return bin.status();
  absl::StatusOr<Account> account = PostgresAccount();
  if (!account.ok()) return account.status();
  absl::StatusOr<std::string> folder = MakeFolder(*account);
  if (!folder.ok()) return folder.status();
  std::unique_ptr<PostgresCluster> cluster(new PostgresCluster(*bin, *folder, *account));
  if (absl::Status status = cluster->EnsureReachable(); !status.ok()) return status;
  if (absl::Status status = cluster->Initialize(options); !status.ok()) return status;
  if (options.standbys > 0) {
    // Notes the settings in the data folder: a standby refuses those below the primary's.
    absl::Status status = cluster->primary().Start();
    if (status.ok()) status = cluster->primary().Stop();
    if (!status.ok()) return status;
  }
  for (int i = 1; i <= options.standbys; ++i) {
    absl::Status status = cluster->AddStandby(absl::StrCat("standby-", i));
    if (!status.ok()) return status;
  }
  if (absl::Status status = cluster->StartAll(); !status.ok()) return status;
  return cluster;
}

// Whole, as PostgreSQL finds its libraries and other files by the way to them from its programs.
absl::Status PostgresCluster::EnsureReachable() {
  const std::string log = folder_ + "/installation.log";
  if (RunProgram({bin_ + "/initdb", "--version"}, account_, log, kClusterLimit).ok()) {
    return absl::OkStatus();
  }
  const std::string installation = std::filesystem::path(installed_bin_).parent_path().string();
  const std::string copy = folder_ + "/postgresql";
  const Account self{.uid = geteuid(), .gid = getegid()};
  absl::Status status = RunProgram({"/bin/cp", "-a", installation, copy}, self, log, kClusterLimit);
  if (status.ok()) {
    status = RunProgram({"/bin/chmod", "-R", "a+rX", copy}, self, log, kClusterLimit);
  }
  bin_ = copy + "/bin";
  return status;
}

absl::Status PostgresCluster::InitDb(const std::string& data, const std::string& log,
                                     const std::string& password) const {
  std::vector<std::string> initdb = {bin_ + "/initdb",    "--pgdata=" + data, "--no-sync",
                                     "--no-instructions", "--auth=trust",     "--username=postgres",
                                     "--locale=C.UTF-8",  "--encoding=UTF8"};
  const std::string password_file = folder_ + "/password";
  if (!password.empty()) {
    std::ofstream(password_file) << password << "\n";
    initdb.push_back("--auth-host=scram-sha-256");
    initdb.push_back("--pwfile=" + password_file);
  }
  absl::Status status = RunProgram(initdb, account_, log, kClusterLimit);
  std::filesystem::remove(password_file);
  return status;
}

// Whoever comes first makes the template; the lock holds the others up for so long.
absl::Status PostgresCluster::CopyTemplate(const std::string& templates,
                                           const PostgresServer& to) const {
  FileDescriptor lock(open((templates + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (flock(lock.number(), LOCK_EX) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("locking ", templates));
  }
  const std::string made =
      absl::StrCat(templates, "/data", absl::StrReplaceAll(installed_bin_, {{"/", "-"}}));
  absl::Status status;
  if (!std::filesystem::exists(made)) {
    const std::string unfinished = templates + "/unfinished";
    std::filesystem::remove_all(unfinished);  // of one that was killed
    if (chown(templates.c_str(), account_.uid, account_.gid) != 0) {
      status = absl::ErrnoToStatus(errno, absl::StrCat("giving ", templates, " away"));
    }
    if (status.ok()) status = InitDb(unfinished, to.log(), "");
    if (status.ok()) std::filesystem::rename(unfinished, made);
  }
  lock.Close();
  if (!status.ok()) return status;
  return RunProgram({"/bin/cp", "-a", made, to.data()}, account_, to.log(), kClusterLimit);
}

absl::Status PostgresCluster::Initialize(const PostgresOptions& options) {
  servers_.push_back(std::make_unique<PostgresServer>("primary", bin_, folder_, account_));
  PostgresServer& primary = *servers_[0];
  const char* const templates = getenv("HEADGATE_POSTGRES_TEMPLATE");
  absl::Status status = templates != nullptr && options.password.empty()
                            ? CopyTemplate(templates, primary)
                            : InitDb(primary.data(), primary.log(), options.password);
  if (status.ok()) status = primary.Configure(SettingsOf(options, folder_));
  return status.ok() ? primary.TakePort() : status;
}

// While the primary is down and its data folder at rest.
absl::Status PostgresCluster::AddStandby(const std::string& name) {
  servers_.push_back(std::make_unique<PostgresServer>(name, bin_, folder_, account_));
  PostgresServer& standby = *servers_.back();
  absl::Status status = RunProgram({"/bin/cp", "-a", primary().data(), standby.data()}, account_,
                                   standby.log(), kClusterLimit);
  if (status.ok()) status = standby.TakePort();
  return status.ok() ? standby.BecomeStandbyOf(primary()) : status;
}

absl::Status PostgresCluster::StartAll() {
  for (const std::unique_ptr<PostgresServer>& server : servers_) {
    absl::Status status = server->Start();
    if (!status.ok()) return status;
  }
  return WaitForStandbys();
}

absl::Status PostgresCluster::WaitForStandbys() {
  const size_t standbys = servers_.size() - 1;
  if (standbys == 0) return absl::OkStatus();
  absl::StatusOr<SqlRows> written = primary().RunSql("SELECT pg_current_wal_lsn()");
  if (!written.ok()) return written.status();
  const std::string sql = absl::StrCat(
      "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND replay_lsn >= '",
      (*written)[0][0], "'");
  absl::StatusOr<SqlRows> rows;
  const auto caught_up = [&] {
    rows = primary().RunSql(sql);
    return !rows.ok() || (*rows)[0][0] == absl::StrCat(standbys);
  };
  if (!WaitUntil(caught_up, kClusterLimit)) {
    return absl::DeadlineExceededError("standbys lag behind");
  }
  return rows.status();
}

}  // namespace headgate
