// Processes of a PostgreSQL server under test: starting programs as an account that PostgreSQL
// accepts, and what the kernel knows of them.
//
// PostgreSQL refuses to run as root. Where the test is root, its servers run as user "postgres";
// elsewhere as the test's own user.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace headgate {

struct Account {
  uid_t uid;
  gid_t gid;
};

absl::StatusOr<Account> PostgresAccount();

// Runs argv[0] as `account`, in a session of its own, so that Ctrl-C does not reach it. What it
// prints is appended to `log`.
absl::StatusOr<pid_t> StartProgram(const std::vector<std::string>& argv, const Account& account,
                                   const std::string& log);

// The same to its end. An exit status other than 0 is an error that quotes the log's end.
absl::Status RunProgram(const std::vector<std::string>& argv, const Account& account,
                        const std::string& log, absl::Duration limit);

// Whether the child has ended, which this call notes; it may be asked once more only.
bool HasEnded(pid_t child);

// Whether there is such a process, and it still holds memory: a zombie does not.
bool IsRunning(pid_t pid);
std::vector<pid_t> ChildrenOf(pid_t parent);

// The last lines of a file.
std::string TailOf(const std::string& file);

// Guards a folder of servers: when this object goes, or the test dies in whatever way, a process
// of its own ends all servers there and removes the folder.
class FolderCleanup {
 public:
  // The folder, by an absolute path, holds one data folder for each server.
  explicit FolderCleanup(const std::string& folder);
  ~FolderCleanup();
  FolderCleanup(const FolderCleanup&) = delete;
  FolderCleanup& operator=(const FolderCleanup&) = delete;

 private:
  int pipe_ = -1;  // it acts when its other end sees this one closed
  pid_t cleanup_ = -1;
};

}  // namespace headgate
