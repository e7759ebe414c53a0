// The server of a soak: headgated as a process of its own, on a small disk of its own where that
// can be mounted, in front of a real PostgreSQL where one is installed.
//
// Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<SoakServer>> server = SoakServer::Start(folder);
//   (*server)->Reload(7);
//   absl::Status ended = (*server)->Stop();

#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/soak/admitted.h"
#include "tests/testing/headgated_process.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/small_disk.h"

namespace headgate::soak {

// Of the budget "rows", over all configurations.
inline constexpr Bound kRows = {.rate = 400, .burst = 200};

class SoakServer {
 public:
  // In an empty folder. Returns once it serves.
  static absl::StatusOr<std::unique_ptr<SoakServer>> Start(const std::string& folder);
  SoakServer(const SoakServer&) = delete;
  SoakServer& operator=(const SoakServer&) = delete;

  const std::string& address() const { return headgated_->address(); }
  pid_t pid() const { return headgated_->pid(); }
  bool has_ended() { return headgated_->HasEnded(); }
  // What cannot be had on this machine, in words.
  const std::vector<std::string>& missing() const { return missing_; }

  // A good configuration, another for each number.
  void Reload(int number);
  // A bad one, which is refused.
  void ReloadBadly(int number);

  PostgresServer* postgres() { return cluster_ == nullptr ? nullptr : &cluster_->primary(); }

  // Takes the log's disk to the last byte, and gives it back. Nothing happens without a disk.
  absl::Status FillDisk();
  void FreeDisk();

  // SIGTERM: an error unless it ends well, within its grace.
  absl::Status Stop() { return headgated_->Stop(); }

 private:
  explicit SoakServer(const std::string& folder);

  absl::Status StartPostgres();
  std::string Configuration(int number) const;

  const SmallDisk disk_;
  std::vector<std::string> missing_;
  std::unique_ptr<PostgresCluster> cluster_;
  std::optional<HeadgatedProcess> headgated_;
};

}  // namespace headgate::soak
