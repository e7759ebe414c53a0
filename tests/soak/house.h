// The server of a soak: headgated as a process of its own, on a small disk of its own where that
// can be mounted, in front of a real PostgreSQL where one is installed.
//
// Thread-compatible.
//
//   absl::StatusOr<std::unique_ptr<House>> house = House::Start(folder);
//   (*house)->Reload(7);
//   absl::Status ended = (*house)->Stop();

#ifndef HEADGATE_TESTS_SOAK_HOUSE_H_
#define HEADGATE_TESTS_SOAK_HOUSE_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/load/headgated_process.h"
#include "tests/soak/admitted.h"
#include "tests/testing/postgres_cluster.h"

namespace headgate::soak {

// Of the budget "rows", over all configurations.
inline constexpr Bound kRows = {.rate = 400, .burst = 200};

class House {
 public:
  // In an empty folder. Returns once it serves.
  static absl::StatusOr<std::unique_ptr<House>> Start(const std::string& folder);
  ~House();
  House(const House&) = delete;
  House& operator=(const House&) = delete;

  const std::string& address() const { return headgated_->address(); }
  pid_t pid() const { return headgated_->pid(); }
  bool has_ended() { return headgated_->HasEnded(); }
  // What cannot be had on this machine, in words.
  const std::vector<std::string>& missing() const { return missing_; }

  // A good configuration, another for each number.
  absl::Status Reload(int number);
  // A bad one, which is refused.
  absl::Status ReloadBadly(int number);

  PostgresServer* postgres() { return cluster_ == nullptr ? nullptr : &cluster_->primary(); }

  // Takes the log's disk to the last byte, and gives it back. Nothing happens without a disk.
  absl::Status FillDisk();
  void FreeDisk();
  bool has_disk() const { return has_disk_; }

  // SIGTERM: an error unless it ends well, within its grace.
  absl::Status Stop() { return headgated_->Stop(); }

 private:
  explicit House(std::string folder) : folder_(std::move(folder)) {}

  absl::Status Prepare();
  absl::Status StartPostgres();
  void MountDisk();
  absl::Status Serve();
  std::string State() const { return folder_ + "/state"; }
  std::string Filler() const { return State() + "/filler"; }
  std::string Configuration(int number) const;
  absl::Status WriteConfiguration(const std::string& yaml) const;

  const std::string folder_;
  std::vector<std::string> missing_;
  bool has_disk_ = false;
  std::unique_ptr<PostgresCluster> cluster_;
  std::unique_ptr<load::HeadgatedProcess> headgated_;
};

}  // namespace headgate::soak

#endif  // HEADGATE_TESTS_SOAK_HOUSE_H_
